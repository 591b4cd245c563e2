//: Send Ssend Rsend | tally comms out bytes
static void $op($count count, int type, int dest, int tag, int comm) {
    CALL($op, bytes(count, type), MPI_$op(out(0, count, type), count, types[type].handle, dest, tag, comms[comm]));
}

//: Bsend | tally comms out bytes buffered
static void $op($count count, int type, int dest, int tag, int comm) {
    buffered();
    CALL($op, bytes(count, type), MPI_$op(out(0, count, type), count, types[type].handle, dest, tag, comms[comm]));
}

//: Isend Issend Irsend Send_init Ssend_init Rsend_init | tally comms out bytes requests
static void $op($count count, int type, int dest, int tag, int comm) {
    const void *data = out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(data, count, types[type].handle, dest, tag, comms[comm] $after));
}

//: Ibsend Bsend_init | tally comms out bytes buffered requests
static void $op($count count, int type, int dest, int tag, int comm) {
    const void *data = out(0, count, type);
    buffered();
    CALL($op, bytes(count, type), MPI_$op(data, count, types[type].handle, dest, tag, comms[comm] $after));
}

//: Recv | tally comms types landing
static void $op($count count, int type, int source, int tag, int comm) {
    void *data = landing(count, type);
    CALL($op, 0, MPI_$op(data, count, types[type].handle, source, tag, comms[comm], MPI_STATUS_IGNORE));
}

//: Irecv Recv_init | tally comms types room requests
static void $op($count count, int type, int source, int tag, int comm) {
    void *data = room(0, count, type);
    CALL($op, 0, MPI_$op(data, count, types[type].handle, source, tag, comms[comm] $after));
}

//: Sendrecv | tally comms out landing bytes
static void $op($count sends, int sendtype, int dest, int sendtag, $count recvs, int recvtype, int source, int recvtag,
                int comm) {
    void *data = landing(recvs, recvtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(out(0, sends, sendtype), sends, types[sendtype].handle, dest, sendtag, data, recvs,
                 types[recvtype].handle, source, recvtag, comms[comm], MPI_STATUS_IGNORE));
}

//: Isendrecv | tally comms out room requests bytes
static void $op($count sends, int sendtype, int dest, int sendtag, $count recvs, int recvtype, int source, int recvtag,
                int comm) {
    void *data = room(0, recvs, recvtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(out(0, sends, sendtype), sends, types[sendtype].handle, dest, sendtag, data, recvs,
                 types[recvtype].handle, source, recvtag, comms[comm] $after));
}

//: Isendrecv_replace | tally comms room requests bytes
static void $op($count count, int type, int dest, int sendtag, int source, int recvtag, int comm) {
    void *data = room(0, count, type);
    CALL($op, bytes(count, type),
         MPI_$op(data, count, types[type].handle, dest, sendtag, source, recvtag, comms[comm] $after));
}

//: Sendrecv_replace | tally comms landing bytes
static void $op($count count, int type, int dest, int sendtag, int source, int recvtag, int comm) {
    void *data = landing(count, type);
    CALL($op, bytes(count, type),
         MPI_$op(data, count, types[type].handle, dest, sendtag, source, recvtag, comms[comm], MPI_STATUS_IGNORE));
}

//: Probe | tally comms
static void $op(int source, int tag, int comm) { CALL($op, 0, MPI_$op(source, tag, comms[comm], MPI_STATUS_IGNORE)); }

//: Iprobe | tally comms
static void $op(int source, int tag, int comm) {
    int flag = 0;
    POLL($op, MPI_$op(source, tag, comms[comm], &flag, MPI_STATUS_IGNORE));
}

//: Mprobe | tally comms message
static void $op(int source, int tag, int comm) {
    MPI_Message found;
    MPI_Status status;
    CALL($op, 0, MPI_$op(source, tag, comms[comm], &found, &status));
    if (source != MPI_PROC_NULL) message(found, &status);
}

//: Improbe | tally comms message
static void $op(int source, int tag, int comm) {
    MPI_Message found;
    MPI_Status status;
    int flag = 0;
    POLL($op, MPI_$op(source, tag, comms[comm], &flag, &found, &status));
    if (source != MPI_PROC_NULL) message(found, &status);
}

//: Mrecv | tally types landing matched enough
static void $op($count count, int type, int age) {
    struct matched found = matched(age);
    count = enough$_c(count, type, found.bytes);
    void *data = landing(count, type);
    CALL($op, 0, MPI_$op(data, count, types[type].handle, &found.handle, MPI_STATUS_IGNORE));
}

//: Imrecv | tally types room matched enough requests
static void $op($count count, int type, int age) {
    struct matched found = matched(age);
    count = enough$_c(count, type, found.bytes);
    void *data = room(0, count, type);
    CALL($op, 0, MPI_$op(data, count, types[type].handle, &found.handle, request(0)));
}

//: Wait | tally of_age ended
static void $op(int age) {
    struct live *r = of_age(age);
    CALL($op, 0, MPI_$op(&r->handle, MPI_STATUS_IGNORE));
    r->gone = !r->persistent;
    ended();
}

//: Test | tally of_age ended
static void $op(int age) {
    struct live *r = of_age(age);
    int flag = 0;
    POLL($op, MPI_$op(&r->handle, &flag, MPI_STATUS_IGNORE));
    r->gone = !r->persistent;
    ended();
}

//: Request_get_status | tally of_age
static void $op(int age) {
    struct live *r = of_age(age);
    int flag = 0;
    POLL($op, MPI_$op(r->handle, &flag, MPI_STATUS_IGNORE));
}

//: Waitall | tally gather scatter
static void $op(int ages) {
    int n = gather(ages);
    CALL($op, 0, MPI_$op(n, handles, statuses));
    scatter(ages, 1);
}

//: Testall | tally gather scatter
static void $op(int ages) {
    int n = gather(ages), flag = 0;
    POLL($op, MPI_$op(n, handles, &flag, statuses));
    scatter(ages, 1);
}

//: is_persistent | gather
static int is_persistent(int ages, int i) { return of_age(arrays[ages].at[i])->persistent; }

//: is_mpich_5 |
static int is_mpich_5(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major = 0;

    PMPI_Get_library_version(version, &length);
    return sscanf(version, "MPICH Version: %d", &major) == 1 && major == 5;
}

//: await_quietly | gather is_persistent is_mpich_5
/* Waits, past any tracer, until a request could complete, and does not complete it. MPI_Request_get_status of MPICH 5
   makes persistent ones inactive, so they are not awaited there. */
static void await_quietly(int ages, int i) {
    int flag = is_persistent(ages, i) && is_mpich_5();
    while (!flag && (PMPI_Request_get_status(handles[i], &flag, MPI_STATUS_IGNORE), !flag)) sched_yield();
}

//: one_of | gather await_quietly
/* What the program saw complete is awaited first. Others may be complete by then too, and MPI takes the first of them:
   those before are kept out of the call. */
static int one_of(int ages, int index) {
    int n = gather(ages);
    if (index == MPI_UNDEFINED) return n;
    await_quietly(ages, index);
    for (int i = 0; i < index; i++) handles[i] = MPI_REQUEST_NULL;
    return n;
}

//: one_done | one_of of_age ended
/* Where an MPI took another one nevertheless, the two change ages. */
static void one_done(int ages, int wanted, int index) {
    if (wanted == MPI_UNDEFINED || index == MPI_UNDEFINED) return;
    struct live *r = of_age(arrays[ages].at[index]), *place = of_age(arrays[ages].at[wanted]);
    r->handle = handles[index];
    if (place != r) {
        struct live other = *place;
        *place = *r;
        *r = other;
    }
    place->gone = !place->persistent;
    ended();
}

//: Waitany | tally one_of one_done
static void $op(int ages, int index) {
    int n = one_of(ages, index), done;
    CALL($op, 0, MPI_$op(n, handles, &done, MPI_STATUS_IGNORE));
    one_done(ages, index, done);
}

//: Testany | tally one_of one_done
static void $op(int ages, int index) {
    int n = one_of(ages, index), done, flag = 0;
    POLL($op, MPI_$op(n, handles, &done, &flag, MPI_STATUS_IGNORE));
    one_done(ages, index, done);
}

//: Waitsome Testsome | tally gather scatter await_quietly
static void $op(int ages) {
    int n = gather(ages), done = 0, left = 0, *indices = memory((size_t)(n + 1) * sizeof *indices);

    for (int i = 0; i < n; i++) {
        left += handles[i] != MPI_REQUEST_NULL;
        await_quietly(ages, i);
    }
    do { /* on one array: to a tracer this is one call */
        CALL($op, 0, MPI_$op(n, handles, &done, indices, statuses));
        left -= done;
    } while (done != MPI_UNDEFINED && left > 0);

    scatter(ages, 1);
    free(indices);
}

//: Start | tally of_age
static void $op(int age) { CALL($op, 0, MPI_$op(&of_age(age)->handle)); }

//: Startall | tally gather scatter
static void $op(int ages) {
    int n = gather(ages);
    CALL($op, 0, MPI_$op(n, handles));
    scatter(ages, 0);
}

//: Cancel | tally of_age
static void $op(int age) { CALL($op, 0, MPI_$op(&of_age(age)->handle)); }

//: Request_free | tally of_age ended
static void $op(int age) {
    struct live *r = of_age(age);
    CALL($op, 0, MPI_$op(&r->handle));
    r->rooms = NULL; /* MPI may still use it */
    r->gone = 1;
    ended();
}

//: Pcontrol | tally
/* Mark where a kernel begins (level 1001) or ends (1002); a tracer reads as many sizes as the kernel names. */
static void $op(int level, const char *kernel, int size0, int size1, int size2, int size3) {
    CALL($op, 0, MPI_$op(level, kernel, size0, size1, size2, size3));
}
