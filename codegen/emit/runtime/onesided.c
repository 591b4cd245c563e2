//: windows | base rooms
/* A window is named by its number among those of its communicator. */
static struct window {
    int number, comm;
    MPI_Win handle;
    struct room *results; /* what MPI fills until some later synchronisation */
    struct window *next;
} *windows;

static struct window *new_window(int number, int comm) {
    struct window *w = memory(sizeof *w);
    w->number = number;
    w->comm = comm;
    w->next = windows;
    return windows = w;
}

static struct window *window(int number, int comm) {
    for (struct window *w = windows; w; w = w->next)
        if (w->number == number && w->comm == comm) return w;
    stop("a window that was not made");
    return NULL;
}

//: complete | windows give_back
/* All calls of this rank on a window are done. */
static void complete(struct window *w) {
    $lock();
    give_back(w->results);
    w->results = NULL;
    $unlock();
}

//: keep | windows taken
/* Lets a window have the memory of a call: MPI writes there until the epoch ends. */
static void keep(struct window *w) {
    struct room **end = &taken;
    while (*end) end = &(*end)->next;
    $lock();
    *end = w->results;
    w->results = taken;
    $unlock();
    taken = NULL;
}

//: Win_create | tally comms windows
static void $op(long n, int unit, int comm, int number) {
    struct window *w = new_window(number, comm);
    void *data = memory((size_t)n);
    CALL($op, 0, MPI_$op(data, n, unit, MPI_INFO_NULL, comms[comm], &w->handle));
}

//: Win_allocate Win_allocate_shared | tally comms windows
static void $op(long n, int unit, int comm, int number) {
    struct window *w = new_window(number, comm);
    void *data = NULL;
    CALL($op, 0, MPI_$op(n, unit, MPI_INFO_NULL, comms[comm], &data, &w->handle));
}

//: Win_create_dynamic | tally comms windows
static void $op(int comm, int number) {
    struct window *w = new_window(number, comm);
    CALL($op, 0, MPI_$op(MPI_INFO_NULL, comms[comm], &w->handle));
}

//: Win_free | tally windows complete
static void $op(int number, int comm) {
    struct window *w = window(number, comm), **at = &windows;
    CALL($op, 0, MPI_$op(&w->handle));
    complete(w);
    $lock();
    while (*at != w) at = &(*at)->next;
    *at = w->next;
    $unlock();
    free(w);
}

//: Win_fence | tally windows complete
static void $op(int how, int number, int comm) {
    CALL($op, 0, MPI_$op(how, window(number, comm)->handle));
    complete(window(number, comm));
}

//: Win_lock_all | tally windows
static void $op(int how, int number, int comm) { CALL($op, 0, MPI_$op(how, window(number, comm)->handle)); }

//: Win_lock | tally windows
static void $op(int kind, int target, int how, int number, int comm) {
    CALL($op, 0, MPI_$op(kind, target, how, window(number, comm)->handle));
}

//: Win_unlock Win_flush Win_flush_local | tally windows
static void $op(int target, int number, int comm) { CALL($op, 0, MPI_$op(target, window(number, comm)->handle)); }

//: Win_unlock_all Win_flush_all Win_flush_local_all Win_complete | tally windows complete
static void $op(int number, int comm) {
    CALL($op, 0, MPI_$op(window(number, comm)->handle));
    complete(window(number, comm));
}

//: Win_sync Win_wait | tally windows
static void $op(int number, int comm) { CALL($op, 0, MPI_$op(window(number, comm)->handle)); }

//: Win_test | tally windows
static void $op(int number, int comm) {
    int flag = 0;
    POLL($op, MPI_$op(window(number, comm)->handle, &flag));
}

//: Win_post Win_start | tally windows group
static void $op(int members, int how, int number, int comm) {
    MPI_Group group = group_of(comm, members);
    CALL($op, 0, MPI_$op(group, how, window(number, comm)->handle));
    MPI_Group_free(&group);
}

//: Put Rput | tally windows out bytes requests?
static void $op($count n, int type, int target, long disp, $count there, int theirs, int number, int comm) {
    CALL($op, bytes(n, type),
         MPI_$op(out(0, n, type), n, types[type].handle, target, disp, there, types[theirs].handle,
                 window(number, comm)->handle $after));
}

//: Get Rget | tally windows keep types room requests?
static void $op($count n, int type, int target, long disp, $count there, int theirs, int number, int comm) {
    void *data = room(0, n, type);
    CALL($op, 0,
         MPI_$op(data, n, types[type].handle, target, disp, there, types[theirs].handle,
                 window(number, comm)->handle $after));
    keep(window(number, comm));
}

//: Accumulate Raccumulate | tally windows out bytes requests?
static void $op($count n, int type, int target, long disp, $count there, int theirs, MPI_Op op, int number, int comm) {
    CALL($op, bytes(n, type),
         MPI_$op(out(0, n, type), n, types[type].handle, target, disp, there, types[theirs].handle, op,
                 window(number, comm)->handle $after));
}

//: Get_accumulate Rget_accumulate | tally windows keep out room bytes requests?
static void $op($count n, int type, $count results, int resulttype, int target, long disp, $count there, int theirs,
                MPI_Op op, int number, int comm) {
    void *data = room(0, results, resulttype);
    CALL($op, bytes(n, type),
         MPI_$op(out(0, n, type), n, types[type].handle, data, results, types[resulttype].handle, target, disp, there,
                 types[theirs].handle, op, window(number, comm)->handle $after));
    keep(window(number, comm));
}

//: Fetch_and_op | tally windows keep out room bytes
static void $op(int type, int target, long disp, MPI_Op op, int number, int comm) {
    void *data = room(0, 1, type);
    CALL($op, bytes(1, type),
         MPI_$op(out(0, 1, type), data, types[type].handle, target, disp, op, window(number, comm)->handle));
    keep(window(number, comm));
}

//: Compare_and_swap | tally windows keep out room bytes
static void $op(int type, int target, long disp, int number, int comm) {
    void *data = room(0, 1, type);
    const void *origin = out(0, 1, type);
    CALL($op, bytes(1, type),
         MPI_$op(origin, origin, data, types[type].handle, target, disp, window(number, comm)->handle));
    keep(window(number, comm));
}
