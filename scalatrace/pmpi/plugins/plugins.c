/* plugins.c - the windows of stat plug-ins, and the agreement of all ranks on them.
 *
 * The plug-ins are in the order of their cost, Python classes first: the cheap ones start last and end first, so they
 * measure least of the others.
 */
#include "plugins/plugins.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/state.h"
#include "events/call.h"
#include "events/events.h"
#include "plugins/plugin_kinds.h"
#include "stacks/gil.h"
#include "stacks/stack_python.h"

#define MAX_SPEC 5000 /* bytes of an entry of SCALATRACE_STATS that ranks can agree on */

/* A thread's states of the plug-ins, by their index in `plugins`. */
struct st_plugin_thread {
    bool started;                /* have the windows before the next call begun? */
    bool usable[ST_MAX_PLUGINS]; /* did open() succeed? */
    void *states[ST_MAX_PLUGINS];
    double carried[ST_MAX_STATS]; /* samples since the last event that the next one gets, by stat; NaN: none */
};

static struct st_plugin_entry plugins[ST_MAX_PLUGINS];
static int nplugins;
static pthread_key_t thread_key;

/* -- threads --------------------------------------------------------------------------------------------- */

/* Can the plug-in be called in this thread now? */
static bool callable(const struct st_plugin_entry *entry) {
    return entry->plugin && !__atomic_load_n(&entry->off, __ATOMIC_RELAXED) &&
           (!entry->python || (st_python_thread() && st_gil_free()));
}

static void close_thread(void *own) {
    struct st_plugin_thread *thread = own;
    st_thread.plugins = NULL;
    for (int i = 0; i < nplugins; i++)
        if (thread->usable[i] && plugins[i].plugin->close && callable(&plugins[i]))
            plugins[i].plugin->close(thread->states[i]);
    free(thread);
}

/* This thread's states, made when it first needs them. NULL: out of memory, the thread has no samples. */
static struct st_plugin_thread *this_thread(void) {
    struct st_plugin_thread *thread = st_thread.plugins;
    if (__builtin_expect(thread != NULL, 1)) return thread;
    thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    for (int i = 0; i < ST_MAX_STATS; i++) thread->carried[i] = NAN;
    for (int i = 0; i < nplugins; i++) {
        thread->states[i] = plugins[i].python ? &plugins[i] : NULL;
        thread->usable[i] =
            callable(&plugins[i]) && (!plugins[i].plugin->open || plugins[i].plugin->open(&thread->states[i]) == 0);
    }
    st_thread.plugins = thread;
    pthread_setspecific(thread_key, thread);
    return thread;
}

/* -- windows --------------------------------------------------------------------------------------------- */

static struct st_plugin_call info_of(const struct st_call *call, enum st_plugin_window window) {
    return (struct st_plugin_call){
        .operation = call ? st_ops[call->op].name : "",
        .caller = call ? call->caller : NULL,
        .window = window,
        .rank = st_shared.rank,
        .nprocs = st_shared.nprocs,
    };
}

static void start(const struct st_plugin_thread *thread, int i, const struct st_plugin_call *info) {
    if (!thread->usable[i] || !plugins[i].plugin->start || !callable(&plugins[i])) return;
    plugins[i].plugin->start(thread->states[i], info);
}

static double end(const struct st_plugin_thread *thread, int i, const struct st_plugin_call *info) {
    if (!thread->usable[i] || !callable(&plugins[i])) return NAN;
    double sample = plugins[i].plugin->end(thread->states[i], info);
    return isfinite(sample) ? sample : NAN;
}

static void no_samples(struct st_event *event) {
    for (int i = ST_STAT_POLLS + 1; i < ST_MAX_STATS; i++) event->stats[i] = NAN;
}

void st_plugins_enter(struct st_call *call, int op) {
    struct st_plugin_thread *thread = this_thread();
    call->op = op;
    no_samples(&call->event);
    if (!thread) return;
    struct st_plugin_call info = info_of(call, ST_BEFORE_CALL);
    for (int i = nplugins; i-- > 0;)
        if (plugins[i].before >= 0 && thread->started) call->event.stats[plugins[i].before] = end(thread, i, &info);
    info.window = ST_IN_CALL;
    for (int i = 0; i < nplugins; i++)
        if (plugins[i].inside >= 0) start(thread, i, &info);
    int64_t now = st_now();
    if (st_thread.last_exit) st_thread.last_exit += now - call->t0; /* the time before the call is unchanged */
    call->t0 = now;
}

void st_plugins_leave(struct st_call *call) {
    struct st_plugin_thread *thread = st_thread.plugins;
    if (!thread) return;
    struct st_plugin_call info = info_of(call, ST_IN_CALL);
    for (int i = nplugins; i-- > 0;)
        if (plugins[i].inside >= 0) call->event.stats[plugins[i].inside] = end(thread, i, &info);
}

void st_plugins_exit(const struct st_call *call) {
    struct st_plugin_thread *thread = this_thread();
    if (!thread) return;
    int depth = st_thread.depth;
    st_thread.depth = 1;
    struct st_plugin_call info = info_of(call && call->on ? call : NULL, ST_BEFORE_CALL);
    for (int i = 0; i < nplugins; i++)
        if (plugins[i].before >= 0) start(thread, i, &info);
    if (!call)
        for (int i = 0; i < ST_MAX_STATS; i++) thread->carried[i] = NAN;
    thread->started = true;
    st_thread.depth = depth;
}

/* -- several windows for one event ----------------------------------------------------------------------- */

/* Combine the samples of two windows of one event: levels give the last one, amounts their sum. */
static void combine(const struct st_plugin_entry *entry, double *first, double second) {
    if (isnan(*first) || (entry->plugin->flags & ST_PLUGIN_LEVEL && !isnan(second)))
        *first = second;
    else if (!isnan(second))
        *first += second;
}

void st_plugins_poll(const struct st_call *call) {
    struct st_plugin_thread *thread = st_thread.plugins;
    for (int i = 0; thread && i < nplugins; i++) {
        const int stats[] = {plugins[i].before, plugins[i].inside};
        for (int k = 0; k < 2; k++)
            if (stats[k] >= 0) combine(&plugins[i], &thread->carried[stats[k]], call->event.stats[stats[k]]);
    }
}

void st_plugins_skip(const struct st_call *call) {
    struct st_plugin_thread *thread = st_thread.plugins;
    for (int i = 0; thread && i < nplugins; i++) {
        if (plugins[i].before < 0) continue;
        double *carried = &thread->carried[plugins[i].before];
        combine(&plugins[i], carried, call->event.stats[plugins[i].before]);
        if (plugins[i].inside >= 0) combine(&plugins[i], carried, call->event.stats[plugins[i].inside]);
    }
}

void st_plugins_complete(struct st_call *call, bool poll) {
    struct st_plugin_thread *thread = st_thread.plugins;
    for (int i = 0; thread && i < nplugins; i++) {
        const int stats[] = {plugins[i].before, plugins[i].inside};
        for (int k = 0; k < 2; k++) {
            if (stats[k] < 0) continue;
            double *carried = &thread->carried[stats[k]], *sample = &call->event.stats[stats[k]];
            if (k == 0 || poll) {
                combine(&plugins[i], carried, *sample);
                *sample = *carried;
            }
            *carried = NAN;
        }
    }
}

void st_plugins_join(struct st_event *event, const struct st_event *more) {
    for (int i = 0; i < nplugins; i++) {
        const int stats[] = {plugins[i].before, plugins[i].inside};
        for (int k = 0; k < 2; k++)
            if (stats[k] >= 0) combine(&plugins[i], &event->stats[stats[k]], more->stats[stats[k]]);
    }
}

/* -- start and stop -------------------------------------------------------------------------------------- */

/* What a rank that cannot use a plug-in must know of it. */
struct facts {
    char name[ST_STAT_NAME];
    double resolution;
    unsigned windows, flags;
};

static int define(const struct facts *facts, enum st_plugin_window window) {
    char name[ST_STAT_NAME + sizeof ST_STAT_SUFFIX];
    if (!(facts->windows & window)) return -1;
    strcpy(name, facts->name);
    if (window == ST_IN_CALL) strcat(name, ST_STAT_SUFFIX);
    int number = st_define_stat(st_shared.core, name, facts->resolution);
    st_core_check(number);
    return number;
}

/* Define the stats of a plug-in, which have the same numbers on all ranks. Readers of the trace must know which stats
 * are levels, since these cannot be added up: `levels` collects their names. */
static void define_stats(struct st_plugin_entry *own, const struct facts *facts, char *levels) {
    int before = define(facts, ST_BEFORE_CALL), inside = define(facts, ST_IN_CALL);
    if (own) own->before = before, own->inside = inside;
    if (before >= 0 || inside >= 0) st_shared.plugins_active = true;
    if (!(facts->flags & ST_PLUGIN_LEVEL)) return;
    if (*levels) strcat(levels, " ");
    strcat(levels, facts->name);
}

static struct st_plugin_entry *find(const char *spec) {
    for (int i = 0; i < nplugins; i++)
        if (!strcmp(plugins[i].spec, spec)) return &plugins[i];
    return NULL;
}

/* The minimum of each number over all ranks; before MPI_Init, a world of sessions, this rank's. */
static void find_lowest(const int *own, int *lowest, int n) {
    memcpy(lowest, own, (size_t)n * sizeof *own);
    if (st_shared.private_comm != MPI_COMM_NULL)
        PMPI_Allreduce(own, lowest, n, MPI_INT, MPI_MIN, st_shared.private_comm);
}

static void spread(void *bytes, int n, int from) {
    if (st_shared.private_comm != MPI_COMM_NULL) PMPI_Bcast(bytes, n, MPI_BYTE, from, st_shared.private_comm);
}

/* Agree on the plug-ins, in one round for each. Programs started together may have been asked for different plug-ins,
 * and a plug-in may be usable on some ranks only. It becomes a stat if any rank can use it; of the ranks that cannot,
 * the lowest one prints the reason. */
static void agree(void) {
    char spec[MAX_SPEC], levels[ST_MAX_PLUGINS * ST_STAT_NAME] = "";
    for (int rounds = 0; rounds < 4 * ST_MAX_PLUGINS; rounds++) {
        int next = 0, candidate = st_shared.nprocs, first = st_shared.nprocs;
        while (next < nplugins && plugins[next].agreed) next++;
        if (next < nplugins) candidate = st_shared.rank;
        find_lowest(&candidate, &first, 1);
        if (first == st_shared.nprocs) break;
        memset(spec, 0, sizeof spec);
        if (first == st_shared.rank) strcpy(spec, plugins[next].spec);
        spread(spec, MAX_SPEC, first);
        struct st_plugin_entry *own = find(spec);
        int none = st_shared.nprocs, self[2] = {none, none}; /* this rank if it can use it, if it cannot */
        int lowest[2] = {none, none};
        if (own) {
            own->agreed = true;
            self[own->plugin ? 0 : 1] = st_shared.rank;
        }
        find_lowest(self, lowest, 2);
        if (lowest[1] == st_shared.rank) st_warn("the stat %s is not measured: %s", own->name, own->why);
        if (lowest[0] == none) continue;
        struct facts facts = {.windows = 0};
        if (lowest[0] == st_shared.rank) {
            facts = (struct facts){
                .resolution = own->plugin->resolution, .windows = own->windows, .flags = own->plugin->flags};
            strcpy(facts.name, own->name);
        }
        spread(&facts, sizeof facts, lowest[0]);
        if (strlen(levels) + strlen(facts.name) + 2 < sizeof levels) define_stats(own, &facts, levels);
    }
    if (*levels) st_core_check(st_set_meta(st_shared.core, "levels", levels));
}

void st_plugins_start(void) {
    nplugins = st_plugins_load(plugins, ST_MAX_PLUGINS);
    for (int i = 0; i < nplugins; i++) {
        plugins[i].before = plugins[i].inside = -1;
        if (strlen(plugins[i].spec) < MAX_SPEC) continue;
        st_warn("the stat %s is not measured: its path is too long", plugins[i].name);
        plugins[i].agreed = true;
    }
    pthread_key_create(&thread_key, close_thread);
    const struct st_plugin_thread *thread = nplugins ? this_thread() : NULL;
    for (int i = 0; i < nplugins; i++)
        if (!thread || !thread->usable[i]) plugins[i].plugin = NULL;
    agree();
}

void st_plugins_stop(void) {
    st_shared.plugins_active = false;
    if (!st_thread.plugins) return;
    pthread_setspecific(thread_key, NULL);
    close_thread(st_thread.plugins);
}
