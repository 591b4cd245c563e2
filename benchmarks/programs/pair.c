/* Two ranks and messages of 8 bytes to and fro: pair N. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char message[8] = {0};
    int rank, n;
    MPI_Init(&argc, &argv);
    n = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2 * n; i++)
        if (rank == i % 2)
            MPI_Send(message, 8, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
        else if (rank < 2)
            MPI_Recv(message, 8, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
