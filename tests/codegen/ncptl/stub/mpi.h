/* MPI as the compiled programs use it, without MPI: every call is printed as the rank that STUB_RANK says.
 * Communicators are printed by their number; nothing is sent, and nothing waits. */
#ifndef STUB_MPI_H
#define STUB_MPI_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int MPI_Comm;
typedef int MPI_Request;
typedef const char *MPI_Datatype;
typedef int MPI_Op;

#define MPI_COMM_NULL (-1)
#define MPI_COMM_WORLD 0
#define MPI_BYTE "MPI_BYTE"
#define MPI_INT "MPI_INT"
#define MPI_DOUBLE "MPI_DOUBLE"
#define MPI_LONG_LONG "MPI_LONG_LONG"
#define MPI_SUM 0
#define MPI_MIN 1
#define MPI_STATUS_IGNORE NULL
#define MPI_STATUSES_IGNORE NULL
#define MPI_MAX_LIBRARY_VERSION_STRING 256

static int stub_comms;

static inline int stub_number(const char *name) { return atoi(getenv(name)); }

#define MPI_Init(argc, argv) ((void)(argc), (void)(argv))
#define MPI_Finalize() ((void)0)
#define MPI_Abort(comm, status) exit(status)
#define MPI_Comm_rank(comm, rank) (*(rank) = stub_number("STUB_RANK"))
#define MPI_Comm_size(comm, size) (*(size) = stub_number("STUB_TASKS"))
#define MPI_Get_library_version(text, length) (strcpy(text, "stub"), *(length) = 4)
#define MPI_Comm_split(comm, color, key, made)                                                                         \
    ((void)(key), printf("@Comm_split color=%d\n", color), *(made) = ++stub_comms)
#define MPI_Send(data, count, type, peer, tag, comm)                                                                   \
    ((void)(data), printf("@Send %d dst=%d tag=%d\n", count, peer, tag))
#define MPI_Recv(data, count, type, peer, tag, comm, status)                                                           \
    ((void)(data), printf("@Recv %d src=%d tag=%d\n", count, peer, tag))
#define MPI_Isend(data, count, type, peer, tag, comm, request)                                                         \
    ((void)(data), *(request) = 0, printf("@Isend %d dst=%d tag=%d\n", count, peer, tag))
#define MPI_Irecv(data, count, type, peer, tag, comm, request)                                                         \
    ((void)(data), *(request) = 0, printf("@Irecv %d src=%d tag=%d\n", count, peer, tag))
#define MPI_Waitall(count, requests, statuses) ((void)(requests), printf("@Waitall %d\n", count))
#define MPI_Barrier(comm) printf("@Barrier comm#%d\n", comm)
#define MPI_Bcast(data, count, type, root, comm)                                                                       \
    ((void)(data), printf("@Bcast %d %s root=%d comm#%d\n", count, type, root, comm))
#define MPI_Alltoall(from, count, type, into, count2, type2, comm)                                                     \
    ((void)(from), (void)(into), printf("@Alltoall %d comm#%d\n", count, comm))
#define MPI_Reduce(from, into, count, type, op, root, comm)                                                            \
    ((void)(from), (void)(into), printf("@Reduce %d %s root=%d comm#%d\n", count, type, root, comm))

static inline void stub_counts(const char *name, const int *counts, int size) {
    printf(" %s=[", name);
    for (int i = 0; i < size; i++) printf("%d ", counts[i]);
    printf("]");
}

#define MPI_Alltoallv(from, counts, at, type, into, counts2, at2, type2, comm)                                         \
    ((void)(from), (void)(into), (void)(at), (void)(at2), printf("@Alltoallv"),                                        \
     stub_counts("s", counts, in.comms[comm].size), stub_counts("r", counts2, in.comms[comm].size),                    \
     printf(" comm#%d\n", comm))
#define MPI_Allreduce(from, into, count, type, op, comm)                                                               \
    ((void)(from), memcpy(into, from, !strcmp(type, "MPI_LONG_LONG") ? 8 : 0),                                         \
     printf("@Allreduce %d %s comm#%d\n", count, type, comm))

#endif
