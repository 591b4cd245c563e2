/* What MPI 4 added: partitioned requests, persistent collectives, large counts. Older: nothing. */
#include <mpi.h>
#include <stdio.h>

#define PARTS 4
static int rank, size;

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static double a[64], b[64];

static void partitioned(void) {
    MPI_Request requests[2];
    int next = (rank + 1) % size, before = (rank + size - 1) % size, list[2] = {3, 0}, flag = 0;
    MPI_Precv_init(b, PARTS, 4, MPI_DOUBLE, before, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(a, PARTS, 4, MPI_DOUBLE, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, requests);
        if (i % 2) {
            for (int part = 0; part < PARTS; part++) MPI_Pready(part, requests[1]);
        } else {
            MPI_Pready_range(1, 2, requests[1]);
            MPI_Pready_list(2, list, requests[1]);
        }
        for (flag = 0; !flag;) MPI_Parrived(requests[0], 2, &flag);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void persistent(void) {
    MPI_Request requests[4];
    int dims[1] = {size}, periods[1] = {1};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Bcast_init(a, 8, MPI_DOUBLE, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(a, b, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    MPI_Neighbor_alltoall_init(a, 2, MPI_DOUBLE, b + 32, 2, MPI_DOUBLE, ring, MPI_INFO_NULL, &requests[3]);
    for (int i = 0; i < 5; i++) {
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Startall(3, requests + 1);
        MPI_Waitall(3, requests + 1, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 4; i++) MPI_Request_free(&requests[i]);
    MPI_Comm_free(&ring);
}

#if MPI_VERSION >= 4
/* Datatypes whose counts are large: plain enquiries about them are errors. */
static void large_types(int next, int before) {
    MPI_Count lengths[2] = {1, 2}, places[2] = {0, 3}, bytes[2] = {0, 200}, sizes[2] = {4, 4}, parts[2] = {2, 2};
    MPI_Datatype types[5], inner[2];
    MPI_Type_vector_c(3, 2, 4, MPI_DOUBLE, &types[0]);
    MPI_Type_indexed_c(2, lengths, places, MPI_DOUBLE, &types[1]);
    MPI_Type_create_subarray_c(2, sizes, parts, lengths, MPI_ORDER_C, MPI_DOUBLE, &types[2]);
    inner[0] = types[0], inner[1] = MPI_INT;
    MPI_Type_create_struct_c(2, lengths, bytes, inner, &types[3]);
    MPI_Type_create_resized_c(MPI_DOUBLE, 0, 16, &types[4]);
    for (int i = 0; i < 5; i++) {
        MPI_Type_commit(&types[i]);
        MPI_Sendrecv(a, 1, types[i], next, 2, b, 1, types[i], before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&types[i]);
    }
}
#endif

static void large(void) {
    MPI_Request request;
    MPI_Count counts[64];
    MPI_Aint displs[64];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < size && i < 64; i++) counts[i] = 1, displs[i] = i;
    MPI_Isendrecv(a, 3, MPI_DOUBLE, next, 1, b, 3, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace(b, 3, MPI_DOUBLE, next, 1, before, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4 /* Open MPI 5.0 has the rest of MPI 4, but no large counts */
    MPI_Sendrecv_c(a, 3, MPI_DOUBLE, next, 1, b, 3, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allgatherv_c(a, 1, MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD);
    large_types(next, before);
#endif
}
#endif

int main(int argc, char **argv) {
    double sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    for (int i = 0; i < 64; i++) a[i] = rank;
    partitioned();
    persistent();
    large();
    sum = b[0] + b[32] + b[63];
#endif
    printf("rank %d: %g\n", rank, sum);
    MPI_Finalize();
    return 0;
}
