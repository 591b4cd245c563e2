/* Every collective, blocking and not, in place and not, over the world and its halves. Needs an even number of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, counts[64], displs[64];
static double a[4096], b[4096];

static void rooted(MPI_Comm comm, int root) {
    int here;
    MPI_Comm_rank(comm, &here);
    MPI_Bcast(a, 3, MPI_DOUBLE, root, comm);
    MPI_Gather(a, 2, MPI_DOUBLE, b, here == root ? 2 : -7, here == root ? MPI_DOUBLE : MPI_DATATYPE_NULL, root, comm);
    if (here == root)
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, root, comm);
    else
        MPI_Gather(a, 2, MPI_DOUBLE, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    MPI_Gatherv(a, counts[here], MPI_DOUBLE, b, here == root ? counts : NULL, here == root ? displs : NULL, MPI_DOUBLE,
                root, comm);
    MPI_Scatter(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, root, comm);
    MPI_Scatterv(a, here == root ? counts : NULL, here == root ? displs : NULL, MPI_DOUBLE, b, counts[here], MPI_DOUBLE,
                 root, comm);
    MPI_Reduce(a, b, 4, MPI_DOUBLE, MPI_MAX, root, comm);
}

static void all(MPI_Comm comm, int n) {
    MPI_Datatype types[64];
    for (int i = 0; i < n; i++) types[i] = i % 2 ? MPI_BYTE : MPI_CHAR;
    MPI_Barrier(comm);
    MPI_Allgather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, comm);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, comm);
    MPI_Allgatherv(a, counts[rank % n], MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, comm);
    MPI_Alltoall(a, 2, MPI_INT, b, 2, MPI_INT, comm);
    for (int i = 0; i < n; i++) counts[i] = 2;
    MPI_Alltoallv(a, counts, displs, MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, comm);
    for (int i = 0; i < n; i++) types[i] = MPI_BYTE;
    MPI_Alltoallw(a, counts, displs, types, b, counts, displs, types, comm);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, counts, displs, MPI_DOUBLE, comm);
    MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Reduce_scatter(a, b, counts, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Reduce_scatter_block(a, b, 2, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Scan(a, b, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Exscan(a, b, 1, MPI_DOUBLE, MPI_SUM, comm);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++) ((double *)inout)[i] += ((double *)in)[i];
}

static void nonblocking(MPI_Comm comm) {
    MPI_Request requests[6];
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Ibcast(a, 3, MPI_DOUBLE, 1, comm, &requests[1]);
    MPI_Iallreduce(a, b, 1, MPI_DOUBLE, op, comm, &requests[2]);
    MPI_Igatherv(a, 2, MPI_DOUBLE, b + 1000, counts, displs, MPI_DOUBLE, 0, comm, &requests[3]);
    MPI_Ialltoall(a, 1, MPI_DOUBLE, b + 2000, 1, MPI_DOUBLE, comm, &requests[4]);
    MPI_Iallgatherv(a, 2, MPI_DOUBLE, b + 3000, counts, displs, MPI_DOUBLE, comm, &requests[5]);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    MPI_Op_free(&op);
}

static void inter(MPI_Comm half, int n) {
    MPI_Comm comm, merged;
    int low = rank < n;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? n : 0, 12, &comm);
    MPI_Bcast(a, 2, MPI_DOUBLE, low ? (rank == 1 ? MPI_ROOT : MPI_PROC_NULL) : 1, comm);
    MPI_Gather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, low ? (rank == 1 ? MPI_ROOT : MPI_PROC_NULL) : 1, comm);
    MPI_Allgather(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, comm);
    MPI_Send(a, 1, MPI_DOUBLE, rank % n, 1, comm);
    MPI_Recv(b, 1, MPI_DOUBLE, rank % n, 1, comm, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(comm, !low, &merged);
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4096; i++) a[i] = 1;
    for (int i = 0; i < 64; i++) counts[i] = 1 + i % 3, displs[i] = 4 * i;
    MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &half);
    for (int i = 0; i < 3; i++) {
        rooted(MPI_COMM_WORLD, 1);
        rooted(half, 0);
    }
    for (int i = 0; i < 64; i++) counts[i] = 2;
    all(MPI_COMM_WORLD, size);
    nonblocking(MPI_COMM_WORLD);
    inter(half, size / 2);
    MPI_Comm_free(&half);
    MPI_Allreduce(&a[0], &b[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: %g\n", rank, b[0]);
    MPI_Finalize();
    return 0;
}
