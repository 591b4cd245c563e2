/* finish.c - the merge of all ranks in MPI_Finalize. */
#include "process/finish.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/options.h"
#include "base/state.h"
#include "process/names.h"
#include "process/page.h"
#include "process/parts.h"

#define TAG 1                         /* of all messages of the merge */
#define MAX_MESSAGE ((size_t)1 << 30) /* bytes; counts of MPI are int */
#define LATE_NS 1000000000            /* a rank that waits this long for the others saves its part */
#define MAX_SLEEP_US 1000             /* between two tests of a request */
#define NSPINS 20                     /* tests before the first sleep */

/* Wait for a request without spinning: with more ranks than cores, waiting ranks would take time from merging ones.
 * Sleeps grow with the time waited so far. `late` is called once, after LATE_NS. Return false on an MPI error. */
static bool wait_for(MPI_Request *request, void (*late)(void)) {
    int64_t start = st_now();
    for (int done = 0, ntests = 0;; ntests++) {
        if (PMPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (done) return true;
        int64_t waited = st_now() - start;
        if (ntests > NSPINS) usleep(waited > 64000 * MAX_SLEEP_US ? MAX_SLEEP_US : 20 + (useconds_t)(waited / 64000));
        if (late && waited > LATE_NS) {
            late();
            late = NULL;
        }
    }
}

/* Some ranks are late, or died: what this rank has must not be lost with them. */
static void save_meanwhile(void) { st_save_part(true); }

/* Wait until every rank has called MPI_Finalize. Nothing is merged before. */
static void wait_for_all(void) {
    MPI_Request request;
    if (PMPI_Ibarrier(st_shared.private_comm, &request) == MPI_SUCCESS) wait_for(&request, save_meanwhile);
}

/* Nonblocking calls, so that waiting ranks sleep. */
static bool send_message(int to, const void *bytes, int n) {
    MPI_Request request;
    return PMPI_Isend(bytes, n, MPI_BYTE, to, TAG, st_shared.private_comm, &request) == MPI_SUCCESS &&
           wait_for(&request, NULL);
}

static bool receive_message(int from, void *bytes, int n) {
    MPI_Request request;
    return PMPI_Irecv(bytes, n, MPI_BYTE, from, TAG, st_shared.private_comm, &request) == MPI_SUCCESS &&
           wait_for(&request, NULL);
}

/* Send a size, then the bytes. Before them the other rank answers whether it has the memory. */
static bool send_bytes(int to, const char *bytes, size_t n) {
    uint64_t size = n;
    char wanted = 0;
    bool ok = send_message(to, &size, sizeof size) && n && receive_message(to, &wanted, 1) && wanted;
    for (size_t at = 0; ok && at < n; at += MAX_MESSAGE)
        ok = send_message(to, bytes + at, (int)(n - at < MAX_MESSAGE ? n - at : MAX_MESSAGE));
    return ok;
}

/* Receive what send_bytes sends, allocated. NULL: nothing was sent, or out of memory. */
static char *receive_bytes(int from, size_t *n) {
    uint64_t size = 0;
    if (!receive_message(from, &size, sizeof size) || !size) return NULL;
    *n = (size_t)size;
    char *bytes = malloc(*n), wanted = bytes != NULL;
    bool ok = send_message(from, &wanted, 1) && wanted;
    for (size_t at = 0; ok && at < *n; at += MAX_MESSAGE)
        ok = receive_message(from, bytes + at, (int)(*n - at < MAX_MESSAGE ? *n - at : MAX_MESSAGE));
    if (ok) return bytes;
    free(bytes);
    return NULL;
}

/* Receive a child's trace and merge it. The trace lacks the child's ranks when this fails. */
static void merge_child(int child) {
    size_t n = 0;
    int error;
    char *bytes = receive_bytes(child, &n);
    bool was_busy = st_hold();
    if (!bytes)
        st_warn_once("nothing came from rank %d; the trace lacks it", child);
    else if ((error = st_core_merge(st_shared.core, bytes, n)) < 0)
        st_core_warn(error, "the trace of rank %d could not be merged: %s", child, st_core_error(st_shared.core));
    st_release(was_busy);
    free(bytes);
}

/* Send this rank's merged trace; an empty message when it could not be packed. */
static void send_to_parent(int parent) {
    void *bytes = NULL;
    size_t n = 0;
    bool was_busy = st_hold();
    int error = st_core_pack(st_shared.core, &bytes, &n);
    if (error < 0) {
        n = 0;
        st_core_warn(error, "%s", st_core_error(st_shared.core));
    }
    st_release(was_busy);
    send_bytes(parent, bytes, n);
    st_free(bytes);
}

/* Tell the user about the trace. A rank's time is the sum of its computation and its calls, so it ends with the last
 * recorded call. */
static void report_written(const st_core *core) {
    struct stat file;
    const char *path = st_options.output; /* shown as the user knows it, below the current folder */
    char folder[4096], size[48] = "", times[64] = "";
    size_t n = getcwd(folder, sizeof folder) ? strlen(folder) : 0;
    if (n && !strncmp(path, folder, n) && path[n] == '/') path += n + 1;
    if (!stat(st_options.output, &file)) snprintf(size, sizeof size, "%lld bytes, ", (long long)file.st_size);
    double total_ns = st_core_total(core, 0) + st_core_total(core, 1);
    if (total_ns > 0)
        snprintf(times, sizeof times, ", %.2f s each, %.0f %% in MPI", total_ns / st_shared.nprocs / 1e9,
                 100 * st_core_total(core, 1) / total_ns);
    fprintf(stderr, "scalatrace: wrote %s: %s%llu events of %d rank%s%s. Next: scalatrace info, show, stats\n", path,
            size, (unsigned long long)st_core_nevents(core), st_shared.nprocs, st_shared.nprocs == 1 ? "" : "s", times);
}

/* Return 1 when the trace is written, else 0. */
static int write_trace(void) {
    bool was_busy = st_hold();
    int error = st_core_write(st_shared.core, st_options.output, st_options.compress);
    if (error < 0) st_core_warn(error, "%s; the program is not affected", st_core_error(st_shared.core));
    st_release(was_busy);
    return error >= 0;
}

/* Delete the parts that some ranks saved meanwhile. Every rank takes part. */
static void discard_parts(void) {
    MPI_Request request;
    st_part_discard();
    if (PMPI_Ibarrier(st_shared.private_comm, &request) == MPI_SUCCESS) wait_for(&request, NULL);
    if (st_shared.rank == 0) st_parts_remove_directory();
}

/* Merge the children, lowest first. Return the parent's rank, or -1 for rank 0. With checkpoints, save a last one. */
static int merge_children(void) {
    for (int bit = 1; bit < st_shared.nprocs; bit <<= 1) {
        if (st_shared.rank & bit) return st_shared.rank - bit;
        if ((st_shared.rank | bit) >= st_shared.nprocs) continue;
        if (bit == 1 && st_options.checkpoint > 0) st_save_part(true);
        st_part_preserve();
        merge_child(st_shared.rank | bit);
    }
    return -1;
}

void st_finish(void) {
    int written = 0;
    MPI_Request request;
    wait_for_all();
    int parent = merge_children();
    if (parent >= 0) send_to_parent(parent);
    if (st_shared.rank == 0) written = write_trace();
    if (PMPI_Ibcast(&written, 1, MPI_INT, 0, st_shared.private_comm, &request) == MPI_SUCCESS) wait_for(&request, NULL);
    if (written) discard_parts();
    if (written && st_shared.rank == 0) st_names_store();
    if (written && st_shared.rank == 0 && !st_options.quiet) report_written(st_shared.core);
    if (written && st_shared.rank == 0) st_page_write();
}
