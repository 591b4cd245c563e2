/* Preloaded into a C program: prints how long it runs, from the end of MPI_Init to MPI_Finalize, on rank 0. */
#include <mpi.h>
#include <stdio.h>

static double start;

int MPI_Init(int *argc, char ***argv) {
    int code = PMPI_Init(argc, argv);
    PMPI_Barrier(MPI_COMM_WORLD);
    start = PMPI_Wtime();
    return code;
}

int MPI_Finalize(void) {
    int rank;
    double seconds = PMPI_Wtime() - start;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("\nseconds %.9f\n", seconds);
    return PMPI_Finalize();
}
