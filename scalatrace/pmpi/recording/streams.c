/* streams.c - which thread has which stream. */
#define _GNU_SOURCE
#include "recording/streams.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/wait.h"
#include "ops.h"

#define MAX_STREAMS (1 << 20) /* as in the core */
#define MAX_APART 20          /* clock ticks, of 10 ms, between the starts of threads that were started together */

struct stream {
    long thread;  /* its id, 0: none has the stream */
    bool counted; /* has it events? */
    uint64_t *polls;
};

/* A thread of the process. */
struct task {
    long thread;
    int64_t started; /* clock ticks since boot; 0: not asked yet, -1: it has ended */
};

static uint64_t first_polls[ST_NOPS];
static struct stream *streams;
static int nstreams;
static long *early; /* threads that ran at the end of MPI_Init: mostly of libraries */
static int nearly;

uint64_t *st_stream_first_polls(void) { return first_polls; }

static long own_id(void) { return syscall(SYS_gettid); }

static int by_id(const void *a, const void *b) {
    long x = ((const struct task *)a)->thread, y = ((const struct task *)b)->thread;
    return (x > y) - (x < y);
}

/* The threads of the process by their ids, allocated. Out of memory, or without /proc: none. */
static struct task *list_tasks(int *n) {
    struct task *tasks = NULL;
    int capacity = 0;
    DIR *folder = opendir("/proc/self/task");
    *n = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (*n == capacity) {
            struct task *more = realloc(tasks, (size_t)(capacity = 2 * capacity + 16) * sizeof *more);
            if (!more) break;
            tasks = more;
        }
        long thread = atol(entry->d_name);
        if (thread > 0) tasks[(*n)++] = (struct task){.thread = thread};
    }
    if (folder) closedir(folder);
    if (tasks) qsort(tasks, (size_t)*n, sizeof *tasks, by_id);
    return tasks;
}

/* When the thread started: field 22 behind the last bracket, since field 2 may contain any text. */
static int64_t started_at(long thread) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    size_t n = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[n] = 0;
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? atoll(at) : -1;
}

static bool runs(const struct task *tasks, int n, long thread) {
    struct task key = {.thread = thread};
    return bsearch(&key, tasks, (size_t)n, sizeof *tasks, by_id) != NULL;
}

static bool is_early(long thread) {
    for (int i = 0; i < nearly; i++)
        if (early[i] == thread) return true;
    return false;
}

/* The stream that a thread has; -1: none. */
static int stream_of(long thread) {
    for (int i = 0; i < nstreams; i++)
        if (streams[i].thread == thread) return i;
    return -1;
}

/* Give a thread the lowest free stream. Return false when out of memory. */
static bool assign(long thread) {
    int i = 0;
    while (i < nstreams && streams[i].thread) i++;
    if (i == nstreams) {
        if (nstreams == MAX_STREAMS) return false;
        struct stream *more = realloc(streams, (size_t)(nstreams + 1) * sizeof *more);
        if (!more) return false;
        streams = more;
        uint64_t *polls = nstreams ? calloc(ST_NOPS, sizeof *polls) : first_polls;
        if (!polls) return false;
        streams[nstreams++] = (struct stream){.polls = polls};
    }
    streams[i].thread = thread;
    return true;
}

/* Streams whose threads have ended, without a word to us, or before their first call, are free. */
static void release_ended(const struct task *tasks, int n) {
    for (int i = 0; i < nstreams; i++)
        if (streams[i].thread && !runs(tasks, n, streams[i].thread)) streams[i].thread = 0;
}

/* Number the thread, and before it older ones that were started together with it. */
static void number(long own) {
    int n;
    struct task *tasks = list_tasks(&n);
    int64_t started = started_at(own);
    bool early_too = is_early(own);
    if (tasks) release_ended(tasks, n);
    for (int i = 0; tasks && started >= 0 && i < n && tasks[i].thread < own; i++) {
        long thread = tasks[i].thread;
        if (stream_of(thread) >= 0 || is_early(thread) != early_too) continue;
        int64_t other = started_at(thread);
        if (other >= 0 && started - other <= MAX_APART) assign(thread);
    }
    free(tasks);
}

void st_stream_take(void) {
    long own = own_id();
    st_thread.has_stream = true;
    if (!st_shared.streams && nstreams) {
        st_thread.polls = first_polls;
        return;
    }
    if (stream_of(own) < 0) {
        if (nstreams) number(own);
        if (!assign(own)) {
            st_give_up("no memory for another thread's calls");
            return;
        }
    }
    if (st_shared.streams) st_core_check(st_set_option(st_shared.core, "threads", 1));
    st_thread.stream = stream_of(own);
    st_thread.polls = streams[st_thread.stream].polls;
}

bool st_stream_count(void) {
    int i = st_thread.stream;
    bool counted = st_shared.streams && i < nstreams && streams[i].counted;
    if (i < nstreams) streams[i].counted = true;
    return !counted;
}

void st_stream_leave(void) {
    int i = st_thread.has_stream ? st_thread.stream : -1;
    if (i < 0 || i >= nstreams || streams[i].thread != own_id()) return;
    streams[i].thread = 0;
}

void st_streams_start(void) {
    int n;
    struct task *tasks = list_tasks(&n);
    st_stream_take();
    early = calloc((size_t)n + 1, sizeof *early);
    for (int i = 0; early && i < n; i++)
        if (tasks[i].thread != own_id()) early[nearly++] = tasks[i].thread;
    free(tasks);
}
