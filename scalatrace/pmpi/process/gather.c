/* gather.c - parts of all ranks, merged by rank 0 without MPI. */
#define _GNU_SOURCE
#include "process/gather.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/launcher.h"
#include "base/lock.h"
#include "base/options.h"
#include "base/state.h"
#include "base/wait.h"
#include "process/parts.h"

/* A rank's .done file names the job, so that a file of an earlier one counts for nothing. */
static void job_text(char *text, size_t n) { snprintf(text, n, "%016llx\n", (unsigned long long)st_job()); }

static void done_path(char *path, size_t n, int rank) {
    snprintf(path, n, "%s.parts/rank-%d.done", st_options.output, rank);
}

void st_gather_start(void) {
    char path[4096];
    done_path(path, sizeof path, st_shared.rank);
    if (!st_parts_are_planted(st_options.output)) unlink(path);
}

/* -- ranks other than 0 ---------------------------------------------------------------------------------- */

/* Save the part, then create the .done file. */
static void give(void) {
    char path[4096], name[32];
    if (st_save_part(true) != ST_OK) return;
    job_text(name, sizeof name);
    done_path(path, sizeof path, st_shared.rank);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || write(file, name, strlen(name)) != (ssize_t)strlen(name)) st_warn("cannot write %s", path);
    if (file >= 0) close(file);
}

/* -- rank 0 ------------------------------------------------------------------------------------------------ */

/* Is the rank done in this job? */
static bool is_done(int rank) {
    char path[4096], name[32], text[32] = "";
    job_text(name, sizeof name);
    done_path(path, sizeof path, rank);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) close(file);
    return n > 0 && !strcmp(text, name);
}

/* Number of ranks that are done, of those in `done`. To open the folder makes network file systems look again. */
static int count_done(bool *done) {
    char path[4096];
    int rank, n = 0;
    snprintf(path, sizeof path, "%s.parts", st_options.output);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (sscanf(entry->d_name, "rank-%d.done", &rank) == 1 && strstr(entry->d_name, ".done") && rank > 0 &&
            rank < st_shared.nprocs && !done[rank])
            done[rank] = is_done(rank);
    if (folder) closedir(folder);
    for (rank = 1; rank < st_shared.nprocs; rank++) n += done[rank];
    return n;
}

/* Wait until all ranks are done. Return false where none is for the limit; the limit counts from the last one. */
static bool wait_for_all(void) {
    bool *done = calloc((size_t)st_shared.nprocs, sizeof *done);
    int n = 0, left = st_shared.nprocs - 1;
    useconds_t sleep_us = ST_FIRST_SLEEP_US;
    int64_t since = st_now();
    while (done && n < left && st_now() - since < st_options.wait_limit * INT64_C(1000000000)) {
        int before = n;
        n = count_done(done);
        if (n > before) since = st_now(), sleep_us = ST_FIRST_SLEEP_US;
        if (n < left) st_sleep_longer(&sleep_us);
    }
    free(done);
    if (n == left) return true;
    st_warn("%d of the %d ranks of mpi://WORLD did not end within %d s of each other, or used no session; what was "
            "recorded is saved: scalatrace merge %s.parts makes a trace",
            left - n, st_shared.nprocs, st_options.wait_limit, st_options.output);
    return false;
}

/* Merge a part into the core, under the lock. */
static bool merge_part(int rank) {
    char path[4096], reason[512] = "";
    void *bytes = NULL;
    size_t n = 0;
    st_part_path(path, sizeof path, rank);
    st_core *part = st_core_read_part(path, reason, sizeof reason);
    bool packed = part && st_core_pack(part, &bytes, &n) == ST_OK;
    int error = packed ? st_core_merge(st_shared.core, bytes, n) : ST_E_FORMAT;
    if (error < 0)
        st_warn("the part of rank %d cannot be merged: %s", rank, packed ? st_core_error(st_shared.core) : reason);
    if (packed) st_free(bytes);
    if (part) st_core_free(part);
    return error >= 0;
}

static bool merge_all(void) {
    bool was_busy, all = true;
    st_part_preserve();
    if (!st_hold_to_save(&was_busy)) return false;
    for (int rank = 1; all && rank < st_shared.nprocs; rank++) all = merge_part(rank);
    st_release(was_busy);
    return all;
}

bool st_gather(void) {
    if (st_shared.rank) {
        give();
        return false;
    }
    if (wait_for_all() && merge_all()) return true;
    st_save_part(true);
    return false;
}

void st_gather_discard(void) {
    char path[4096];
    st_part_discard();
    if (st_parts_are_planted(st_options.output)) return;
    for (int rank = 1; rank < st_shared.nprocs; rank++) {
        st_part_path(path, sizeof path, rank);
        unlink(path);
        done_path(path, sizeof path, rank);
        unlink(path);
    }
    st_parts_remove_directory();
}
