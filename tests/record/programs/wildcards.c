/* wildcards.c - nonblocking collectives, new communicators, and receives that match any message. */
#include <mpi.h>
#include <stdio.h>

static int sum_of(MPI_Comm comm) {
    int one = 1, sum = 0;
    MPI_Request request;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return sum;
}

/* A communicator of the lower or upper half of the ranks; its creation waits for its members only. */
static int sum_of_half(int rank, int size) {
    MPI_Group world, half;
    MPI_Comm comm;
    int range[3] = {rank < size / 2 ? 0 : size / 2, rank < size / 2 ? size / 2 - 1 : size - 1, 1};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, &range, &half);
    MPI_Comm_create_group(MPI_COMM_WORLD, half, 3, &comm);
    int sum = sum_of(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&half);
    MPI_Group_free(&world);
    return sum;
}

int main(int argc, char **argv) {
    int rank, size, number, tags = 0;
    MPI_Status status;
    MPI_Comm copy;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = sum_of(MPI_COMM_WORLD), half = 0;
    if (rank != 0) MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        tags += status.MPI_TAG;
    }
    /* Open MPI 5 could receive messages of MPI_Comm_create_group above. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) half += sum_of_half(rank, size);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += sum_of(copy);
    MPI_Comm_free(&copy);
    printf("rank %d: %d %d %d\n", rank, sum, half, tags);
    MPI_Finalize();
    return 0;
}
