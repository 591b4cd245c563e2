/* Shared by the C files that time MPI calls (`scalatrace/compilers/timed.py`): buffers, clock, collective calls. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Calls before the timed ones: they allocate what MPI needs for a size. */
enum { WARM_UP = 2 };

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int code_ = (call);                                                                                            \
        if (code_ != MPI_SUCCESS) return code_;                                                                        \
    } while (0)

static char *out_buffer, *in_buffer;
static size_t buffer_size;
static int *counts, *places;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Allocate both buffers, write to their pages, and allocate counts for `nranks` ranks. Returns MPI_ERR_NO_MEM without
 * memory. */
int st_reserve(long nbytes, int nranks) {
    size_t wanted = nbytes > 0 ? (size_t)nbytes : 1;
    free(out_buffer);
    free(in_buffer);
    free(counts);
    free(places);
    out_buffer = malloc(wanted);
    in_buffer = malloc(wanted);
    counts = malloc((size_t)nranks * sizeof *counts);
    places = malloc((size_t)nranks * sizeof *places);
    buffer_size = out_buffer && in_buffer && counts && places ? wanted : 0;
    if (!buffer_size) return MPI_ERR_NO_MEM;
    memset(out_buffer, 1, wanted);
    memset(in_buffer, 1, wanted);
    return 0;
}

/* Operations in the order of TIMED_COLLECTIVES in timed.py; `block`: bytes of a vector, or for each rank. */
static int call_collective(MPI_Comm comm, int op, int block, MPI_Datatype type, int element, MPI_Op sum, int root,
                           int size) {
    int n = block / element;
    switch (op) {
    case 0:
        return MPI_Barrier(comm);
    case 1:
        return MPI_Bcast(in_buffer, block, MPI_BYTE, root, comm);
    case 2:
        return MPI_Reduce(out_buffer, in_buffer, n, type, sum, root, comm);
    case 3:
        return MPI_Allreduce(out_buffer, in_buffer, n, type, sum, comm);
    case 4:
        return MPI_Gather(out_buffer, block, MPI_BYTE, in_buffer, block, MPI_BYTE, root, comm);
    case 5:
        return MPI_Scatter(out_buffer, block, MPI_BYTE, in_buffer, block, MPI_BYTE, root, comm);
    case 6:
        return MPI_Allgather(out_buffer, block, MPI_BYTE, in_buffer, block, MPI_BYTE, comm);
    case 7:
        for (int i = 0; i < size; i++) counts[i] = block, places[i] = i * block;
        return MPI_Allgatherv(out_buffer, block, MPI_BYTE, in_buffer, counts, places, MPI_BYTE, comm);
    case 8:
        return MPI_Alltoall(out_buffer, block, MPI_BYTE, in_buffer, block, MPI_BYTE, comm);
    case 9:
        for (int i = 0; i < size; i++) counts[i] = block, places[i] = i * block;
        return MPI_Alltoallv(out_buffer, counts, places, MPI_BYTE, in_buffer, counts, places, MPI_BYTE, comm);
    case 10:
        for (int i = 0; i < size; i++) counts[i] = n;
        return MPI_Reduce_scatter(out_buffer, in_buffer, counts, type, sum, comm);
    case 11:
        return MPI_Reduce_scatter_block(out_buffer, in_buffer, n, type, sum, comm);
    case 12:
        return MPI_Scan(out_buffer, in_buffer, n, type, sum, comm);
    default:
        return MPI_Exscan(out_buffer, in_buffer, n, type, sum, comm);
    }
}
