/* opened_library.c - a library that programs open; it calls MPI. */
#include <mpi.h>

int count_ranks(void) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}
