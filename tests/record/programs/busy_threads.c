/* busy_threads.c SECONDS - threads of each rank that send, receive, poll and make datatypes at the same time, while the main
 * thread switches events off and on, and checkpoints are saved.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define NTHREADS 3

static int rank, size;
static double seconds;

static void *exchange(void *number) {
    int tag = *(int *)number, sent = rank, received = -1, done = 0, go_on = 1;
    double start = MPI_Wtime();
    for (int step = 0; go_on; step++) {
        MPI_Request requests[2];
        MPI_Datatype type;
        MPI_Type_contiguous(1 + step % 3, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Irecv(&received, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &requests[1]);
        for (done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        MPI_Type_free(&type);
        /* The first rank's thread says when all of its number end. */
        go_on = rank == 0 ? MPI_Wtime() - start < seconds : 0;
        if (rank != 0) MPI_Recv(&go_on, 1, MPI_INT, rank - 1, tag + 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank != size - 1) MPI_Send(&go_on, 1, MPI_INT, rank + 1, tag + 100, MPI_COMM_WORLD);
        usleep(2000);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, tags[NTHREADS];
    pthread_t threads[NTHREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) return 77;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    seconds = atof(argv[1]);
    for (int i = 0; i < NTHREADS; i++) {
        tags[i] = i;
        pthread_create(&threads[i], NULL, exchange, &tags[i]);
    }
    for (int i = 0; i < 10; i++) {
        MPI_Pcontrol(i % 2);
        usleep(20000);
    }
    for (int i = 0; i < NTHREADS; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
