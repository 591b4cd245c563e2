/* opens.c LIBRARY - an MPI program that opens the MPI library by itself. */
#include <dlfcn.h>
#include <stddef.h>

int main(int argc, char **argv) {
    void *mpi = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!mpi) return 1;
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(mpi, "MPI_Init");
    int (*finalize)(void) = (int (*)(void))dlsym(mpi, "MPI_Finalize");
    return init(&argc, &argv) || finalize();
}
