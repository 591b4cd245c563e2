/* The last rank comes to MPI_Finalize two seconds after the others, who save their parts meanwhile. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) sleep(2);
    MPI_Finalize();
    return 0;
}
