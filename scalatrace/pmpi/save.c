/* save.c - nothing is lost: parts, written when a rank must die before MPI_Finalize.
 *
 * A signal handler may do next to nothing, so a helper thread saves: the handler wakes it and, where the process is about
 * to die, waits for it. It takes the tracer's lock; a thread that was interrupted inside the tracer therefore must not wait,
 * but handles the signal when it leaves (signals.c). MPI_Abort makes the launcher kill the other ranks, some launchers with
 * SIGKILL: so the aborting rank first asks its siblings on the node to save.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

#define SNAPSHOT (SIGRTMAX - 3)
#define HANDLER_LIMIT_MS 3000
#define SIBLING_LIMIT_MS 1000

struct sibling {
    int64_t pid, started, rank;
};

static sem_t wake;
static pthread_t helper;
static bool helping, snapshots;
static bool closed, written; /* under the lock: no part may be written any more; one has been */
static void *kept;           /* under the lock: this rank's part, once others are merged into it */
static size_t nkept;
static volatile sig_atomic_t stopping, asked;
static volatile sig_atomic_t answered;
static struct sibling *siblings;
static int nsiblings;

static void sleep_ms(int ms) {
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&time, NULL);
}

/* -- parts ----------------------------------------------------------------------------------------------- */

static void parts_directory(char *path, size_t n) { snprintf(path, n, "%s.parts", st_options.output); }

void st_part_path(char *path, size_t n, int rank) {
    snprintf(path, n, "%s.parts/rank-%d.part", st_options.output, rank);
}

static int save(bool last) {
    char path[4096];
    bool before = st_hold();
    int error = ST_E_USAGE;
    if (st_shared.core && !closed) {
        parts_directory(path, sizeof path);
        mkdir(path, 0777);
        st_part_path(path, sizeof path, st_shared.rank);
        written = true;
        if (last && !kept) st_pending_flush();
        if (!kept) st_publish_counts();
        error =
            kept ? st_core_write_packed(st_shared.core, kept, nkept, path) : st_core_write_part(st_shared.core, path);
        if (error < 0) st_complain("%s", st_core_error(st_shared.core));
    }
    st_release(before);
    return error;
}

int st_save_part(void) { return save(true); }

/* A part is one rank's state: before others are merged into it, it is put aside. */
void st_part_keep(void) {
    bool before = st_hold();
    if (!kept && st_core_pack(st_shared.core, &kept, &nkept) < 0) closed = true;
    st_release(before);
}

void st_part_discard(void) {
    char path[4096];
    bool before = st_hold();
    closed = true;
    st_free(kept);
    kept = NULL;
    st_release(before);
    st_part_path(path, sizeof path, st_shared.rank);
    if (written) unlink(path);
}

void st_parts_discarded(void) {
    char path[4096];
    parts_directory(path, sizeof path);
    rmdir(path);
}

/* -- siblings on this node --------------------------------------------------------------------------------- */

/* When a process started (clock ticks since boot), which with its pid names it for good; -1: it is gone. */
static int64_t started_at(int64_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    if (n <= 0) return -1;
    text[n] = 0;
    const char *at = strrchr(text, ')'); /* field 2 may hold anything; field 22 is wanted */
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? atoll(at + 1) : -1;
}

static bool catches_snapshot(int64_t pid) {
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1) break;
    fclose(file);
    return caught >> (SNAPSHOT - 1) & 1;
}

static void meet_siblings(void) {
    MPI_Comm node;
    int n = 0;
    struct sibling self = {getpid(), started_at(getpid()), st_shared.rank};
    if (PMPI_Comm_split_type(st_shared.private_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS)
        return;
    PMPI_Comm_size(node, &n);
    siblings = calloc((size_t)n, sizeof *siblings);
    struct sibling *all = siblings ? siblings : &self;
    int ok = siblings != NULL, everywhere = 0;
    PMPI_Allreduce(&ok, &everywhere, 1, MPI_INT, MPI_MIN, node);
    if (everywhere) PMPI_Allgather(&self, 3, MPI_INT64_T, all, 3, MPI_INT64_T, node);
    nsiblings = everywhere ? n : 0;
    PMPI_Comm_free(&node);
}

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

static bool ask(const struct sibling *s) {
    return started_at(s->pid) == s->started && catches_snapshot(s->pid) && kill((pid_t)s->pid, SNAPSHOT) == 0;
}

/* Ask those who have not saved since then, after `patience_ms`, and wait until they have. The launcher kills them all as
 * soon as one of us is dead. */
static void wait_for_siblings(const struct timespec *since, int patience_ms) {
    for (int ms = 0; ms < SIBLING_LIMIT_MS; ms += 5) {
        int left = 0;
        for (int i = 0; i < nsiblings; i++) {
            struct sibling *s = &siblings[i];
            if (s->rank == st_shared.rank || s->started < 0 || has_saved(s, since)) continue;
            if (ms >= patience_ms && ms < patience_ms + 5 && !ask(s)) s->started = -1; /* gone, or without a tracer */
            left += s->started >= 0;
        }
        if (!left) return;
        sleep_ms(5);
    }
}

void st_save_with_siblings(void) {
    struct timespec since = file_time();
    if (st_save_part() == ST_OK) wait_for_siblings(&since, 0);
}

/* -- the helper thread and the handlers -------------------------------------------------------------------- */

static bool wait_for_work(void) {
    if (st_options.checkpoint <= 0) {
        while (sem_wait(&wake) && errno == EINTR) continue;
        return true;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += st_options.checkpoint;
    while (sem_timedwait(&wake, &until))
        if (errno == ETIMEDOUT) return false;
    return true;
}

static void *help(void *none) {
    st_thread.busy = true; /* signals are blocked here: those that wait are another thread's to deliver */
    while (!stopping) {
        bool called = wait_for_work();
        struct timespec since = file_time();
        if (stopping) break;
        sig_atomic_t upto = asked;
        bool done = save(called) == ST_OK;
        if (done && upto != answered) wait_for_siblings(&since, 100);
        answered = upto;
    }
    return none;
}

static void on_snapshot(int signal_number) {
    (void)signal_number;
    int error = errno;
    sem_post(&wake);
    errno = error;
}

void st_save_from_handler(void) {
    if (!st_shared.core || !helping) return;
    sig_atomic_t mine = ++asked;
    sem_post(&wake);
    for (int ms = 0; ms < HANDLER_LIMIT_MS && answered < mine; ms++) sleep_ms(1);
}

/* The helper saves, so that exit() ends even where a signal handler called it and this thread holds a lock of malloc's. */
void st_save_at_exit(void) {
    if (helping)
        st_save_from_handler();
    else
        st_save_with_siblings();
}

static void start_helper(void) {
    sigset_t all, old;
    sem_init(&wake, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    helping = pthread_create(&helper, NULL, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void install_handlers(void) {
    struct sigaction now;
    st_signals_take();
    if (sigaction(SNAPSHOT, NULL, &now) || now.sa_handler != SIG_DFL) return;
    struct sigaction snapshot = {.sa_handler = on_snapshot, .sa_flags = SA_RESTART};
    sigemptyset(&snapshot.sa_mask);
    snapshots = sigaction(SNAPSHOT, &snapshot, NULL) == 0;
}

static void remove_handlers(void (*snapshot_handler)(int)) {
    st_signals_return();
    if (snapshots) signal(SNAPSHOT, snapshot_handler);
}

/* -- start and stop -------------------------------------------------------------------------------------- */

void st_save_in_child(void) {
    if (helping) remove_handlers(SIG_DFL);
    helping = snapshots = false;
    nsiblings = 0;
}

/* Parts of an earlier run of `output`: those of ranks from `rank` on, and what was being written when a rank was killed. */
void st_parts_discard_stale(const char *output, int rank) {
    char path[8192];
    int found;
    snprintf(path, sizeof path, "%s.parts", output);
    DIR *folder = opendir(path);
    size_t n = strlen(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (sscanf(entry->d_name, "rank-%d.part", &found) != 1) continue;
        if (found < rank && !strstr(entry->d_name, ".tmp")) continue;
        snprintf(path + n, sizeof path - n, "/%s", entry->d_name);
        unlink(path);
    }
    if (folder) closedir(folder);
}

/* What an earlier run of this output left behind: this rank's part, and on rank 0 those of ranks that are none today. */
static void discard_stale(void) {
    char path[4096];
    st_part_path(path, sizeof path, st_shared.rank);
    unlink(path);
    if (st_shared.rank == 0) st_parts_discard_stale(st_options.output, st_shared.nprocs);
}

void st_save_start(void) {
    discard_stale();
    meet_siblings();
    start_helper();
    if (helping) install_handlers();
}

void st_save_stop(void) {
    if (!helping) return;
    remove_handlers(SIG_IGN); /* a late request must not kill */
    stopping = 1;
    sem_post(&wake);
    pthread_join(helper, NULL);
    helping = false;
}
