/* tree.c - the leaves of a radix tree, and a row of its merges: as the shim, without an interpreter between two of them. */
#include "st_core.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The functions of the core, which the caller has loaded. */
struct core_functions {
    int (*append)(st_core *core, const struct st_event *event);
    int (*pack)(st_core *core, void **bytes, size_t *nbytes);
    int (*merge)(st_core *core, const void *bytes, size_t nbytes);
    void (*free)(void *bytes);
};

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Between 0.95 and 1.05 (xorshift64*). */
static double noise(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return 0.95 + 0.1 * (double)((*state * UINT64_C(2685821657736338717)) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The events of a step, so many times; each takes 1 ms and 10 us of communication, but for 5 % of noise. The core's error or 0. */
int steps(const struct core_functions *f, st_core *core, struct st_event *events, size_t nevents, size_t nsteps,
          uint64_t seed) {
    for (size_t i = 0; i < nsteps; i++)
        for (struct st_event *e = events; e < events + nevents; e++) {
            double factor = noise(&seed);
            e->stats[0] = 1e6 * factor;
            e->stats[1] = 1e4 * factor;
            int error = f->append(core, e);
            if (error < 0) return error;
        }
    return 0;
}

/* Merge every second core into the one before it. CPU seconds, or the core's error; *nbytes: of all messages. */
double merge_row(const struct core_functions *f, st_core **cores, size_t ncores, uint64_t *nbytes) {
    double began = cpu_s();
    *nbytes = 0;
    for (size_t i = 0; i + 1 < ncores; i += 2) {
        void *bytes;
        size_t n;
        int error = f->pack(cores[i + 1], &bytes, &n);
        if (error < 0) return error;
        error = f->merge(cores[i], bytes, n);
        f->free(bytes);
        if (error < 0) return error;
        *nbytes += n;
    }
    return cpu_s() - began;
}
