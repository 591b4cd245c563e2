/* threads.c - MPI called by threads of C: as a program, and as a library for Python.
 *
 * Program: two threads of each rank make communicators at the same time; every communicator has all ranks.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MADE = 40 };

static MPI_Group group;
static pthread_barrier_t start;

static void *make_communicators(void *number) {
    int tag = *(int *)number;
    MPI_Comm made[MADE];
    pthread_barrier_wait(&start);
    for (int i = 0; i < MADE; i++) MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &made[i]);
    for (int i = 0; i < MADE; i++) {
        MPI_Barrier(made[i]);
        MPI_Comm_free(&made[i]);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, tags[2] = {1, 2};
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) return 77;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, make_communicators, &tags[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    MPI_Group_free(&group);
    MPI_Finalize();
    return 0;
}

static void *reduce(void *sum) {
    int one = 1;
    MPI_Allreduce(&one, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return NULL;
}

/* The number of ranks, counted by a thread of this library's own while the caller waits for it. */
int count_ranks(void) {
    int sum = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, reduce, &sum);
    pthread_join(thread, NULL);
    return sum;
}
