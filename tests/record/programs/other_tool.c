/* other_tool.c - another tool for LD_PRELOAD: counts sends, and prints them when MPI ends. */
#include <mpi.h>
#include <stdio.h>

static int nsends;

int MPI_Send(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    nsends++;
    return PMPI_Send(data, count, type, dest, tag, comm);
}

int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("tool: rank %d sends %d\n", rank, nsends);
    fflush(stdout);
    return PMPI_Finalize();
}
