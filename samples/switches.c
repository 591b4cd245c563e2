/* A stat plug-in in C: how often the thread gave up its processor of its own accord (waited for something).
 *
 *     cc -O2 -shared -fPIC -I"$(scalatrace doctor --include)" -o libswitches.so samples/switches.c
 *     mpiexec -n 4 scalatrace record -o a.st --stat ./libswitches.so:both -- python samples/ring.py
 *     scalatrace stats a.st
 *
 * Expect numbers in "switches.call" where ranks sleep while they wait for each other (how many is up to the MPI), and few in
 * "switches", the computation between the calls. Barriers are left out, to show how: NaN is no sample.
 */
#define _GNU_SOURCE
#include <math.h>
#include <st_plugin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static long switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* Each thread has its own number to start from. */
static int open_thread(void **state) { return (*state = calloc(1, sizeof(long))) ? 0 : -1; }

static void start(void *state, const struct st_plugin_call *call) {
    (void)call;
    *(long *)state = switches();
}

static double end(void *state, const struct st_plugin_call *call) {
    if (!strcmp(call->operation, "Barrier")) return NAN;
    return (double)(switches() - *(long *)state);
}

ST_PLUGIN = {
    .version = ST_PLUGIN_VERSION,
    .name = "switches",
    .resolution = 1,
    .open = open_thread,
    .start = start,
    .end = end,
    .close = free,
};
