/* finish.c - the merge of all ranks in MPI_Finalize. */
#include "process/finish.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/options.h"
#include "base/state.h"
#include "base/wait.h"
#include "process/children.h"
#include "process/gather.h"
#include "process/names.h"
#include "process/output.h"
#include "process/page.h"
#include "process/parts.h"
#include "process/summary.h"

#define MAX_MESSAGE ((size_t)1 << 30) /* bytes; counts of MPI are int */

/* Tags of the messages. A receive that was given up must not get the message of another step. */
enum tag { HAS_COME = 1, ALL_HAVE_COME, SIZE, IS_WANTED, BYTES, OUTCOME, IS_DONE };

/* What rank 0 has made of the merge. Each rank gets it from its parent. */
enum { NOT_WRITTEN, WRITTEN, PARTS };

/* A wait for other ranks was too long. This rank waits for nothing any more, but sends what others may wait for. */
static bool without_others;

/* Return false where MPI fails, or where the others do not come within the limit. */
static bool wait_for(MPI_Request *request, void (*late)(void)) {
    if (st_wait_request(request, MPI_STATUS_IGNORE, without_others ? 0 : st_options.rank_limit, late)) return true;
    if (!without_others)
        st_warn_once("waited %d s for other ranks in MPI_Finalize; the trace is not complete. See %s.parts",
                     st_options.rank_limit, st_options.output);
    without_others = true;
    return false;
}

/* Nonblocking calls, so that waiting ranks sleep. Where the message is not received in time, its bytes must stay. */
static bool send_message(int to, enum tag tag, const void *bytes, int n) {
    MPI_Request request;
    return PMPI_Isend(bytes, n, MPI_BYTE, to, tag, st_shared.private_comm, &request) == MPI_SUCCESS &&
           wait_for(&request, NULL);
}

static bool receive_message(int from, enum tag tag, void *bytes, int n, void (*late)(void)) {
    MPI_Request request;
    if (PMPI_Irecv(bytes, n, MPI_BYTE, from, tag, st_shared.private_comm, &request) != MPI_SUCCESS) return false;
    if (wait_for(&request, late)) return true;
    if (request == MPI_REQUEST_NULL) return false; /* after an error of MPI */
    PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE); /* local after MPI_Cancel */
    return false;
}

/* Send one byte, which stays. */
static bool send_byte(int to, enum tag tag, char byte) {
    static const char bytes[] = {NOT_WRITTEN, WRITTEN, PARTS};
    return send_message(to, tag, &bytes[(int)byte], 1);
}

/* Call `visit` for each child, lowest first. Return the parent's rank, or -1 for rank 0. */
static int each_child(void (*visit)(int child)) {
    for (int bit = 1; bit < st_shared.nprocs; bit <<= 1) {
        if (st_shared.rank & bit) return st_shared.rank - bit;
        if ((st_shared.rank | bit) < st_shared.nprocs) visit(st_shared.rank | bit);
    }
    return -1;
}

/* Some ranks are late, or died: what this rank has must not be lost with them. */
static void save_meanwhile(void) { st_save_part(true); }

static void receive_arrival(int child) {
    char byte;
    receive_message(child, HAS_COME, &byte, 1, save_meanwhile);
}

static void tell_child(int child) { send_byte(child, ALL_HAVE_COME, 0); }

/* Wait until every rank has called MPI_Finalize. Nothing is merged before. A nonblocking barrier would be left pending
 * where a rank is too late; Open MPI fails on it in MPI_Finalize. */
static void wait_for_all(void) {
    char byte;
    int parent = each_child(receive_arrival);
    if (parent >= 0) {
        send_byte(parent, HAS_COME, 0);
        receive_message(parent, ALL_HAVE_COME, &byte, 1, save_meanwhile);
    }
    each_child(tell_child);
    if (without_others) save_meanwhile();
}

/* Send a size, then the bytes. Before them the other rank answers whether it has the memory. */
static bool send_bytes(int to, const char *bytes, size_t n) {
    static uint64_t size; /* a rank has one parent */
    char wanted = 0;
    size = n;
    bool ok =
        send_message(to, SIZE, &size, sizeof size) && n && receive_message(to, IS_WANTED, &wanted, 1, NULL) && wanted;
    for (size_t at = 0; ok && at < n; at += MAX_MESSAGE)
        ok = send_message(to, BYTES, bytes + at, (int)(n - at < MAX_MESSAGE ? n - at : MAX_MESSAGE));
    return ok;
}

/* Receive what send_bytes sends, allocated. NULL: nothing was sent, or out of memory. */
static char *receive_bytes(int from, size_t *n) {
    uint64_t size = 0;
    if (!receive_message(from, SIZE, &size, sizeof size, NULL)) send_byte(from, IS_WANTED, 0);
    if (!size) return NULL;
    *n = (size_t)size;
    char *bytes = malloc(*n);
    bool ok = send_byte(from, IS_WANTED, bytes != NULL) && bytes;
    for (size_t at = 0; ok && at < *n; at += MAX_MESSAGE)
        ok = receive_message(from, BYTES, bytes + at, (int)(*n - at < MAX_MESSAGE ? *n - at : MAX_MESSAGE), NULL);
    if (ok) return bytes;
    free(bytes);
    return NULL;
}

/* Receive a child's trace and merge it. The trace lacks the child's ranks when this fails. */
static void merge_child(int child) {
    size_t n = 0;
    int error;
    char *bytes = receive_bytes(child, &n);
    bool was_busy, locked = st_hold_to_save(&was_busy);
    if (!locked || !bytes)
        st_warn_once("nothing came from rank %d; the trace lacks it", child);
    else if ((error = st_core_merge(st_shared.core, bytes, n)) < 0)
        st_core_warn(error, "the trace of rank %d could not be merged: %s", child, st_core_error(st_shared.core));
    if (locked) st_release(was_busy);
    free(bytes);
}

/* Send this rank's merged trace; an empty message when it could not be packed. */
static void send_to_parent(int parent) {
    void *bytes = NULL;
    size_t n = 0;
    bool was_busy;
    if (!without_others && st_hold_to_save(&was_busy)) {
        int error = st_core_pack(st_shared.core, &bytes, &n);
        if (error < 0) {
            n = 0;
            st_core_warn(error, "%s", st_core_error(st_shared.core));
        }
        st_release(was_busy);
    }
    send_bytes(parent, bytes, n);
    if (!without_others) st_free(bytes);
}

static const char *written_to; /* path of the trace */

/* Write the trace to a new folder among the temporary files, since its own is full or gone. Others may write there,
 * too: mkdtemp makes a folder with a random name that only this user can enter. Return ST_OK or an error. */
static int write_elsewhere(void) {
    const char *temporary = getenv("TMPDIR"), *name = strrchr(st_options.output, '/');
    static char path[4096];
    name = name ? name + 1 : st_options.output;
    int n = snprintf(path, sizeof path, "%s/scalatrace-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (n < 0 || (size_t)n + strlen(name) + 2 > sizeof path || !mkdtemp(path)) {
        st_warn_once("no folder for temporary files: set TMPDIR to one with free space");
        return ST_E_IO;
    }
    snprintf(path + n, sizeof path - (size_t)n, "/%s", name);
    int error = st_core_write(st_shared.core, path, st_options.compress);
    if (error >= 0) {
        written_to = path;
    } else {
        st_core_warn(error, "%s", st_core_error(st_shared.core));
        path[n] = 0;
        rmdir(path);
    }
    return error;
}

/* A file beyond the limit of a process sends it SIGXFSZ, which ends a program by default. */
static int write_file(void) {
    sigset_t limit, old;
    const struct timespec now = {0, 0};
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &old);
    written_to = st_output_claim();
    int error = st_core_write(st_shared.core, written_to, st_options.compress);
    if (error < 0) {
        st_output_release();
        st_core_warn(error, "%s; the program is not affected", st_core_error(st_shared.core));
        if (error == ST_E_IO) error = write_elsewhere();
    }
    while (!sigismember(&old, SIGXFSZ) && sigtimedwait(&limit, NULL, &now) >= 0) continue;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

/* Write the trace on rank 0. Without all other ranks, their parts and this rank's are what is left. */
static char write_trace(void) {
    bool was_busy;
    if (without_others) return PARTS;
    if (!st_hold_to_save(&was_busy)) return NOT_WRITTEN;
    int error = write_file();
    st_release(was_busy);
    return error < 0 ? NOT_WRITTEN : WRITTEN;
}

static char outcome;

static void send_outcome(int child) { send_byte(child, OUTCOME, outcome); }

/* Get the outcome from the parent; without an answer from it there may be no trace. */
static void spread_outcome(int parent) {
    if (parent >= 0 && !receive_message(parent, OUTCOME, &outcome, 1, NULL)) outcome = PARTS;
    each_child(send_outcome);
}

static void receive_acknowledgement(int child) {
    char byte;
    receive_message(child, IS_DONE, &byte, 1, NULL);
}

/* Delete the parts that some ranks saved meanwhile, or save those that are missing. Every rank takes part: rank 0
 * deletes the directory when all others are done. */
static void settle_parts(int parent) {
    if (outcome == WRITTEN) st_part_discard();
    if (outcome == PARTS) st_save_part(true);
    each_child(receive_acknowledgement);
    if (parent >= 0) send_byte(parent, IS_DONE, 0);
    if (parent < 0 && outcome == WRITTEN) st_parts_remove_directory();
}

/* With checkpoints, save a last one before the first child is merged. */
static void preserve_and_merge(int child) {
    if (child == (st_shared.rank | 1) && st_options.checkpoint > 0) st_save_part(true);
    st_part_preserve();
    merge_child(child);
}

/* What follows when the file is there. */
static void end_written(void) {
    st_names_store(written_to);
    st_summary_print(written_to);
    st_page_write(written_to);
}

bool st_finish(void) {
    wait_for_all();
    int parent = each_child(preserve_and_merge);
    if (parent >= 0)
        send_to_parent(parent);
    else
        outcome = write_trace();
    spread_outcome(parent);
    settle_parts(parent);
    if (parent < 0 && outcome == WRITTEN) end_written();
    return outcome == WRITTEN && !without_others;
}

void st_finish_without_mpi(void) {
    if (!st_gather()) return;
    outcome = write_trace();
    if (outcome != WRITTEN) return;
    st_gather_discard();
    end_written();
}
