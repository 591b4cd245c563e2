/* selection.c - the conditions of a selection, and their test for one call. */
#include "events/selection.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/options.h"
#include "base/state.h"
#include "events/comms.h"
#include "events/events.h"
#include "ops.h"

struct st_selection st_selection;

/* A time window, counted from the end of MPI_Init. */
struct window {
    int64_t from_ns, to_ns;
};

/* A range of lines (offsets) of a file: --only-site or --except-site. */
struct site {
    char *file; /* end of the file's path, or a module's name */
    uint64_t low, high;
    bool excluded;
};

static bool selected_ops[ST_NOPS];
static struct window *windows;
static struct site *sites;
static char **patterns; /* of names or kinds of communicators */
static int nwindows, nsites, npatterns;
static bool has_only_sites; /* a call site in none of the ranges is skipped */
static int64_t start_ns;
static struct st_map site_of; /* stack signature -> 1: skipped, 0: recorded */

/* -- reading the conditions ------------------------------------------------------------------------------ */

/* Reallocate an array of n elements for one more; NULL: out of memory. */
static void *grow(void *array, int n, size_t size) {
    void *bigger = realloc(array, (size_t)(n + 1) * size);
    if (bigger) return bigger;
    st_warn_once("out of memory; the selection is not complete");
    return NULL;
}

static void add_op(const char *name) {
    for (int op = 0; op < ST_NOPS; op++)
        if (!strcmp(st_ops[op].name, name)) selected_ops[op] = true;
}

/* "from-to" or "from-", in ns. */
static void add_window(const char *text) {
    struct window *bigger = grow(windows, nwindows, sizeof *windows);
    if (!bigger) return;
    char *end;
    windows = bigger;
    windows[nwindows].from_ns = strtoll(text, &end, 10);
    windows[nwindows++].to_ns = *end == '-' ? strtoll(end + 1, NULL, 10) : INT64_MAX;
    st_selection.by_window = true;
}

static void add_pattern(const char *text) {
    char **bigger = grow(patterns, npatterns, sizeof *patterns), *copy = strdup(text);
    if (bigger) patterns = bigger;
    if (!bigger || !copy) {
        free(copy);
        return;
    }
    patterns[npatterns++] = copy;
    st_selection.by_comm = true;
}

static void add_condition(const char *value, const char *kind) {
    st_selection.active = true;
    if (!strcmp(kind, "op"))
        add_op(value);
    else if (!strcmp(kind, "by_op"))
        st_selection.by_op = true;
    else if (!strcmp(kind, "window"))
        add_window(value);
    else if (!strcmp(kind, "comm"))
        add_pattern(value);
    else if (!strcmp(kind, "min_bytes"))
        st_selection.by_size = true, st_selection.min_bytes = atoll(value);
    else if (!strcmp(kind, "max_bytes"))
        st_selection.by_size = true, st_selection.max_bytes = atoll(value);
}

static void add_site(const char *file, const char *lines, bool excluded) {
    struct site *bigger = grow(sites, nsites, sizeof *sites);
    char *copy = strdup(file), *end;
    if (bigger) sites = bigger;
    if (!bigger || !copy) {
        free(copy);
        return;
    }
    uint64_t low = strtoull(lines, &end, 0), high = *end == '-' ? strtoull(end + 1, NULL, 0) : low;
    sites[nsites++] = (struct site){.file = copy, .low = low, .high = high, .excluded = excluded};
    st_selection.active = st_selection.by_site = true;
}

static void add_only_site(const char *file, const char *lines) {
    has_only_sites = true;
    add_site(file, lines, false);
}
static void add_except_site(const char *file, const char *lines) { add_site(file, lines, true); }

void st_selection_start(void) {
    st_selection.max_bytes = INT64_MAX;
    st_option_each("SCALATRACE_SELECTION", add_condition);
    st_option_each("SCALATRACE_ONLY_SITES", add_only_site);
    st_option_each("SCALATRACE_EXCEPT_SITES", add_except_site);
}

void st_selection_set_start(int64_t now) { start_ns = now; }

/* -- one call -------------------------------------------------------------------------------------------- */

void st_count_skipped(int op) {
    bool by_user = st_selection.by_op || st_selection.by_window || st_selection.by_comm || st_selection.by_size ||
                   st_selection.by_site;
    bool paused = st_shared.paused || !by_user;
    st_count(op);
    __atomic_fetch_add(paused ? &st_selection.npaused : &st_selection.nskipped, 1, __ATOMIC_RELAXED);
}

void st_skip(struct st_call *call) {
    if (!call->on) return;
    call->on = false;
    call->skipped = true;
    st_count_skipped((int)call->event.op);
}

static bool in_a_window(int64_t now) {
    int64_t since = now - start_ns;
    for (int i = 0; i < nwindows; i++)
        if (since >= windows[i].from_ns && since < windows[i].to_ns) return true;
    return false;
}

void st_select_early(struct st_call *call, int op) {
    call->event.op = (uint32_t)op;
    if (st_ops[op].role != ST_SELECTABLE) return;
    if (st_selection.by_op && !selected_ops[op]) st_skip(call);
    if (st_selection.by_window && !in_a_window(call->t0)) st_skip(call);
    if (st_shared.paused && !st_ops[op].lasting) st_skip(call);
}

/* A program may name a communicator at any time, often after using it. So the name is read for each call; the patterns
 * are matched again only when its hash has changed. The hash is odd, since 0 means: never checked. */
bool st_comm_selected(struct st_comm *info, MPI_Comm comm) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int n = 0;
    if (!info->kind || comm == MPI_COMM_NULL) return false;
    PMPI_Comm_get_name(comm, name, &n);
    uint64_t hash = st_hash_text(name) | 1;
    if (info->selected_name == hash) return info->selected;
    info->selected = false;
    for (int i = 0; i < npatterns && !info->selected; i++)
        info->selected = !fnmatch(patterns[i], info->kind, 0) || !fnmatch(patterns[i], name, 0);
    info->selected_name = hash;
    return info->selected;
}

void st_select_comm(struct st_call *call, MPI_Comm comm) {
    if (!st_lock()) return;
    if (!st_comm_selected(st_comm_of(comm), comm)) st_skip(call);
    st_unlock();
}

int64_t st_transfer_bytes(int64_t count, MPI_Datatype type) {
    MPI_Count size = 0;
    if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
    PMPI_Type_size_x(type, &size);
    return size > 0 ? count * (int64_t)size : 0;
}

void st_select_size(struct st_call *call, int64_t nbytes) {
    if (nbytes < st_selection.min_bytes || nbytes > st_selection.max_bytes) st_skip(call);
}

/* -- call sites ------------------------------------------------------------------------------------------ */

static bool any_frame(const struct site *site, const char *const *frames, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (st_frame_in_range(frames[i], site->file, site->low, site->high) > 0) return true;
    return false;
}

/* Several call sites may have one signature (--signature-tolerance): the first one decides for all. */
void st_site_defined(uint64_t signature, const char *const *frames, size_t n) {
    bool skipped = has_only_sites;
    if (!st_selection.by_site || st_map_find(&site_of, signature)) return;
    for (int i = 0; i < nsites; i++)
        if (!sites[i].excluded && any_frame(&sites[i], frames, n)) skipped = false;
    for (int i = 0; i < nsites; i++)
        if (sites[i].excluded && any_frame(&sites[i], frames, n)) skipped = true;
    st_map_put(&site_of, signature, skipped);
}

bool st_site_skipped(const struct st_call *call) {
    if (!st_selection.by_site || !call->on) return false;
    uint64_t *skipped = st_map_find(&site_of, call->event.signature);
    return skipped ? *skipped : has_only_sites; /* a signature without frames lies in no range */
}
