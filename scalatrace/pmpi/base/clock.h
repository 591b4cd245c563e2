/* clock.h - the clock of all recorded times: nanoseconds since an arbitrary moment, monotonic within a process.
 *
 * Every recorded call reads the clock three times (entry, return, exit of the tracer). Where the kernel itself derives
 * its time from the processor's counter, st_now() reads that counter directly; this takes a third of the time of
 * clock_gettime.
 */
#ifndef ST_CLOCK_H
#define ST_CLOCK_H

#include <stdint.h>

struct st_clock {
    uint64_t scale;     /* nanoseconds per counter tick, times 2^32; 0: use clock_gettime */
    uint64_t base;      /* counter value that st_now() counts from */
    int64_t reading_ns; /* what one reading costs: between any two, this is not the program's or MPI's time */
};
extern struct st_clock st_clock;

/* Calibrate the counter, which takes 2 ms, and measure `reading_ns`. Leaves `scale` at 0 where the kernel does not use the
 * counter. */
void st_clock_start(void);

/* The time by clock_gettime. */
int64_t st_clock_slow(void);

/* The time now, in ns. */
static inline int64_t st_now(void) {
#if defined(__x86_64__)
    if (__builtin_expect(st_clock.scale != 0, 1))
        return (int64_t)(((unsigned __int128)(__builtin_ia32_rdtsc() - st_clock.base) * st_clock.scale) >> 32);
#endif
    return st_clock_slow();
}

/* The time between two readings, without what a reading costs. */
static inline int64_t st_between(int64_t start, int64_t end) { return end - start - st_clock.reading_ns; }

#endif
