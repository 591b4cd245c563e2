/* feed.c - gives a rank's calls to the core once more, as the wrappers did, and takes the time.
 *
 *     feed(core, append, array, kinds, calls, times, ncalls, lists, nlists, integers, ns)
 *
 * calls[i] is the index in `kinds` of the event to append, times[2 i] and the next its statistics. An event is put together on
 * the stack, as in a wrapper, and its lists of integers (requests, counts) are named anew.
 * ns[0], ns[1]: CPU per call of the first and of the second half. Returns the core's error, else 0.
 */
#include "st_core.h"

#include <stddef.h>
#include <time.h>

/* A list of integers among the values of a call. */
struct list {
    uint64_t call;     /* number of the call, from 0; lists come in the order of calls */
    uint64_t slot;     /* index of the value */
    uint64_t integers; /* where its integers begin */
    uint64_t length;
};

typedef int append_function(st_core *core, const struct st_event *event);
typedef uint64_t array_function(st_core *core, const int64_t *values, size_t n);

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int feed(st_core *core, append_function *append, array_function *array, const struct st_event *kinds,
         const uint32_t *calls, const double *times, size_t ncalls, const struct list *lists, size_t nlists,
         const int64_t *integers, double *ns) {
    size_t next = 0, i = 0;
    for (int half = 0; half < 2; half++) {
        size_t from = i, to = half ? ncalls : ncalls / 2;
        double began = cpu_ns();
        for (; i < to; i++) {
            struct st_event event = kinds[calls[i]];
            event.stats[0] = times[2 * i];
            event.stats[1] = times[2 * i + 1];
            for (; next < nlists && lists[next].call == i; next++)
                event.values[lists[next].slot] =
                    (int64_t)array(core, integers + lists[next].integers, lists[next].length);
            int error = append(core, &event);
            if (error < 0) return error;
        }
        ns[half] = to > from ? (cpu_ns() - began) / (double)(to - from) : 0;
    }
    return 0;
}
