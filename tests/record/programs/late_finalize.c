/* MPI_Finalize where the program has ended: in a function of atexit (`exit`), or in a destructor. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int in_destructor;

static void finalize(void) { MPI_Finalize(); }

__attribute__((destructor)) static void end(void) {
    if (in_destructor) MPI_Finalize();
}

int main(int argc, char **argv) {
    int sum = 0, one = 1;
    MPI_Init(&argc, &argv);
    in_destructor = strcmp(argv[1], "exit") != 0;
    if (!in_destructor) atexit(finalize);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}
