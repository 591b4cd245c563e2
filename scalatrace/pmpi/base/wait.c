/* wait.c - the waits of wait.h. */
#define _GNU_SOURCE
#include "base/wait.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/launcher.h"
#include "base/options.h"
#include "base/state.h"

#define LATE_NS 1000000000 /* after this time `late` is called */
#define MAX_SLEEP_US 10000 /* between two tests of a request */
#define SLEEP_SHARE 64     /* a sleep is this part of the time waited so far */
#define NSPINS 20          /* tests before the first sleep */
#define MAX_LOOK_US 100000 /* between two looks for what other processes do */

struct timespec st_time_in(int seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return until;
}

bool st_try_mutex(pthread_mutex_t *mutex) {
    if (__builtin_expect(pthread_mutex_trylock(mutex) == 0, 1)) return true;
    if (st_shared.gave_up) return false;
    struct timespec until = st_time_in(st_options.wait_limit);
    return pthread_mutex_timedlock(mutex, &until) == 0;
}

bool st_lock_mutex(pthread_mutex_t *mutex, const char *name) {
    char reason[128];
    if (__builtin_expect(st_try_mutex(mutex), 1)) return true;
    snprintf(reason, sizeof reason, "waited %d s for the lock of %s", st_options.wait_limit, name);
    st_give_up(reason);
    return false;
}

void st_sleep_longer(useconds_t *sleep_us) {
    usleep(*sleep_us);
    if (*sleep_us < MAX_LOOK_US) *sleep_us += *sleep_us / 4;
}

int st_start_limit(void) {
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    int share = st_ranks_here() / (ncores > 0 ? (int)ncores : 1);
    return st_options.wait_limit * (share > 1 ? share : 1);
}

bool st_wait_request(MPI_Request *request, MPI_Status *status, int limit, void (*late)(void)) {
    int64_t start = st_now();
    for (int done = 0, ntests = 0;; ntests++) {
        if (PMPI_Test(request, &done, status) != MPI_SUCCESS) return false;
        if (done) return true;
        int64_t waited = st_now() - start;
        if (late && waited > LATE_NS) {
            late();
            late = NULL;
        }
        if (limit != ST_NO_LIMIT && waited > limit * INT64_C(1000000000)) return false;
        int64_t sleep_us = 20 + waited / (1000 * SLEEP_SHARE);
        if (ntests > NSPINS) usleep(sleep_us > MAX_SLEEP_US ? MAX_SLEEP_US : (useconds_t)sleep_us);
    }
}

void st_give_up(const char *reason) {
    if (atomic_exchange(&st_shared.gave_up, true)) return;
    st_shared.active = st_shared.on = false;
    st_warn("%s; this rank records nothing more. The program is not affected", reason);
}
