/* children.c - number spawned worlds, and name their outputs. */
#include "process/children.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "base/state.h"
#include "process/parts.h"

#define MAX_CHILDREN 10000 /* spawned worlds of one output */

static char output[4096], flat_log[4096];

static void child_output(char *path, size_t n, const char *of, int child) {
    snprintf(path, n, "%s.child-%d", of, child);
}

/* Delete what children of an earlier run left. They are numbered without gaps. */
static void discard_stale_children(void) {
    for (int child = 1; child < MAX_CHILDREN; child++) {
        char path[4096], parts[4200];
        child_output(path, sizeof path, st_options.output, child);
        snprintf(parts, sizeof parts, "%s.parts", path);
        st_parts_discard_stale(path, 0);
        int nremoved = (unlink(path) == 0) + (rmdir(parts) == 0);
        if (!nremoved) return;
    }
}

/* Reserve the first unused number by creating its directory of parts, which succeeds for one world only. */
static int claim_number(void) {
    for (int child = 1; child < MAX_CHILDREN; child++) {
        char path[4096], parts[4200];
        child_output(path, sizeof path, st_options.output, child);
        snprintf(parts, sizeof parts, "%s.parts", path);
        if (access(path, F_OK) && !mkdir(parts, 0777)) return child;
    }
    return MAX_CHILDREN;
}

bool st_children_exist(void) {
    char path[4096], parts[4200];
    child_output(path, sizeof path, st_options.output, 1);
    snprintf(parts, sizeof parts, "%s.parts", path);
    return !access(path, F_OK) || !access(parts, F_OK);
}

void st_children_start(void) {
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        if (st_shared.rank == 0) discard_stale_children();
        return;
    }
    int child = st_shared.rank == 0 ? claim_number() : 0;
    PMPI_Bcast(&child, 1, MPI_INT, 0, st_shared.private_comm);
    child_output(output, sizeof output, st_options.output, child);
    st_options.output = output;
    st_options.report = NULL; /* the page is the parent's */
    if (!st_options.flat_log) return;
    snprintf(flat_log, sizeof flat_log, "%s/child-%d", st_options.flat_log, child);
    mkdir(flat_log, 0777);
    st_options.flat_log = flat_log;
}
