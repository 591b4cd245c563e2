/* launcher.c - the variables of launchers. */
#include "base/launcher.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"

static const struct launcher {
    const char *rank, *nranks, *ranks_here, *run;
} launchers[] = {
#define ST_LAUNCHER(rank, nranks, ranks_here, nnodes, run) {rank, nranks, ranks_here, run},
#include "launchers.def"
};

static const char *const jobs[] = {
#define ST_BATCH(job, array_task, no_task, nrestarts) job,
#include "launchers.def"
};

enum {
    NLAUNCHERS = sizeof launchers / sizeof *launchers,
    NBATCH = sizeof jobs / sizeof *jobs,
    MAX_VALUE = 128 /* characters of a variable that tell jobs apart */
};

/* The variable's number; -1 where it is not set. */
static int number_in(const char *name) {
    const char *value = *name ? getenv(name) : NULL;
    return value ? atoi(value) : -1;
}

int st_ranks_here(void) {
    for (int i = 0; i < NLAUNCHERS; i++) {
        int n = number_in(launchers[i].ranks_here);
        if (n > 0) return n;
    }
    return 1;
}

int st_launched_task(int *ntasks) {
    int task = -1;
    for (int i = 0; i < NLAUNCHERS; i++) {
        int n = number_in(launchers[i].nranks);
        if (n == 1) return -1;
        if (n > 1 && task < 0) *ntasks = n, task = number_in(launchers[i].rank);
    }
    return task;
}

uint64_t st_job(void) {
    char text[(NLAUNCHERS + NBATCH) * (MAX_VALUE + 1) + 1] = "";
    int n = 0;
    for (int i = 0; i < NLAUNCHERS + NBATCH; i++) {
        const char *name = i < NLAUNCHERS ? launchers[i].run : jobs[i - NLAUNCHERS];
        const char *value = *name ? getenv(name) : NULL;
        n += snprintf(text + n, sizeof text - (size_t)n, "%.*s ", MAX_VALUE, value ? value : "");
    }
    return st_hash_text(text);
}
