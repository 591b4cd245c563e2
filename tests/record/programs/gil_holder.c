/* gil_holder.c - a library for ctypes. One thread keeps Python's GIL while it waits for another one, which calls MPI. */
#include <mpi.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int holds, called;

static void set(int *flag) {
    pthread_mutex_lock(&mutex);
    *flag = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void wait_for(int *flag) {
    pthread_mutex_lock(&mutex);
    while (!*flag) pthread_cond_wait(&changed, &mutex);
    *flag = 0;
    pthread_mutex_unlock(&mutex);
}

/* By ctypes.PyDLL, which keeps the GIL. */
void hold(void) {
    set(&holds);
    wait_for(&called);
}

/* By ctypes.CDLL, which releases the GIL. */
void call(void) {
    wait_for(&holds);
    MPI_Barrier(MPI_COMM_SELF);
    set(&called);
}
