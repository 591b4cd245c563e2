/* delays.c - preloaded: delay the tracer's own calls of MPI on some ranks.
 *
 *     DELAYED_CALL=PMPI_Comm_dup    its name; each call is delayed, of PMPI_Comm_rank the first one after MPI_Init
 *     DELAYED_RANK=2                that rank, or -1: each rank, by its number times
 *     DELAY_MS=300
 *
 * Programs call MPI_X: what calls PMPI_X is the tracer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void delay(const char *call) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    int own = atoi(rank), delayed = atoi(getenv("DELAYED_RANK")), ms = atoi(getenv("DELAY_MS"));
    if (strcmp(call, getenv("DELAYED_CALL")) || (delayed >= 0 && delayed != own)) return;
    usleep((useconds_t)ms * 1000 * (useconds_t)(delayed < 0 ? own : 1));
}

#define DELAYED(name, parameters, arguments)                                                                           \
    int name parameters {                                                                                              \
        static int(*next) parameters;                                                                                  \
        if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name);                                                          \
        delay(#name);                                                                                                  \
        return next arguments;                                                                                         \
    }

DELAYED(PMPI_Comm_dup, (MPI_Comm comm, MPI_Comm *new), (comm, new))
DELAYED(PMPI_Comm_free, (MPI_Comm * comm), (comm))
DELAYED(PMPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new),
        (comm, type, key, info, new))
DELAYED(PMPI_Isend, (const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
        (bytes, n, type, to, tag, comm, request))
DELAYED(PMPI_Irecv, (void *bytes, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
        (bytes, n, type, from, tag, comm, request))
DELAYED(PMPI_Iallreduce,
        (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request),
        (from, to, n, type, op, comm, request))

int PMPI_Comm_rank(MPI_Comm comm, int *rank) {
    static int (*next)(MPI_Comm, int *), is_later;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Comm_rank");
    if (!is_later++) delay("PMPI_Comm_rank");
    return next(comm, rank);
}
