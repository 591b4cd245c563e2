/* parts.c - write and delete part files. */
#define _GNU_SOURCE
#include "process/parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/options.h"
#include "base/state.h"
#include "handles/pending.h"
#include "recording/current.h"
#include "recording/record.h"

/* Under the lock. */
static bool closed;     /* no part may be written any more */
static bool written;    /* this rank has written a part */
static void *preserved; /* this rank's events, packed, once others are merged into the core */
static size_t npreserved;

static void parts_directory(char *path, size_t n) { snprintf(path, n, "%s.parts", st_options.output); }

bool st_parts_are_planted(const char *output) {
    char path[8192];
    snprintf(path, sizeof path, "%s.parts", output);
    return st_has_planted_link(path);
}

void st_part_path(char *path, size_t n, int rank) {
    snprintf(path, n, "%s.parts/rank-%d.part", st_options.output, rank);
}

/* A checkpoint leaves a pending event open. After others were merged, the preserved bytes are written. */
int st_save_part(bool last) {
    char path[4096];
    bool was_busy;
    int error = ST_E_USAGE;
    if (!st_hold_to_save(&was_busy)) return error;
    if (st_shared.core && !closed) {
        parts_directory(path, sizeof path);
        if (!st_parts_are_planted(st_options.output)) mkdir(path, 0777);
        st_part_path(path, sizeof path, st_shared.rank);
        written = true;
        if (last && !preserved) st_pending_flush_all();
        if (!preserved) st_publish_totals(), st_current_publish();
        error = preserved ? st_core_write_packed(st_shared.core, preserved, npreserved, path)
                          : st_core_write_part(st_shared.core, path);
        st_current_remove();
        if (error < 0) st_core_warn(error, "%s", st_core_error(st_shared.core));
    }
    st_release(was_busy);
    return error;
}

/* Out of memory: no part can be written any more, since the core will have others' events. */
void st_part_preserve(void) {
    bool was_busy;
    if (!st_hold_to_save(&was_busy)) return;
    if (!preserved) {
        st_current_publish();
        closed |= st_core_pack(st_shared.core, &preserved, &npreserved) < 0;
        st_current_remove();
    }
    st_release(was_busy);
}

void st_part_discard(void) {
    char path[4096];
    bool was_busy;
    if (st_hold_to_save(&was_busy)) {
        closed = true;
        st_free(preserved);
        preserved = NULL;
        st_release(was_busy);
    }
    st_part_path(path, sizeof path, st_shared.rank);
    if (written && !st_parts_are_planted(st_options.output)) unlink(path);
}

static void unlink_text(const char *output) {
    char path[8192];
    snprintf(path, sizeof path, "%s.parts/README", output);
    unlink(path);
}

void st_parts_report(void) {
    const char *call = st_shared.private_comm == MPI_COMM_NULL ? "MPI_Session_finalize" : "MPI_Finalize";
    char path[4096];
    if (st_parts_are_planted(st_options.output)) return;
    snprintf(path, sizeof path, "%s.parts/README", st_options.output);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return;
    dprintf(file, "Events of a program that ended without %s. A trace of them: scalatrace merge %s.parts\n", call,
            st_options.output);
    close(file);
    st_warn("the program ends without %s; its events are saved: scalatrace merge %s.parts makes a trace", call,
            st_options.output);
}

void st_parts_remove_directory(void) {
    char path[4096];
    if (st_parts_are_planted(st_options.output)) return;
    unlink_text(st_options.output);
    parts_directory(path, sizeof path);
    rmdir(path);
}

void st_parts_discard_stale(const char *output, int rank) {
    char path[8192];
    int part_rank;
    if (st_parts_are_planted(output)) return;
    snprintf(path, sizeof path, "%s.parts", output);
    DIR *folder = opendir(path);
    size_t n = strlen(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (sscanf(entry->d_name, "rank-%d.part", &part_rank) != 1) continue;
        if (part_rank < rank && !strstr(entry->d_name, ".tmp")) continue; /* .tmp: a rank was killed while writing it */
        snprintf(path + n, sizeof path - n, "/%s", entry->d_name);
        unlink(path);
    }
    if (folder) closedir(folder);
    unlink_text(output);
}

void st_parts_discard_own_stale(void) {
    char path[4096];
    st_part_path(path, sizeof path, st_shared.rank);
    if (!st_parts_are_planted(st_options.output)) unlink(path);
    if (st_shared.rank == 0) st_parts_discard_stale(st_options.output, st_shared.nprocs);
}
