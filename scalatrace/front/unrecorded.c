/* unrecorded.c - print one line at the end of a program in which nothing was recorded.
 *
 * Only the process that `scalatrace record` became prints it, and only on the first rank. Programs that it starts (the
 * commands of a shell script, the ranks of a launcher) have another process number. If one of them recorded something,
 * the trace or its directory of parts has changed since the start.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front.h"

static bool is_watching;
static char *trace, *parts;
static struct stat trace_before, parts_before, stderr_before;

/* Status of a file; all zero where there is none. */
static struct stat status_of(const char *path) {
    struct stat now;
    if (stat(path, &now) != 0) memset(&now, 0, sizeof now);
    return now;
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

__attribute__((constructor)) static void watch(void) {
    const char *pid = getenv("SCALATRACE_PID"), *output = getenv("SCALATRACE_OUTPUT"),
               *quiet = getenv("SCALATRACE_QUIET");
    if (!pid || !output || atol(pid) != (long)getpid() || !front_is_first_rank() || (quiet && atoi(quiet))) return;
    trace = strdup(output);
    if (!trace || asprintf(&parts, "%s.parts", output) < 0) return;
    trace_before = status_of(trace), parts_before = status_of(parts);
    if (trace_before.st_ino && !S_ISREG(trace_before.st_mode))
        return; /* a FIFO or device does not change when it is written */
    is_watching = fstat(STDERR_FILENO, &stderr_before) == 0;
}

/* The program may have closed its standard error, and opened a file of its own in its place. */
static bool is_stderr_open(void) {
    struct stat now;
    return fstat(STDERR_FILENO, &now) == 0 && now.st_dev == stderr_before.st_dev && now.st_ino == stderr_before.st_ino;
}

__attribute__((destructor)) static void report(void) {
    const char *pid = getenv("SCALATRACE_PID");
    if (!is_watching || front_has_started() || (pid && atol(pid) != (long)getpid()) || !is_stderr_open()) return;
    const struct stat trace_now = status_of(trace), parts_now = status_of(parts);
    if (!is_same(&trace_before, &trace_now) || !is_same(&parts_before, &parts_now)) return;
    if (front_was_bypassed())
        dprintf(STDERR_FILENO,
                "scalatrace: %s called MPI past the tracer, as libraries opened with RTLD_DEEPBIND do, and tools in "
                "LD_PRELOAD before the tracer: nothing was recorded, %s is not written\n",
                program_invocation_short_name, trace);
    else
        dprintf(STDERR_FILENO, "scalatrace: %s never called MPI_Init: nothing was recorded, %s is not written\n",
                program_invocation_short_name, trace);
}
