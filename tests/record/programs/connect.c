/* One half of the ranks opens a port, the other half connects to it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, size, low, sum = 0;
    MPI_Comm half, both;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    low = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (low)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &both);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &both);
    for (int i = 0; i < 5; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both);
    printf("rank %d: %d\n", rank, sum);
    MPI_Comm_disconnect(&both);
    if (rank == 0) MPI_Close_port(port);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
