/* summary.c - print the facts about the written trace.
 *
 * The line is one write, so that lines of other processes do not come into it.
 */
#include "process/summary.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "base/state.h"
#include "process/children.h"

struct summary {
    const char *trace;
    long long nbytes; /* of the file; -1: not known */
    uint64_t nevents;
    double seconds;   /* mean of the ranks; of the run where several threads make calls, since their times overlap */
    double mpi_share; /* of the time between start-up and shut-down; -1: not known */
    bool lacks_children;
    int advised_depth; /* frames of a stack; 0: no advice */
    uint64_t nodes_advised, nodes;
};

/* A rank's time is the sum of its computation and its calls, so it ends with the last recorded call. */
static struct summary summarise(st_core *core, const char *trace) {
    struct stat file;
    struct summary s = {.trace = trace, .nevents = st_core_nevents(core), .mpi_share = -1};
    s.nbytes = stat(trace, &file) ? -1 : (long long)file.st_size;
    double total_ns = st_core_total(core, 0) + st_core_total(core, 1);
    double between_ns = st_core_total_between(core, 0) + st_core_total_between(core, 1);
    if (st_shared.threads > 1) {
        s.seconds = (double)(st_shared.end_ns - st_shared.start_ns) / 1e9;
    } else {
        s.seconds = total_ns / st_shared.nprocs / 1e9;
        if (between_ns > 0) s.mpi_share = st_core_total_between(core, 1) / between_ns;
    }
    s.lacks_children = st_core_ncomms(core, "spawn") > 0 && !st_children_exist();
    int depth = st_core_advised_depth(core, &s.nodes_advised, &s.nodes);
    s.advised_depth = depth > 0 ? depth : 0;
    return s;
}

static void print_text(const struct summary *s) {
    char folder[4096], size[48] = "", times[64] = "", depth[128] = "";
    const char *path = s->trace; /* shown as the user knows it, below the current folder */
    size_t n = getcwd(folder, sizeof folder) ? strlen(folder) : 0;
    if (n && !strncmp(path, folder, n) && path[n] == '/') path += n + 1;
    if (s->nbytes >= 0) snprintf(size, sizeof size, "%lld bytes, ", s->nbytes);
    if (st_shared.threads > 1)
        snprintf(times, sizeof times, ", %.2f s, calls by %d threads of a rank", s->seconds, st_shared.threads);
    else if (s->mpi_share >= 0)
        snprintf(times, sizeof times, ", %.2f s each, %.0f %% in MPI", s->seconds, 100 * s->mpi_share);
    if (s->advised_depth)
        snprintf(depth, sizeof depth, ". Many call paths make %llu nodes; --stack-depth %d leaves at most %llu",
                 (unsigned long long)s->nodes, s->advised_depth, (unsigned long long)s->nodes_advised);
    dprintf(
        STDERR_FILENO, "scalatrace: wrote %s: %s%llu events of %d rank%s%s%s%s. Next: scalatrace info, show, stats\n",
        path, size, (unsigned long long)s->nevents, st_shared.nprocs, st_shared.nprocs == 1 ? "" : "s", times, depth,
        s->lacks_children ? ". Spawned processes are not recorded; scalatrace record -- mpiexec ... may do that" : "");
}

static void print_quoted(FILE *out, const char *text) {
    putc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            putc(*text, out);
    putc('"', out);
}

/* A number with nine digits after a point, also where the program's locale has a comma; null: not known (negative). */
static void print_number(FILE *out, double value) {
    const unsigned long long billionths = (unsigned long long)(value * 1e9 + 0.5);
    if (value < 0)
        fputs("null", out);
    else
        fprintf(out, "%llu.%09llu", billionths / 1000000000, billionths % 1000000000);
}

static void print_json(const struct summary *s) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out) return;
    fputs("{\"output\": ", out);
    print_quoted(out, s->trace);
    if (s->nbytes < 0)
        fputs(", \"bytes\": null", out);
    else
        fprintf(out, ", \"bytes\": %lld", s->nbytes);
    fprintf(out, ", \"nprocs\": %d, \"threads\": %d, \"events\": %llu, \"seconds\": ", st_shared.nprocs,
            st_shared.threads, (unsigned long long)s->nevents);
    print_number(out, s->seconds);
    fputs(", \"mpi_share\": ", out);
    print_number(out, s->mpi_share);
    if (s->advised_depth)
        fprintf(out, ", \"stack_depth_advice\": {\"depth\": %d, \"nodes\": %llu, \"nodes_now\": %llu}",
                s->advised_depth, (unsigned long long)s->nodes_advised, (unsigned long long)s->nodes);
    else
        fputs(", \"stack_depth_advice\": null", out);
    fprintf(out, ", \"lacks_spawned\": %s}\n", s->lacks_children ? "true" : "false");
    if (!fclose(out)) dprintf(STDERR_FILENO, "%s", text);
    free(text);
}

void st_summary_print(const char *trace) {
    if (st_options.quiet && !st_options.json) return;
    const struct summary s = summarise(st_shared.core, trace);
    if (st_options.json)
        print_json(&s);
    else
        print_text(&s);
}
