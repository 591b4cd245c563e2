/* session.c - see session.h. */
#include "session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "st_core.h"

#define NRANKS 3
#define NSTEPS 12
#define NSTATS 2
#define SUBCOMM_ORDINAL 0
#define INTERCOMM_ORDINAL 1

enum { SEND, ALLTOALLV, SPLIT, STARTALL, QUERY, NOPS };

static const struct {
    const char *name;
    int nparams;
    const char *names[6];
    int kinds[6];
} ops[NOPS] = {
    {"Send", 5, {"count", "datatype", "dest", "tag", "comm"}, {ST_INT, ST_TYPE, ST_PEER, ST_INT, ST_COMM}},
    {"Alltoallv", 3, {"sendcounts", "displs", "comm"}, {ST_ARRAY, ST_ARRAY, ST_COMM}},
    {"Comm_split", 3, {"color", "newcomm", "comm"}, {ST_INT, ST_COMM, ST_COMM}},
    {"Startall", 2, {"requests", "info"}, {ST_ARRAY, ST_STRING}},
    {"Query", 1, {"rank"}, {ST_INT}},
};

/* One rank: its core, the numbers of the operations, and the names of what the events refer to. */
struct rank {
    st_core *core;
    int rank;
    int numbers[NOPS];
    uint64_t types[2], rows, intercomm, sites[6];
};

static struct session_result *result;

/* Note the outcome of a call. Return it. */
static int checked(int code) {
    if (code == ST_E_MEMORY)
        result->memory_errors++;
    else if (code < 0 && !result->other_error)
        result->other_error = code;
    return code;
}

static void define(struct rank *r) {
    st_core *core = r->core;
    const int64_t world[NRANKS] = {0, 1, 2}, near[1] = {r->rank}, far[2] = {(r->rank + 1) % NRANKS, -1};
    checked(st_set_option(core, "signature_tolerance", 1));
    checked(st_set_option(core, "loop_alignment", 1));
    checked(st_set_option(core, "loop_agnostic", 1));
    checked(st_set_option(core, "fold_recursion", 1));
    checked(st_add_site_range(core, "a/very/long/path/to/a/range/of/lines.c", 10, 20));
    checked(st_set_policy(core, "tag", 2));
    checked(st_set_policy(core, "Alltoallv.displs", 2));
    checked(st_set_policy(core, "Query.rank", -1));
    for (int i = 0; i < NOPS; i++)
        r->numbers[i] = checked(st_define_op(core, ops[i].name, ops[i].nparams, ops[i].names, ops[i].kinds));
    checked(st_set_policy(core, "Startall.requests", 3));
    checked(st_define_stat(core, "compute_ns", 1));
    checked(st_define_stat(core, "a statistic with a name that is longer than a short string", 1e-3));
    checked(st_define_comm(core, ST_COMM_WORLD, 0, "world", world, NRANKS, NULL, 0));
    r->rows = st_family(ST_COMM_WORLD, SUBCOMM_ORDINAL);
    r->intercomm = st_family(ST_COMM_WORLD, INTERCOMM_ORDINAL);
    checked(st_define_comm(core, r->rows, ST_COMM_WORLD, "split", near, 1, NULL, 0));
    checked(st_define_comm(core, r->intercomm, ST_COMM_WORLD, "intercommunicator of a spawn call", near, 1, far, 2));
    st_array(core, NULL, 0), st_string(core, NULL, 0); /* as MPI calls without requests, or of no neighbours */
    r->types[0] = st_define_type(core, "MPI_DOUBLE", 8, 8);
    r->types[1] = st_define_type(core, "vector(3, 2, 5, hvector(2, 1, 100, MPI_INT))", 48, 512);
    checked(st_set_meta(core, "program", "a session that uses each function of the interface"));
    checked(st_set_count(core, "Comm_rank and other queries that are only counted", 7));
    for (int i = 0; i < 6; i++) {
        char lines[3][64];
        const char *frames[3] = {lines[0], lines[1], lines[2]};
        snprintf(lines[0], sizeof lines[0], "solver/exchange_of_borders.py:%d:exchange", 10 * i + r->rank);
        snprintf(lines[1], sizeof lines[1], "a/very/long/path/to/a/range/of/lines.c:%d:step", 9 + i);
        snprintf(lines[2], sizeof lines[2], "module_of_the_program.so+0x%x", 16 * i);
        r->sites[i] = st_define_signature(core, frames, 3);
    }
    if (st_frame_in_range("a/very/long/path/to/a/range/of/lines.c:12:step", "range/of/lines.c", 10, 20) == ST_E_MEMORY)
        result->memory_errors++;
}

static void append(struct rank *r, int op, int site, int nvalues, const int64_t *values) {
    struct st_event event = {.self = r->rank, .size = NRANKS, .nvalues = (uint32_t)nvalues};
    if (r->numbers[op] < 0) return; /* as the shim does */
    event.op = (uint32_t)r->numbers[op];
    event.signature = r->sites[site];
    memcpy(event.values, values, (size_t)nvalues * sizeof *values);
    for (int i = 0; i < ST_MAX_STATS; i++) event.stats[i] = i < NSTATS ? 100.0 * site + i : NAN;
    checked(st_core_append(r->core, &event));
}

static void send_to(struct rank *r, int site, int64_t count, int64_t type, int64_t dest, int64_t tag, int64_t comm) {
    append(r, SEND, site, 5, (int64_t[]){count, type, dest, tag, comm});
}

/* Loops, a nested loop, iterations that differ, values without a rule, special values, large arrays. */
static void steps(struct rank *r) {
    append(r, SPLIT, 0, 3, (int64_t[]){r->rank, (int64_t)r->rows, (int64_t)ST_COMM_WORLD});
    for (int step = 0; step < NSTEPS; step++) {
        int64_t counts[40], displs[NRANKS];
        for (int i = 0; i < 40; i++) counts[i] = (i * i * 7919 + step % 2) % 101;
        for (int i = 0; i < NRANKS; i++) displs[i] = step * step * i;
        for (int i = 0; i < 3; i++)
            send_to(r, 1, (int64_t)step * step * 1000003 % 1009, (int64_t)r->types[i % 2], (r->rank + i) % NRANKS, step,
                    (int64_t)ST_COMM_WORLD);
        if (step % 3 == 1)
            send_to(r, 2, INT64_C(1) << 40, (int64_t)r->types[0], ST_PROC_NULL, 5, (int64_t)r->intercomm);
        append(r, ALLTOALLV, 3, 3,
               (int64_t[]){(int64_t)st_array(r->core, counts, 40), (int64_t)st_array(r->core, displs, NRANKS),
                           (int64_t)ST_COMM_WORLD});
        append(r, QUERY, 4, 1, (int64_t[]){step});
        char info[64];
        snprintf(info, sizeof info, "an info object with a long text, number %d", step % 2);
        append(r, STARTALL, 5, 2,
               (int64_t[]){(int64_t)st_array(r->core, counts, (size_t)(step % 5)),
                           (int64_t)st_string(r->core, info, strlen(info))});
    }
}

/* Give a core's packed bytes to another core, over a file where `path` is given. */
static void hand_over(st_core *from, st_core *into, const char *path) {
    void *bytes = NULL;
    size_t n = 0;
    if (checked(st_core_pack(from, &bytes, &n)) < 0) return;
    if (path) checked(st_core_write_packed(from, bytes, n, path));
    checked(st_core_merge(into, bytes, n));
    st_free(bytes);
}

/* Read a part and write it again as a trace. */
static void convert(const char *part, const char *trace) {
    char error[128] = "";
    st_core *core = st_core_read_part(part, error, sizeof error);
    if (!core) {
        result->memory_errors += strstr(error, "memory") != NULL || strstr(error, "bad_alloc") != NULL;
        return;
    }
    checked(st_core_write(core, trace, 0));
    st_core_free(core);
}

static void path_in(char *path, size_t n, const char *folder, const char *name) {
    snprintf(path, n, "%s/%s", folder, name);
}

void session(const char *folder, struct session_result *into) {
    char part[512], packed[512], trace[512], copy[512], log[512];
    struct rank ranks[NRANKS];
    result = into;
    memset(result, 0, sizeof *result);
    path_in(part, sizeof part, folder, "rank-1.part");
    path_in(packed, sizeof packed, folder, "packed.part");
    path_in(trace, sizeof trace, folder, "trace.st");
    path_in(copy, sizeof copy, folder, "copy.st");
    path_in(log, sizeof log, folder, "rank-0.log");
    remove(part), remove(packed), remove(trace), remove(copy), remove(log);
    for (int i = 0; i < NRANKS; i++) {
        struct rank *r = &ranks[i];
        r->rank = i;
        r->core = st_core_new(i, NRANKS);
        if (!r->core) {
            result->memory_errors++;
            while (i--) st_core_free(ranks[i].core);
            return;
        }
        define(r);
        if (i == 0) checked(st_flatlog_open(r->core, log));
        steps(r);
        if (i == 1) checked(st_core_write_part(r->core, part)); /* before finish: open loops */
        checked(st_core_finish(r->core));
        append(r, QUERY, 0, 1, (int64_t[]){1}); /* a new tail */
        checked(st_core_finish(r->core));
        if (i == 0) st_flatlog_forget(r->core);
        if (i == 0) checked(st_flatlog_close(r->core));
    }
    hand_over(ranks[1].core, ranks[0].core, NULL);
    hand_over(ranks[2].core, ranks[0].core, packed);
    uint64_t nodes, nodes_now;
    checked(st_core_advised_depth(ranks[0].core, &nodes, &nodes_now));
    result->written = checked(st_core_write(ranks[0].core, trace, 1)) == 0;
    result->nevents = st_core_nevents(ranks[0].core) + (st_core_nbytes(ranks[0].core) == 0) +
                      (st_core_ncomms(ranks[0].core, "world") > 1);
    convert(part, copy);
    for (int i = 0; i < NRANKS; i++) st_core_free(ranks[i].core);
}
