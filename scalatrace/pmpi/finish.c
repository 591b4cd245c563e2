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

/* Wait until every rank is here. Until then nothing is merged: a rank that is told to die saves exactly its own part. */
static bool wait_for_all(void)
{
    MPI_Request request;
    if (PMPI_Ibarrier(st_shared.private_comm, &request) != MPI_SUCCESS) return false;
    int64_t start = st_now();
    bool saved = false;
    for (int done = 0, turns = 0;; turns++) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return saved;
        if (done) return saved;
        if (turns > 1000) usleep(turns > 10000 ? 1000 : 50);
        if (!saved && st_now() - start > 1000000000) {
            saved = true; /* some ranks are late, or will never come */
            st_save_part();
        }
    }
}

static bool send_bytes(int to, const char *bytes, size_t n)
{
    int64_t size = (int64_t)n;
    if (PMPI_Send(&size, 1, MPI_INT64_T, to, TAG, st_shared.private_comm) != MPI_SUCCESS) return false;
    for (size_t at = 0; at < n; at += CHUNK) {
        int some = (int)(n - at < CHUNK ? n - at : CHUNK);
        if (PMPI_Send(bytes + at, some, MPI_BYTE, to, TAG, st_shared.private_comm) != MPI_SUCCESS) return false;
    }
    return true;
}

/* NULL: nothing came, or no memory for it (it is taken off the wire all the same). */
static char *receive_bytes(int from, size_t *n)
{
    int64_t size = 0;
    if (PMPI_Recv(&size, 1, MPI_INT64_T, from, TAG, st_shared.private_comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) return NULL;
    *n = (size_t)size;
    char *bytes = size > 0 ? malloc(*n) : NULL;
    for (size_t at = 0; bytes && at < *n; at += CHUNK) {
        int some = (int)(*n - at < CHUNK ? *n - at : CHUNK);
        PMPI_Recv(bytes + at, some, MPI_BYTE, from, TAG, st_shared.private_comm, MPI_STATUS_IGNORE);
    }
    return bytes;
}

static void merge_child(int child)
{
    size_t n = 0;
    char *bytes = receive_bytes(child, &n);
    if (!bytes)
        st_complain("nothing came from rank %d; the trace lacks it", child);
    else if (st_shared.core && st_core_merge(st_shared.core, bytes, n) < 0)
        st_complain("the trace of rank %d could not be merged: %s", child, st_core_error(st_shared.core));
    free(bytes);
}

static void send_to_parent(int parent)
{
    void *bytes = NULL;
    size_t n = 0;
    if (!st_shared.core || st_core_pack(st_shared.core, &bytes, &n) < 0) {
        n = 0;
        if (st_shared.core) st_complain("%s", st_core_error(st_shared.core));
    }
    send_bytes(parent, bytes, n);
    st_free(bytes);
}

/* 1: the trace is there. The children of a process that was spawned write beside their parents' trace. */
static int write_trace(void)
{
    char path[4096];
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    snprintf(path, sizeof path, "%s", st_options.output);
    for (int i = 1; parent != MPI_COMM_NULL && i < 10000; i++) {
        snprintf(path, sizeof path, "%s.child-%d", st_options.output, i);
        if (access(path, F_OK)) break;
    }
    if (!st_shared.core) return 0;
    if (st_core_write(st_shared.core, path, st_options.compress) < 0) {
        st_complain("%s; the program is not affected", st_core_error(st_shared.core));
        return 0;
    }
    return 1;
}

void st_finish(void)
{
    int written = 0;
    bool parts = wait_for_all() || st_options.checkpoint > 0;
    for (int bit = 1; bit < st_shared.nprocs; bit <<= 1) {
        if (st_shared.rank & bit) {
            send_to_parent(st_shared.rank - bit);
            break;
        }
        if ((st_shared.rank | bit) < st_shared.nprocs) merge_child(st_shared.rank | bit);
    }
    if (st_shared.rank == 0) written = write_trace();
    PMPI_Bcast(&written, 1, MPI_INT, 0, st_shared.private_comm);
    if (written && parts) st_parts_discard();
}
