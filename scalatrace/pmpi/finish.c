/* finish.c - the inter-node merge: a binary radix tree over our private communicator, inside MPI_Finalize.
 *
 *   round k: a rank whose bits below k are clear receives from rank | 1 << k when its bit k is clear, else it sends to
 *   rank - (1 << k) and is done. So children come lowest first, and rank 0 holds all after ceil(log2 P) rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim.h"

#define TAG 1
#define CHUNK ((size_t)1 << 30)
#define LATE_NS 1000000000

/* Wait for a request without spinning: with more ranks than cores, those that wait would keep those that merge from
 * working. Sleeps grow with the time already waited, to 1 ms. `late` is called once, when a second has passed. */
static bool wait_for(MPI_Request *request, void (*late)(void)) {
    int64_t start = st_now();
    for (int done = 0, turns = 0;; turns++) {
        if (PMPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (done) return true;
        int64_t waited = st_now() - start;
        if (turns > 20) usleep(waited > 64000000 ? 1000 : 20 + (useconds_t)(waited / 64000));
        if (late && waited > LATE_NS) {
            late();
            late = NULL;
        }
    }
}

/* Some ranks are late, or will never come. */
static void save_meanwhile(void) { st_save_part(); }

/* Wait until every rank is here. Until then nothing is merged, and who waits long saves its part meanwhile. */
static void wait_for_all(void) {
    MPI_Request request;
    if (PMPI_Ibarrier(st_shared.private_comm, &request) == MPI_SUCCESS) wait_for(&request, save_meanwhile);
}

static bool send_some(int to, const void *bytes, int n) {
    MPI_Request request;
    return PMPI_Isend(bytes, n, MPI_BYTE, to, TAG, st_shared.private_comm, &request) == MPI_SUCCESS &&
           wait_for(&request, NULL);
}

static bool receive_some(int from, void *bytes, int n) {
    MPI_Request request;
    return PMPI_Irecv(bytes, n, MPI_BYTE, from, TAG, st_shared.private_comm, &request) == MPI_SUCCESS &&
           wait_for(&request, NULL);
}

static bool send_bytes(int to, const char *bytes, size_t n) {
    uint64_t size = n;
    bool ok = send_some(to, &size, sizeof size);
    for (size_t at = 0; ok && at < n; at += CHUNK)
        ok = send_some(to, bytes + at, (int)(n - at < CHUNK ? n - at : CHUNK));
    return ok;
}

/* NULL: nothing came, or there is no memory for it. */
static char *receive_bytes(int from, size_t *n) {
    uint64_t size = 0;
    if (!receive_some(from, &size, sizeof size) || !size) return NULL;
    *n = (size_t)size;
    char *bytes = malloc(*n);
    for (size_t at = 0; bytes && at < *n; at += CHUNK)
        if (!receive_some(from, bytes + at, (int)(*n - at < CHUNK ? *n - at : CHUNK))) break;
    return bytes;
}

static void merge_child(int child) {
    size_t n = 0;
    char *bytes = receive_bytes(child, &n);
    bool before = st_hold();
    if (!bytes)
        st_complain("nothing came from rank %d; the trace lacks it", child);
    else if (st_core_merge(st_shared.core, bytes, n) < 0)
        st_complain("the trace of rank %d could not be merged: %s", child, st_core_error(st_shared.core));
    st_release(before);
    free(bytes);
}

static void send_to_parent(int parent) {
    void *bytes = NULL;
    size_t n = 0;
    bool before = st_hold();
    if (st_core_pack(st_shared.core, &bytes, &n) < 0) {
        n = 0;
        st_complain("%s", st_core_error(st_shared.core));
    }
    st_release(before);
    send_bytes(parent, bytes, n);
    st_free(bytes);
}

/* 1: the trace is there. */
static int write_trace(void) {
    bool before = st_hold();
    bool done = st_core_write(st_shared.core, st_options.output, st_options.compress) >= 0;
    if (!done) st_complain("%s; the program is not affected", st_core_error(st_shared.core));
    st_release(before);
    return done;
}

/* The trace is there: the parts that some ranks wrote meanwhile are not needed. Every rank takes part. */
static void discard_parts(void) {
    MPI_Request request;
    st_part_discard();
    if (PMPI_Ibarrier(st_shared.private_comm, &request) == MPI_SUCCESS) wait_for(&request, NULL);
    if (st_shared.rank == 0) st_parts_discarded();
}

/* Merge the children, lowest first; the parent's rank, or -1 for rank 0. Who asked for checkpoints gets a last one. */
static int take_children(void) {
    for (int bit = 1; bit < st_shared.nprocs; bit <<= 1) {
        if (st_shared.rank & bit) return st_shared.rank - bit;
        if ((st_shared.rank | bit) >= st_shared.nprocs) continue;
        if (bit == 1 && st_options.checkpoint > 0) st_save_part();
        st_part_keep();
        merge_child(st_shared.rank | bit);
    }
    return -1;
}

void st_finish(void) {
    int written = 0;
    MPI_Request request;
    wait_for_all();
    int parent = take_children();
    if (parent >= 0) send_to_parent(parent);
    if (st_shared.rank == 0) written = write_trace();
    if (PMPI_Ibcast(&written, 1, MPI_INT, 0, st_shared.private_comm, &request) == MPI_SUCCESS) wait_for(&request, NULL);
    if (written) discard_parts();
}
