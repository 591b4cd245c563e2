/* opened_library.c - a library that programs open; it calls MPI. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

int count_ranks(void) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* With the variable OPEN_WAITS the constructor waits for a thread of its own that calls MPI. The dynamic linker holds
 * its lock meanwhile. */
static void *call(void *sum) {
    *(int *)sum = count_ranks();
    return NULL;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    int sum = 0;
    if (!getenv("OPEN_WAITS")) return;
    pthread_create(&thread, NULL, call, &sum);
    pthread_join(thread, NULL);
}
