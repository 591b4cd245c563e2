/* thread_kinds.c KIND - threads, processes and signals beside calls of MPI; each kind ends and prints what it has counted. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "kinds.h"

enum { ROUNDS = 200, NTHREADS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int ready;

static int reduce(int value) {
    int sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* A ring of messages with a tag of the thread's own. */
static void *ring(void *number) {
    int tag = *(int *)number, sent = rank, received = 0;
    for (int i = 0; i < ROUNDS; i++)
        MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, tag, &received, 1, MPI_INT, (rank + size - 1) % size, tag,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *(int *)number = received;
    return NULL;
}

static void start_all(pthread_t *threads, int *tags, void *(*function)(void *)) {
    for (int i = 0; i < NTHREADS; i++) {
        tags[i] = i;
        pthread_create(&threads[i], NULL, function, &tags[i]);
    }
}

static int join_all(pthread_t *threads, int *tags) {
    int sum = 0;
    for (int i = 0; i < NTHREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += tags[i];
    }
    return sum;
}

static int multiple(void) {
    pthread_t threads[NTHREADS];
    int tags[NTHREADS];
    start_all(threads, tags, ring);
    return join_all(threads, tags);
}

/* -- own lock: MPI_THREAD_SERIALIZED ----------------------------------------------------------------------- */

static void *locked_calls(void *number) {
    int flag = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&mutex);
    }
    *(int *)number = 1;
    return NULL;
}

static int serialized(void) {
    pthread_t threads[NTHREADS];
    int tags[NTHREADS];
    start_all(threads, tags, locked_calls);
    return join_all(threads, tags);
}

/* -- condition: a thread calls MPI while the main thread waits for it ----------------------------------------- */

static void *reduce_and_signal(void *sum) {
    int result = reduce(1);
    pthread_mutex_lock(&mutex);
    *(int *)sum = result;
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static int condition(void) {
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        ready = 0;
        pthread_mutex_lock(&mutex);
        pthread_create(&thread, NULL, reduce_and_signal, &sum);
        while (!ready) pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
        pthread_join(thread, NULL);
    }
    return sum;
}

/* -- cancellation of a thread that has called MPI ------------------------------------------------------------- */

static void *call_and_pause(void *number) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_free(&copy);
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    for (;;) pause();
    return number;
}

static int cancelled(void) {
    pthread_t threads[NTHREADS];
    int tags[NTHREADS], n = 0;
    void *result;
    start_all(threads, tags, call_and_pause);
    while (ready < NTHREADS) usleep(1000);
    for (int i = 0; i < NTHREADS; i++) pthread_cancel(threads[i]);
    for (int i = 0; i < NTHREADS; i++) n += !pthread_join(threads[i], &result) && result == PTHREAD_CANCELED;
    return n + reduce(1);
}

/* -- threads that remain ---------------------------------------------------------------------------------------- */

static void *call_and_remain(void *number) {
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    for (;;) pause();
    return number;
}

static int remaining(void) {
    static pthread_t threads[NTHREADS];
    static int tags[NTHREADS];
    start_all(threads, tags, call_and_remain);
    while (ready < NTHREADS) usleep(1000);
    return reduce(1);
}

/* -- signals ---------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t nalarms;
static sigjmp_buf back;

static void count(int number) { nalarms += number == SIGALRM; }
static void leave(int number) { siglongjmp(back, number); }

static void every_us(long us, void (*handler)(int)) {
    struct itimerval timer = {{0, us}, {0, us}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int timer(void) {
    int sum = 0;
    every_us(500, count);
    for (int i = 0; i < 20 * ROUNDS; i++) MPI_Send(&sum, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    while (sum < size) sum = reduce(nalarms >= 20), usleep(1000); /* all ranks, so that all make as many calls */
    every_us(0, SIG_IGN);
    return 0;
}

/* The handler leaves the computation between calls. */
static int jump_from_computation(void) {
    struct itimerval soon = {{0, 0}, {0, 50000}};
    signal(SIGALRM, leave);
    if (!sigsetjmp(back, 1)) {
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;) pause();
    }
    return reduce(1);
}

/* -- processes --------------------------------------------------------------------------------------------------- */

static int fork_once(int code) {
    int status = 0;
    pid_t child = fork();
    if (!child) {
        free(malloc(100000));
        if (code % 2) exit(code);
        _exit(code);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *fork_often(void *number) {
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += fork_once(i);
    *(int *)number = sum;
    return NULL;
}

static int forks(void) {
    pthread_t threads[NTHREADS], forker;
    int tags[NTHREADS], sum = 0;
    start_all(threads, tags, ring);
    pthread_create(&forker, NULL, fork_often, &sum);
    int received = join_all(threads, tags);
    pthread_join(forker, NULL);
    return sum + received;
}

static void *system_often(void *number) {
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += WEXITSTATUS(system("exit 3"));
    *(int *)number = sum;
    return NULL;
}

static int systems(void) {
    pthread_t threads[NTHREADS], starter;
    int tags[NTHREADS], sum = 0;
    start_all(threads, tags, ring);
    pthread_create(&starter, NULL, system_often, &sum);
    int received = join_all(threads, tags);
    pthread_join(starter, NULL);
    return sum + received;
}

/* -- coroutines: a call on a stack that the program has allocated --------------------------------------------------- */

static ucontext_t main_context, coroutine;
static int coroutine_sum;

static void run_coroutine(void) {
    for (int i = 0; i < 10; i++) {
        coroutine_sum += reduce(1);
        swapcontext(&coroutine, &main_context);
    }
}

static int coroutines(void) {
    enum { STACK = 256 * 1024 };
    int sum = 0;
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = malloc(STACK);
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, run_coroutine, 0);
    for (int i = 0; i < 10; i++) {
        swapcontext(&main_context, &coroutine);
        sum += reduce(1);
    }
    return sum + coroutine_sum;
}

/* -- a handler of exit() that finalizes ------------------------------------------------------------------------------ */

static void finalize(void) { MPI_Finalize(); }

static const struct kind kinds[] = {
    {"multiple", multiple, MPI_THREAD_MULTIPLE},
    {"serialized", serialized, MPI_THREAD_SERIALIZED},
    {"condition", condition, MPI_THREAD_SERIALIZED},
    {"cancelled", cancelled, MPI_THREAD_MULTIPLE},
    {"remaining", remaining, MPI_THREAD_MULTIPLE},
    {"timer", timer, MPI_THREAD_SINGLE},
    {"jump", jump_from_computation, MPI_THREAD_SINGLE},
    {"forks", forks, MPI_THREAD_MULTIPLE},
    {"systems", systems, MPI_THREAD_MULTIPLE},
    {"coroutines", coroutines, MPI_THREAD_SINGLE},
    {"atexit", NULL, MPI_THREAD_SINGLE},
};

int main(int argc, char **argv) {
    const struct kind *kind = start_kind(kinds, sizeof kinds / sizeof *kinds, argc, argv);
    if (!kind) return 2;
    if (provided < kind->level) return 77;
    if (!kind->run) {
        atexit(finalize);
        printf("rank %d: %d\n", rank, reduce(1));
        return 0;
    }
    printf("rank %d: %d\n", rank, kind->run());
    MPI_Finalize();
    return 0;
}
