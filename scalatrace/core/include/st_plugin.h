/* st_plugin.h - measure something else than time: the interface of a plug-in in C (dissertation, section 5.2.5).
 *
 *     computation        MPI call         computation
 *   start ........ end start .... end start ......... end
 *   \ ST_BEFORE_CALL / \ST_IN_CALL/ \ ST_BEFORE_CALL ... /
 *
 * A plug-in is a shared library that exports one `struct st_plugin` called `st_plugin`:
 *
 *     #include <st_plugin.h>
 *     static double end(void *state, const struct st_plugin_call *call) { ... }
 *     ST_PLUGIN = {.version = ST_PLUGIN_VERSION, .name = "my_count", .resolution = 1, .start = start, .end = end};
 *
 *     cc -shared -fPIC -I"$(scalatrace doctor --include)" -o libmine.so mine.c
 *     mpiexec -n 4 scalatrace record --stat ./libmine.so -- ./program
 *
 * What `end` returns is one sample of the call's event: it goes into histograms per event and predecessor, as times
 * do. The plug-in's own time belongs to neither computation nor communication.
 *
 * Threads: each thread that calls MPI has a state of its own, made by `open` in that thread; a state is used by its
 * thread alone. Only what a plug-in keeps outside of its state it must guard itself. MPI calls that a plug-in makes
 * are not recorded; it should make none that communicate.
 */
#ifndef ST_PLUGIN_H
#define ST_PLUGIN_H

#ifdef __cplusplus
extern "C" {
#endif

#define ST_PLUGIN_VERSION 1

/* Samples are levels (memory in use), not amounts (bytes allocated). Several windows of one event, as of polls that
 * answered "not yet" and the one that succeeds, give the last level or the sum of the amounts. */
#define ST_PLUGIN_LEVEL 1u

enum st_plugin_window {
    ST_BEFORE_CALL = 1, /* the computation before a call: --stat NAME */
    ST_IN_CALL = 2      /* inside the call: --stat NAME:call, a stat called "name.call" */
};

/* What is known of the call at hand. */
struct st_plugin_call {
    const char
        *operation; /* "Send", "Allreduce", ...; for start() of ST_BEFORE_CALL the call that has just returned, or "" */
    const void *caller; /* address in the program that the call returns to; NULL as operation is "" */
    enum st_plugin_window window;
    int rank, nprocs; /* in MPI_COMM_WORLD */
};

struct st_plugin {
    int version;       /* ST_PLUGIN_VERSION */
    unsigned flags;    /* ST_PLUGIN_LEVEL or 0 */
    const char *name;  /* of the stat in the trace, unit last: "cpu_ns", "memory_bytes"; at most 55 characters */
    double resolution; /* samples are kept as multiples of it; 1 for counts and ns */
    /* Make this thread's state (optional). 0, or not 0 and this thread has no samples: nothing else is called for
     * it. */
    int (*open)(void **state);
    /* A window begins. Again without `end`: the window before was given up. Optional. */
    void (*start)(void *state, const struct st_plugin_call *call);
    /* A window ends: its sample; NaN: none for this call. */
    double (*end)(void *state, const struct st_plugin_call *call);
    /* The thread or the recording ends (optional). */
    void (*close)(void *state);
};

#ifdef __cplusplus
}
#define ST_PLUGIN extern "C" __attribute__((visibility("default"))) const struct st_plugin st_plugin
#else
#define ST_PLUGIN __attribute__((visibility("default"))) const struct st_plugin st_plugin
#endif
#endif
