/* A library whose destructor calls MPI_Finalize (-DLIBRARY), as static objects of C++ libraries do, and its program,
 * which is linked to the library (-DLINKED) or loads the one that its argument names. */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

#ifdef LIBRARY
void start_mpi(void) { MPI_Init(NULL, NULL); }

__attribute__((destructor)) static void end(void) {
    int initialized, finalized;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized && !finalized) MPI_Finalize();
}
#else
void start_mpi(void);

int main(int argc, char **argv) {
    int sum = 0, one = 1;
#ifdef LINKED
    start_mpi();
#else
    ((void (*)(void))dlsym(dlopen(argv[argc - 1], RTLD_NOW), "start_mpi"))();
#endif
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum < 1;
}
#endif
