/* objects.c - the tables of windows and files. */
#include "handles/objects.h"

#include <stdlib.h>

#include "base/lock.h"
#include "base/map.h"
#include "events/comms.h"
#include "events/selection.h"

static struct st_map windows, files; /* handle -> struct st_object * */
static struct st_object unknown = {.comm = {.name = ST_COMM_NULL}, .ordinal = ST_UNDEFINED};

/* Forget a window or file; no effect for an unknown one. */
static void forget(struct st_map *map, uint64_t key) {
    uint64_t old;
    if (st_map_drop(map, key, &old)) free((void *)(uintptr_t)old);
}

/* Insert a window or file, in place of one whose handle MPI uses again. Out of memory: it will be unknown. */
static int64_t insert(struct st_map *map, uint64_t key, const struct st_comm *comm, int64_t ordinal) {
    forget(map, key);
    struct st_object *object = malloc(sizeof *object);
    if (!object) return ordinal;
    *object = (struct st_object){.comm = *comm, .ordinal = ordinal};
    if (!st_map_put(map, key, (uintptr_t)object)) free(object);
    return ordinal;
}

/* The object has a copy of the communicator, which may be freed first; the selection is decided on it now. */
int64_t st_win_created(struct st_call *call, MPI_Comm comm, MPI_Win win) {
    st_set_comm(call, comm);
    if (st_selection.by_comm) st_comm_selected(call->comm, comm);
    return insert(&windows, ST_KEY(win), call->comm, call->comm->windows++);
}

int64_t st_file_created(struct st_call *call, MPI_Comm comm, MPI_File file) {
    st_set_comm(call, comm);
    if (st_selection.by_comm) st_comm_selected(call->comm, comm);
    return insert(&files, ST_KEY(file), call->comm, call->comm->files++);
}

int64_t st_set_removed_object(struct st_call *call) {
    call->comm = &call->object.comm;
    call->event.self = call->object.comm.self;
    call->event.size = call->object.comm.size;
    return call->object.ordinal;
}

/* Copy the description from a table; unknown ones have no communicator. */
static int64_t set_object(struct st_call *call, const struct st_map *map, uint64_t key) {
    uint64_t *known = st_map_find(map, key);
    call->object = known ? *(struct st_object *)(uintptr_t)*known : unknown;
    return st_set_removed_object(call);
}

int64_t st_set_win(struct st_call *call, MPI_Win win) { return set_object(call, &windows, ST_KEY(win)); }
int64_t st_set_file(struct st_call *call, MPI_File file) { return set_object(call, &files, ST_KEY(file)); }

void st_select_win(struct st_call *call, MPI_Win win) {
    if (!st_lock()) return;
    st_set_win(call, win);
    if (!call->object.comm.selected) st_skip(call);
    st_unlock();
}

void st_select_file(struct st_call *call, MPI_File file) {
    if (!st_lock()) return;
    st_set_file(call, file);
    if (!call->object.comm.selected) st_skip(call);
    st_unlock();
}

void st_set_split_recorded(struct st_call *call, MPI_File file) {
    uint64_t *known = st_map_find(&files, ST_KEY(file));
    if (known) ((struct st_object *)(uintptr_t)*known)->split_recorded = !call->skipped;
}

void st_follow_begin(struct st_call *call, MPI_File file) {
    if (!st_lock()) return;
    st_set_file(call, file);
    if (!call->object.split_recorded) st_skip(call);
    st_unlock();
}

static void remove_object(struct st_call *call, struct st_map *map, uint64_t key) {
    bool was_busy;
    call->object = unknown;
    if (!st_hold(&was_busy)) return;
    set_object(call, map, key);
    forget(map, key);
    st_release(was_busy);
}

/* The call that was to free it failed. */
static void restore_object(struct st_call *call, struct st_map *map, uint64_t key) {
    if (call->object.ordinal == ST_UNDEFINED || !st_lock()) return;
    insert(map, key, &call->object.comm, call->object.ordinal);
    st_unlock();
}

void st_win_restore(struct st_call *call, MPI_Win win) { restore_object(call, &windows, ST_KEY(win)); }
void st_file_restore(struct st_call *call, MPI_File file) { restore_object(call, &files, ST_KEY(file)); }

void st_win_remove(struct st_call *call, MPI_Win win) { remove_object(call, &windows, ST_KEY(win)); }
void st_file_remove(struct st_call *call, MPI_File file) { remove_object(call, &files, ST_KEY(file)); }
