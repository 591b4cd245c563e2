/* plugins.c - stat plug-ins: samples of something else than time, taken where times are taken (section 5.2.5).
 *
 * Windows are nested: what starts first ends last. The plug-ins come in the order of what they cost, Python classes first,
 * so that the cheap ones measure the least of the others.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "plugins.h"

#define ENTRY 5000 /* bytes of the longest description of a plug-in that ranks can agree on */

struct st_plug_thread {
    bool started; /* the windows before the next call have begun */
    bool usable[ST_MAX_PLUGS];
    void *states[ST_MAX_PLUGS];
    double carried[ST_MAX_STATS]; /* samples of polls since the last event, NaN: none */
};

static struct st_plug plugs[ST_MAX_PLUGS];
static int nplugs;
static pthread_key_t thread_key;

/* -- threads --------------------------------------------------------------------------------------------- */

static bool callable(const struct st_plug *plug) {
    return plug->plugin && !__atomic_load_n(&plug->off, __ATOMIC_RELAXED) && (!plug->python || st_python_thread());
}

static void close_thread(void *own) {
    struct st_plug_thread *thread = own;
    st_thread.plugs = NULL;
    for (int i = 0; i < nplugs; i++)
        if (thread->usable[i] && plugs[i].plugin->close && callable(&plugs[i]))
            plugs[i].plugin->close(thread->states[i]);
    free(thread);
}

/* NULL: out of memory; this thread has no samples. */
static struct st_plug_thread *this_thread(void) {
    struct st_plug_thread *thread = st_thread.plugs;
    if (__builtin_expect(thread != NULL, 1)) return thread;
    thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    for (int i = 0; i < ST_MAX_STATS; i++) thread->carried[i] = NAN;
    for (int i = 0; i < nplugs; i++) {
        thread->states[i] = plugs[i].python ? &plugs[i] : NULL;
        thread->usable[i] =
            callable(&plugs[i]) && (!plugs[i].plugin->open || plugs[i].plugin->open(&thread->states[i]) == 0);
    }
    st_thread.plugs = thread;
    pthread_setspecific(thread_key, thread);
    return thread;
}

/* -- windows --------------------------------------------------------------------------------------------- */

static struct st_plugin_call about(const struct st_call *call, enum st_plugin_window window) {
    return (struct st_plugin_call){
        .operation = call ? st_ops[call->op].name : "",
        .caller = call ? call->caller : NULL,
        .window = window,
        .rank = st_shared.rank,
        .nprocs = st_shared.nprocs,
    };
}

static void start(const struct st_plug_thread *thread, int i, const struct st_plugin_call *info) {
    if (!thread->usable[i] || !plugs[i].plugin->start || !callable(&plugs[i])) return;
    plugs[i].plugin->start(thread->states[i], info);
}

static double end(const struct st_plug_thread *thread, int i, const struct st_plugin_call *info) {
    if (!thread->usable[i] || !callable(&plugs[i])) return NAN;
    double sample = plugs[i].plugin->end(thread->states[i], info);
    return isfinite(sample) ? sample : NAN;
}

static void no_samples(struct st_event *event) {
    for (int i = ST_STAT_POLLS + 1; i < ST_MAX_STATS; i++) event->stats[i] = NAN;
}

void st_plugins_enter(struct st_call *call, int op) {
    struct st_plug_thread *thread = this_thread();
    call->op = op;
    no_samples(&call->event);
    if (!thread) return;
    struct st_plugin_call info = about(call, ST_BEFORE_CALL);
    for (int i = nplugs; i-- > 0;)
        if (plugs[i].before >= 0 && thread->started) call->event.stats[plugs[i].before] = end(thread, i, &info);
    info.window = ST_IN_CALL;
    for (int i = 0; i < nplugs; i++)
        if (plugs[i].inside >= 0) start(thread, i, &info);
    int64_t now = st_now();
    if (st_thread.last_exit) st_thread.last_exit += now - call->t0; /* the computation stays as long as it was */
    call->t0 = now;
}

void st_plugins_leave(struct st_call *call) {
    struct st_plug_thread *thread = st_thread.plugs;
    if (!thread) return;
    struct st_plugin_call info = about(call, ST_IN_CALL);
    for (int i = nplugs; i-- > 0;)
        if (plugs[i].inside >= 0) call->event.stats[plugs[i].inside] = end(thread, i, &info);
}

void st_plugins_exit(const struct st_call *call) {
    struct st_plug_thread *thread = this_thread();
    if (!thread) return;
    int depth = st_thread.depth;
    st_thread.depth = 1;
    struct st_plugin_call info = about(call && call->on ? call : NULL, ST_BEFORE_CALL);
    for (int i = 0; i < nplugs; i++)
        if (plugs[i].before >= 0) start(thread, i, &info);
    if (!call)
        for (int i = 0; i < ST_MAX_STATS; i++) thread->carried[i] = NAN;
    thread->started = true;
    st_thread.depth = depth;
}

/* -- several windows for one event ----------------------------------------------------------------------- */

static void combine(const struct st_plug *plug, double *first, double second) {
    if (isnan(*first) || (plug->plugin->flags & ST_PLUGIN_LEVEL && !isnan(second)))
        *first = second;
    else if (!isnan(second))
        *first += second;
}

void st_plugins_poll(const struct st_call *call) {
    struct st_plug_thread *thread = st_thread.plugs;
    for (int i = 0; thread && i < nplugs; i++) {
        const int stats[] = {plugs[i].before, plugs[i].inside};
        for (int k = 0; k < 2; k++)
            if (stats[k] >= 0) combine(&plugs[i], &thread->carried[stats[k]], call->event.stats[stats[k]]);
    }
}

/* A call that is not recorded is part of the computation before the next one that is. */
void st_plugins_skip(const struct st_call *call) {
    struct st_plug_thread *thread = st_thread.plugs;
    for (int i = 0; thread && i < nplugs; i++) {
        if (plugs[i].before < 0) continue;
        double *carried = &thread->carried[plugs[i].before];
        combine(&plugs[i], carried, call->event.stats[plugs[i].before]);
        if (plugs[i].inside >= 0) combine(&plugs[i], carried, call->event.stats[plugs[i].inside]);
    }
}

/* What was measured inside polls is nobody's where no poll succeeded: they are no computation. */
void st_plugins_settle(struct st_call *call, bool poll) {
    struct st_plug_thread *thread = st_thread.plugs;
    for (int i = 0; thread && i < nplugs; i++) {
        const int stats[] = {plugs[i].before, plugs[i].inside};
        for (int k = 0; k < 2; k++) {
            if (stats[k] < 0) continue;
            double *carried = &thread->carried[stats[k]], *sample = &call->event.stats[stats[k]];
            if (k == 0 || poll) {
                combine(&plugs[i], carried, *sample);
                *sample = *carried;
            }
            *carried = NAN;
        }
    }
}

void st_plugins_join(struct st_event *event, const struct st_event *more) {
    for (int i = 0; i < nplugs; i++) {
        const int stats[] = {plugs[i].before, plugs[i].inside};
        for (int k = 0; k < 2; k++)
            if (stats[k] >= 0) combine(&plugs[i], &event->stats[stats[k]], more->stats[stats[k]]);
    }
}

/* -- start and stop -------------------------------------------------------------------------------------- */

/* What ranks must know of a plug-in that they cannot use themselves. */
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

/* Stats have one number on all ranks; a level is not something to add up, which readers of the trace must know. */
static void define_stats(struct st_plug *own, const struct facts *facts, char *levels) {
    int before = define(facts, ST_BEFORE_CALL), inside = define(facts, ST_IN_CALL);
    if (own) own->before = before, own->inside = inside;
    if (before >= 0 || inside >= 0) st_shared.plugs = true;
    if (!(facts->flags & ST_PLUGIN_LEVEL)) return;
    if (*levels) strcat(levels, " ");
    strcat(levels, facts->name);
}

static struct st_plug *find(const char *entry) {
    for (int i = 0; i < nplugs; i++)
        if (!strcmp(plugs[i].entry, entry)) return &plugs[i];
    return NULL;
}

/* One round for each plug-in that some rank was asked for: programs started together may have been asked for different ones,
 * and a plug-in may be usable on some ranks only. It is a stat if any rank can use it; of those that cannot, the
 * lowest says why. */
static void agree(void) {
    MPI_Comm comm = st_shared.private_comm;
    char entry[ENTRY], levels[ST_MAX_PLUGS * ST_STAT_NAME] = "";
    for (int rounds = 0; rounds < 4 * ST_MAX_PLUGS; rounds++) {
        int next = 0, mine = st_shared.nprocs, first = st_shared.nprocs;
        while (next < nplugs && plugs[next].settled) next++;
        if (next < nplugs) mine = st_shared.rank;
        PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
        if (first == st_shared.nprocs) break;
        memset(entry, 0, sizeof entry);
        if (first == st_shared.rank) strcpy(entry, plugs[next].entry);
        PMPI_Bcast(entry, ENTRY, MPI_CHAR, first, comm);
        struct st_plug *own = find(entry);
        int none = st_shared.nprocs, who[2] = {none, none}, lowest[2] = {none, none};
        if (own) {
            own->settled = true;
            who[own->plugin ? 0 : 1] = st_shared.rank;
        }
        PMPI_Allreduce(who, lowest, 2, MPI_INT, MPI_MIN, comm);
        if (lowest[1] == st_shared.rank) st_tell("the stat %s is not measured: %s", own->name, own->why);
        if (lowest[0] == none) continue;
        struct facts facts = {.windows = 0};
        if (lowest[0] == st_shared.rank) {
            facts = (struct facts){
                .resolution = own->plugin->resolution, .windows = own->windows, .flags = own->plugin->flags};
            strcpy(facts.name, own->name);
        }
        PMPI_Bcast(&facts, sizeof facts, MPI_BYTE, lowest[0], comm);
        if (strlen(levels) + strlen(facts.name) + 2 < sizeof levels) define_stats(own, &facts, levels);
    }
    if (*levels) st_core_check(st_set_meta(st_shared.core, "levels", levels));
}

void st_plugins_start(void) {
    nplugs = st_plugins_load(plugs, ST_MAX_PLUGS);
    for (int i = 0; i < nplugs; i++) {
        plugs[i].before = plugs[i].inside = -1;
        if (strlen(plugs[i].entry) < ENTRY) continue;
        st_tell("the stat %s is not measured: its path is too long", plugs[i].name);
        plugs[i].settled = true;
    }
    pthread_key_create(&thread_key, close_thread);
    const struct st_plug_thread *thread = nplugs ? this_thread() : NULL;
    for (int i = 0; i < nplugs; i++)
        if (!thread || !thread->usable[i]) plugs[i].plugin = NULL;
    agree();
}

void st_plugins_stop(void) {
    st_shared.plugs = false;
    if (!st_thread.plugs) return;
    pthread_setspecific(thread_key, NULL);
    close_thread(st_thread.plugs);
}
