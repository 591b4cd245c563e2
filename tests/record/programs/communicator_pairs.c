/* communicator_pairs.c ROUNDS - in each round two threads of each rank start together, and each creates a communicator. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

static MPI_Group group;
static pthread_barrier_t start;
static int rounds;

static void *make(void *number) {
    int tag = *(int *)number, one = 1, sum = 0;
    for (int i = 0; i < rounds; i++) {
        MPI_Comm comm;
        pthread_barrier_wait(&start);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, tags[2] = {1, 2};
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) return 77;
    rounds = atoi(argv[1]);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, make, &tags[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    MPI_Group_free(&group);
    MPI_Finalize();
    return 0;
}
