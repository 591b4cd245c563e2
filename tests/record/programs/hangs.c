/* hangs.c - five ranks wait for each other: in requests, for any message, in a collective call, in a send, and not at all. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, number[2] = {0, 0};
    MPI_Request requests[2];
    MPI_Comm row;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &row);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Irecv(&number[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&number[1], 1, MPI_INT, 1, 6, row, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 1) MPI_Recv(number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Barrier(row);
    if (rank == 3) pause();
    if (rank == 4) MPI_Ssend(number, 1, MPI_INT, 2, 8, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
