/* Buffers in memory of a driver, which is loaded from the path argv[1] after MPI_Init; without one, all are of the host. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, on_stack[8] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(on_stack, 1, MPI_INT, 0, MPI_COMM_WORLD);
    void *driver = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *(*allocate)(size_t, int) = NULL;
    if (driver) *(void **)&allocate = dlsym(driver, "fake_allocate");
    int *device = allocate ? allocate(1 << 12, 0) : calloc(1 << 12, 1);
    int *managed = allocate ? allocate(1 << 12, 1) : calloc(1 << 12, 1);
    for (int i = 0; i < 10; i++) MPI_Bcast(device + i, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(device, on_stack, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, managed + 8, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(managed, 1, MPI_INT, rank ? (void *)device : on_stack, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    int *queries = driver ? dlsym(driver, "fake_queries") : NULL;
    if (queries) printf("rank %d: %d queries\n", rank, *queries);
    MPI_Finalize();
    return 0;
}
