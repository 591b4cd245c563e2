/* save.c - the helper thread, the handlers, and the siblings. */
#define _GNU_SOURCE
#include "process/save.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/signals.h"
#include "base/state.h"
#include "base/wait.h"
#include "process/parts.h"

#define MAX_HANDLER_MS 3000   /* a signal handler waits for the helper */
#define MAX_SIBLINGS_MS 1000  /* a rank waits for its siblings */
#define SIBLINGS_DELAY_MS 100 /* the siblings may have got the same signal, and save on their own */
#ifdef OPEN_MPI
#define REPORT_FIRST false /* the others save and print before they end */
#else
#define REPORT_FIRST true /* MPICH's launcher kills the others, and soon forwards no output */
#endif
#define POLL_MS 5 /* between two looks for the siblings' parts */

/* A rank on this node. Its pid and start time identify a process; -1 as start time: it will not save. */
struct sibling {
    int64_t pid, started, rank;
};

/* Wakes a helper thread, also that of a sibling: a signal would end the sleep of a thread of its program. */
static sem_t own_wake, *wake = &own_wake;
static sem_t *wakes; /* of the siblings, in their order, in memory that all share; NULL: there is none */
static pthread_t helper;
static bool helper_runs;
/* Atomic: the helper, handlers in any thread, and MPI_Finalize use these. Lock-free, and so safe in handlers. */
static atomic_bool stopping;
static atomic_int nrequested, nserved; /* requests of handlers to save, in all and served */
static struct sibling *siblings;
static int nsiblings;

static void sleep_ms(int ms) {
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&time, NULL);
}

/* -- siblings on this node --------------------------------------------------------------------------------- */

/* When a process started, in clock ticks since boot; -1: it does not exist. */
static int64_t started_at(int64_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    if (n <= 0) return -1;
    text[n] = 0;
    const char *at = strrchr(text, ')'); /* field 2 may contain any text; field 22 is the start time */
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? atoll(at + 1) : -1;
}

/* Share semaphores with the ranks on this node, one for each. Without memory on some rank there are none. */
static void share_semaphores(MPI_Comm node, int n) {
    int local = 0, id = -1, ok, everywhere = 0;
    PMPI_Comm_rank(node, &local);
    if (local == 0) id = shmget(IPC_PRIVATE, (size_t)n * sizeof *wakes, IPC_CREAT | 0600);
    PMPI_Bcast(&id, 1, MPI_INT, 0, node);
    void *memory = id >= 0 ? shmat(id, NULL, 0) : (void *)-1;
    ok = memory != (void *)-1;
    for (int i = 0; ok && local == 0 && i < n; i++) sem_init((sem_t *)memory + i, 1, 0);
    PMPI_Allreduce(&ok, &everywhere, 1, MPI_INT, MPI_MIN, node);
    if (local == 0 && id >= 0) shmctl(id, IPC_RMID, NULL); /* freed with the last process */
    if (everywhere)
        wakes = memory, wake = &wakes[local];
    else if (ok)
        shmdt(memory);
}

/* Exchange process ids with the ranks on this node. Without memory on some rank there are no siblings. */
static void find_siblings(void) {
    MPI_Comm node;
    int n = 0;
    struct sibling self = {getpid(), started_at(getpid()), st_shared.rank};
    if (st_shared.private_comm == MPI_COMM_NULL) return; /* before MPI_Init, in a world of sessions */
    if (PMPI_Comm_split_type(st_shared.private_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS)
        return;
    PMPI_Comm_size(node, &n);
    siblings = calloc((size_t)n, sizeof *siblings);
    struct sibling *all = siblings ? siblings : &self;
    int ok = siblings != NULL, everywhere = 0; /* is there memory on all ranks? */
    PMPI_Allreduce(&ok, &everywhere, 1, MPI_INT, MPI_MIN, node);
    if (everywhere) PMPI_Allgather(&self, 3, MPI_INT64_T, all, 3, MPI_INT64_T, node);
    nsiblings = everywhere ? n : 0;
    share_semaphores(node, n);
    PMPI_Comm_free(&node);
}

/* Has it written its part since then? */
static bool has_saved(const struct sibling *sibling, const struct timespec *since) {
    char path[4096];
    struct stat file;
    st_part_path(path, sizeof path, (int)sibling->rank);
    if (stat(path, &file)) return false;
    return file.st_mtim.tv_sec > since->tv_sec ||
           (file.st_mtim.tv_sec == since->tv_sec && file.st_mtim.tv_nsec >= since->tv_nsec);
}

static struct timespec file_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the clock of file times */
    return now;
}

/* Ask a sibling to save. Return false when it cannot, since it is gone. */
static bool ask(int i) {
    const struct sibling *s = &siblings[i];
    return wakes && started_at(s->pid) == s->started && sem_post(&wakes[i]) == 0;
}

/* Wait until all siblings have saved since then. After `delay_ms`, ask those that have not: the launcher kills them as
 * soon as this process is dead. */
static void wait_for_siblings(const struct timespec *since, int delay_ms) {
    for (int ms = 0; ms < MAX_SIBLINGS_MS; ms += POLL_MS) {
        int left = 0;
        for (int i = 0; i < nsiblings; i++) {
            struct sibling *s = &siblings[i];
            if (s->rank == st_shared.rank || s->started < 0 || has_saved(s, since)) continue;
            if (ms >= delay_ms && ms < delay_ms + POLL_MS && !ask(i)) s->started = -1;
            left += s->started >= 0;
        }
        if (!left) return;
        sleep_ms(POLL_MS);
    }
}

void st_save_with_siblings(void) {
    struct timespec since = file_time();
    if (st_save_part(true) != ST_OK) return;
    wait_for_siblings(&since, 0);
    st_parts_report();
}

/* -- the helper thread and the handlers -------------------------------------------------------------------- */

/* Wait until the helper has to save. Return false when it is time for a checkpoint. */
static bool wait_for_work(void) {
    if (st_options.checkpoint <= 0) {
        while (sem_wait(wake) && errno == EINTR) continue;
        return true;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += st_options.checkpoint;
    while (sem_timedwait(wake, &until))
        if (errno == ETIMEDOUT) return false;
    return true;
}

/* Main function of the helper thread. */
static void *help(void *unused) {
    st_thread.busy = true; /* signals are blocked in this thread: another one delivers postponed signals */
    while (!stopping) {
        bool requested = wait_for_work();
        struct timespec since = file_time();
        if (stopping) break;
        int served_after = nrequested;
        bool done = st_save_part(requested) == ST_OK;
        if (done && served_after != nserved) {
            if (REPORT_FIRST) st_parts_report();
            wait_for_siblings(&since, SIBLINGS_DELAY_MS);
            st_parts_report();
        }
        nserved = served_after;
    }
    return unused;
}

/* Called by the handlers of signals.h. */
static void save_from_handler(void) {
    if (!st_shared.core || !helper_runs) return;
    int own_request = ++nrequested;
    sem_post(wake);
    for (int ms = 0; ms < MAX_HANDLER_MS && nserved < own_request; ms++) sleep_ms(1);
}

/* The helper saves: a signal handler may have called exit() while this thread held a lock of malloc's. */
void st_save_at_exit(void) {
    if (helper_runs)
        save_from_handler();
    else
        st_save_with_siblings();
}

/* The thread blocks all signals: the program's threads handle them. */
static void start_helper(void) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    helper_runs = pthread_create(&helper, NULL, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* -- start and stop -------------------------------------------------------------------------------------- */

void st_save_in_child(void) {
    if (helper_runs) st_signals_restore();
    helper_runs = false;
    nsiblings = 0;
}

void st_save_start(void) {
    if (helper_runs) { /* MPI_Init after the first session: the siblings wake a helper by another semaphore */
        if (!st_save_stop()) return;
        stopping = false;
    } else {
        st_parts_discard_own_stale();
    }
    sem_init(&own_wake, 0, 0);
    find_siblings();
    start_helper();
    if (helper_runs) st_signals_install(save_from_handler);
}

bool st_save_stop(void) {
    if (!helper_runs) return true;
    st_signals_restore();
    stopping = true;
    sem_post(wake);
    struct timespec until = st_time_in(st_options.wait_limit);
    bool ended = pthread_timedjoin_np(helper, NULL, &until) == 0;
    if (!ended) st_warn_once("waited %d s for the end of a checkpoint; it goes on", st_options.wait_limit);
    helper_runs = false;
    return ended;
}
