/* objects.c - windows and files: named by the communicator they were made on and their ordinal on it. */
#include <stdlib.h>

#include "shim.h"

static struct st_map windows, files; /* handle -> struct st_object * */
static struct st_object nothing = {.comm = {.name = ST_COMM_NULL}, .ordinal = ST_UNDEFINED};

static void forget(struct st_map *map, uint64_t key) {
    uint64_t old;
    if (st_map_drop(map, key, &old)) free((void *)(uintptr_t)old);
}

static int64_t made(struct st_map *map, uint64_t key, const struct st_comm *comm, int64_t ordinal) {
    forget(map, key);
    struct st_object *object = malloc(sizeof *object);
    if (!object) return ordinal;
    *object = (struct st_object){.comm = *comm, .ordinal = ordinal};
    if (!st_map_put(map, key, (uintptr_t)object)) free(object);
    return ordinal;
}

int64_t st_win_made(struct st_call *call, MPI_Comm comm, MPI_Win win) {
    st_on_comm(call, comm);
    if (st_selection.by_comm) st_comm_chosen(call->comm, comm);
    return made(&windows, ST_KEY(win), call->comm, call->comm->windows++);
}

int64_t st_file_made(struct st_call *call, MPI_Comm comm, MPI_File file) {
    st_on_comm(call, comm);
    if (st_selection.by_comm) st_comm_chosen(call->comm, comm);
    return made(&files, ST_KEY(file), call->comm, call->comm->files++);
}

int64_t st_on_taken(struct st_call *call) {
    call->comm = &call->object.comm;
    call->event.self = call->object.comm.self;
    call->event.size = call->object.comm.size;
    return call->object.ordinal;
}

static int64_t on(struct st_call *call, const struct st_map *map, uint64_t key) {
    uint64_t *found = st_map_find(map, key);
    call->object = found ? *(struct st_object *)(uintptr_t)*found : nothing;
    return st_on_taken(call);
}

int64_t st_on_win(struct st_call *call, MPI_Win win) { return on(call, &windows, ST_KEY(win)); }
int64_t st_on_file(struct st_call *call, MPI_File file) { return on(call, &files, ST_KEY(file)); }

void st_select_win(struct st_call *call, MPI_Win win) {
    st_lock();
    st_on_win(call, win);
    if (!call->object.comm.chosen) st_skip(call);
    st_unlock();
}

void st_select_file(struct st_call *call, MPI_File file) {
    st_lock();
    st_on_file(call, file);
    if (!call->object.comm.chosen) st_skip(call);
    st_unlock();
}

/* A split collective ends as it began; a file has one under way at most. */
void st_begun(struct st_call *call, MPI_File file) {
    uint64_t *found = st_map_find(&files, ST_KEY(file));
    if (found) ((struct st_object *)(uintptr_t)*found)->begun = !call->skipped;
}

void st_follow_begin(struct st_call *call, MPI_File file) {
    st_lock();
    st_on_file(call, file);
    if (!call->object.begun) st_skip(call);
    st_unlock();
}

static void take(struct st_call *call, struct st_map *map, uint64_t key) {
    bool before = st_hold();
    on(call, map, key);
    forget(map, key);
    st_release(before);
}

void st_win_take(struct st_call *call, MPI_Win win) { take(call, &windows, ST_KEY(win)); }
void st_file_take(struct st_call *call, MPI_File file) { take(call, &files, ST_KEY(file)); }
