/* selection.c - which calls are recorded (selection.h): what the user asked for, and the questions about one call. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "shim.h"

struct st_selection st_selection;

struct stretch {
    int64_t from_ns, to_ns; /* since MPI_Init */
};
struct site {
    char *file; /* what the path ends with, or a module's name */
    uint64_t low, high;
    bool unwanted;
};

static bool wanted[ST_NOPS];
static struct stretch *stretches;
static struct site *sites;
static char **patterns; /* of names or kinds of communicators */
static int nstretches, nsites, npatterns;
static bool some_sites; /* only these, not all but these */
static int64_t opened_at;
static struct st_map site_of; /* signature -> 1: skipped, 0 */

/* -- what is asked for ----------------------------------------------------------------------------------- */

/* Room for one more in an array. */
static void *room(void *array, int n, size_t size) {
    void *bigger = realloc(array, (size_t)(n + 1) * size);
    if (bigger) return bigger;
    st_complain("out of memory; the selection is not complete");
    return NULL;
}

static void add_op(const char *name) {
    for (int op = 0; op < ST_NOPS; op++)
        if (!strcmp(st_ops[op].name, name)) wanted[op] = true;
}

static void add_stretch(const char *text) {
    struct stretch *bigger = room(stretches, nstretches, sizeof *stretches);
    if (!bigger) return;
    char *end;
    stretches = bigger;
    stretches[nstretches].from_ns = strtoll(text, &end, 10);
    stretches[nstretches++].to_ns = *end == '-' ? strtoll(end + 1, NULL, 10) : INT64_MAX;
    st_selection.by_window = true;
}

static void add_pattern(const char *text) {
    char **bigger = room(patterns, npatterns, sizeof *patterns), *copy = strdup(text);
    if (bigger) patterns = bigger;
    if (!bigger || !copy) {
        free(copy);
        return;
    }
    patterns[npatterns++] = copy;
    st_selection.by_comm = true;
}

static void take_entry(const char *value, const char *what) {
    st_selection.active = true;
    if (!strcmp(what, "op"))
        add_op(value);
    else if (!strcmp(what, "by_op"))
        st_selection.by_op = true;
    else if (!strcmp(what, "window"))
        add_stretch(value);
    else if (!strcmp(what, "comm"))
        add_pattern(value);
    else if (!strcmp(what, "min_bytes"))
        st_selection.by_size = true, st_selection.min_bytes = atoll(value);
    else if (!strcmp(what, "max_bytes"))
        st_selection.by_size = true, st_selection.max_bytes = atoll(value);
}

static void add_site(const char *file, const char *lines, bool unwanted) {
    struct site *bigger = room(sites, nsites, sizeof *sites);
    char *copy = strdup(file), *end;
    if (bigger) sites = bigger;
    if (!bigger || !copy) {
        free(copy);
        return;
    }
    uint64_t low = strtoull(lines, &end, 0), high = *end == '-' ? strtoull(end + 1, NULL, 0) : low;
    sites[nsites++] = (struct site){.file = copy, .low = low, .high = high, .unwanted = unwanted};
    st_selection.active = st_selection.by_site = true;
}

static void take_only_site(const char *file, const char *lines) {
    some_sites = true;
    add_site(file, lines, false);
}
static void take_except_site(const char *file, const char *lines) { add_site(file, lines, true); }

void st_selection_start(void) {
    st_selection.max_bytes = INT64_MAX;
    st_each_entry("SCALATRACE_SELECTION", take_entry);
    st_each_entry("SCALATRACE_ONLY_SITES", take_only_site);
    st_each_entry("SCALATRACE_EXCEPT_SITES", take_except_site);
}

void st_selection_opened(void) { opened_at = st_thread.last_exit; }

/* -- one call -------------------------------------------------------------------------------------------- */

void st_skip(struct st_call *call) {
    if (!call->on) return;
    call->on = false;
    call->skipped = true;
    st_count((int)call->event.op);
    __atomic_fetch_add(&st_selection.nskipped, 1, __ATOMIC_RELAXED);
}

static bool in_a_window(int64_t now) {
    int64_t since = now - opened_at;
    for (int i = 0; i < nstretches; i++)
        if (since >= stretches[i].from_ns && since < stretches[i].to_ns) return true;
    return false;
}

void st_select_early(struct st_call *call, int op) {
    call->event.op = (uint32_t)op;
    if (st_ops[op].role != ST_CHOSEN) return;
    if (st_selection.by_op && !wanted[op]) st_skip(call);
    if (st_selection.by_window && !in_a_window(call->t0)) st_skip(call);
}

/* A program may name a communicator at any time, and often does so after using it: the name is asked for each time. */
bool st_comm_chosen(struct st_comm *info, MPI_Comm comm) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int n = 0;
    if (!info->kind || comm == MPI_COMM_NULL) return false;
    PMPI_Comm_get_name(comm, name, &n);
    uint64_t as = UINT64_C(14695981039346656037);
    for (const char *at = name; *at; at++) as = (as ^ (unsigned char)*at) * UINT64_C(1099511628211);
    as |= 1;
    if (info->chosen_as == as) return info->chosen;
    info->chosen = false;
    for (int i = 0; i < npatterns && !info->chosen; i++)
        info->chosen = !fnmatch(patterns[i], info->kind, 0) || !fnmatch(patterns[i], name, 0);
    info->chosen_as = as;
    return info->chosen;
}

void st_select_comm(struct st_call *call, MPI_Comm comm) {
    st_lock();
    if (!st_comm_chosen(st_comm_of(comm), comm)) st_skip(call);
    st_unlock();
}

int64_t st_moved(int64_t count, MPI_Datatype type) {
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

/* Of call sites that count as one (--signature-tolerance) the first one met speaks for all. */
void st_site_defined(uint64_t signature, const char *const *frames, size_t n) {
    bool skipped = some_sites;
    if (!st_selection.by_site || st_map_find(&site_of, signature)) return;
    for (int i = 0; i < nsites; i++)
        if (!sites[i].unwanted && any_frame(&sites[i], frames, n)) skipped = false;
    for (int i = 0; i < nsites; i++)
        if (sites[i].unwanted && any_frame(&sites[i], frames, n)) skipped = true;
    st_map_put(&site_of, signature, skipped);
}

bool st_site_skipped(const struct st_call *call) {
    if (!st_selection.by_site || !call->on) return false;
    uint64_t *skipped = st_map_find(&site_of, call->event.signature);
    return skipped ? *skipped : some_sites; /* no frame of the program's: in none of the sites */
}
