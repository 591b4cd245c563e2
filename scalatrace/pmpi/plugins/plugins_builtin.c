/* plugins_builtin.c - the built-in plug-ins: CPU time, instructions, resident memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plugins/plugin_kinds.h"

/* -- CPU time of the thread ------------------------------------------------------------------------------ */

static int64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int cpu_open(void **state) { return (*state = calloc(1, sizeof(int64_t))) ? 0 : -1; }
static void cpu_start(void *state, const struct st_plugin_call *call) {
    (void)call;
    *(int64_t *)state = thread_ns();
}
static double cpu_end(void *state, const struct st_plugin_call *call) {
    (void)call;
    return (double)(thread_ns() - *(int64_t *)state);
}

/* -- instructions in user mode, of the thread ------------------------------------------------------------ */

/* A hardware counter of this thread. */
struct counter {
    int file;
    uint64_t before; /* value when the window began */
};

/* A counter of this thread's user mode, which perf_event_open may refuse. */
static int instructions_open(void **state) {
    struct perf_event_attr wanted = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof wanted,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int file = (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) return -1;
    struct counter *counter = calloc(1, sizeof *counter);
    if (!counter) {
        close(file);
        return -1;
    }
    counter->file = file;
    *state = counter;
    return 0;
}

/* The counter's value; UINT64_MAX: it cannot be read. */
static uint64_t count(const struct counter *counter) {
    uint64_t value;
    return read(counter->file, &value, sizeof value) == sizeof value ? value : UINT64_MAX;
}

static void instructions_start(void *state, const struct st_plugin_call *call) {
    (void)call;
    ((struct counter *)state)->before = count(state);
}

static double instructions_end(void *state, const struct st_plugin_call *call) {
    (void)call;
    uint64_t now = count(state), before = ((struct counter *)state)->before;
    return now == UINT64_MAX || now < before ? NAN : (double)(now - before);
}

static void instructions_close(void *state) {
    close(((struct counter *)state)->file);
    free(state);
}

/* -- resident memory of the process ---------------------------------------------------------------------- */

struct statm {
    int file;
    long page;
};

/* The file stays open: reading it again gives current numbers. */
static int memory_open(void **state) {
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    struct statm *statm = file >= 0 ? calloc(1, sizeof *statm) : NULL;
    if (!statm) {
        if (file >= 0) close(file);
        return -1;
    }
    *statm = (struct statm){file, sysconf(_SC_PAGESIZE)};
    *state = statm;
    return 0;
}

/* The file contains "size resident shared ...", in pages. */
static double memory_end(void *state, const struct st_plugin_call *call) {
    (void)call;
    const struct statm *statm = state;
    char text[128];
    ssize_t n = pread(statm->file, text, sizeof text - 1, 0);
    if (n <= 0) return NAN;
    text[n] = 0;
    const char *resident = strchr(text, ' ');
    return resident ? (double)strtoll(resident, NULL, 10) * (double)statm->page : NAN;
}

static void memory_close(void *state) {
    close(((struct statm *)state)->file);
    free(state);
}

/* -- the table ------------------------------------------------------------------------------------------- */

static const struct {
    const char *word; /* as in --stat */
    const char *hint; /* why open() may fail */
    struct st_plugin plugin;
} builtins[] = {
    {"cpu",
     "",
     {.version = ST_PLUGIN_VERSION,
      .name = "cpu_ns",
      .resolution = 1,
      .open = cpu_open,
      .start = cpu_start,
      .end = cpu_end,
      .close = free}},
    {"instructions",
     "perf_event_open gives no counter; it needs hardware that has one, which virtual machines may hide, and a "
     "kernel.perf_event_paranoid of 2 or less",
     {.version = ST_PLUGIN_VERSION,
      .name = "instructions",
      .resolution = 1,
      .open = instructions_open,
      .start = instructions_start,
      .end = instructions_end,
      .close = instructions_close}},
    {"memory",
     "/proc/self/statm cannot be read",
     {.version = ST_PLUGIN_VERSION,
      .flags = ST_PLUGIN_LEVEL,
      .name = "memory_bytes",
      .resolution = 1,
      .open = memory_open,
      .end = memory_end,
      .close = memory_close}},
};

const struct st_plugin *st_builtin_plugin(const char *name, const char **hint) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        if (strcmp(builtins[i].word, name)) continue;
        *hint = builtins[i].hint;
        return &builtins[i].plugin;
    }
    return NULL;
}
