/* Template of a statistic in C: copy it, rename it, and measure a quantity of your own.
 *
 *     cc -O2 -shared -fPIC -I"$(scalatrace doctor --include)" -o libfaults.so samples/plugins/stat_template.c
 *     mpiexec -n 4 scalatrace record --stat ./libfaults.so -o a.st -- python samples/ring.py
 *     scalatrace stats a.st --by site
 *
 * Expect a statistic `page_faults` with one sample per MPI call. st_plugin.h documents the interface.
 */
#define _GNU_SOURCE
#include <st_plugin.h>
#include <stdlib.h>
#include <sys/resource.h>

/* The state of one thread: each thread that calls MPI has its own, so nothing here needs a lock. */
struct state {
    long before;
};

static long page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

/* Create a thread's state; not 0: this thread has no samples. */
static int open_thread(void **state) { return (*state = calloc(1, sizeof(struct state))) ? 0 : -1; }

/* A window begins: a computation, or with `:call` an MPI call. */
static void start(void *state, const struct st_plugin_call *call) {
    (void)call; /* its operation, caller, window and rank */
    ((struct state *)state)->before = page_faults();
}

/* The window ends: return its sample, or NAN for none. */
static double end(void *state, const struct st_plugin_call *call) {
    (void)call;
    return (double)(page_faults() - ((struct state *)state)->before);
}

ST_PLUGIN = {
    .version = ST_PLUGIN_VERSION,
    .flags = 0,            /* ST_PLUGIN_LEVEL for levels such as memory in use, which have no sum */
    .name = "page_faults", /* in the trace, with the unit last */
    .resolution = 1,       /* samples are kept as multiples of it */
    .open = open_thread,
    .start = start,
    .end = end,
    .close = free,
};
