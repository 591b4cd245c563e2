//: Barrier Ibarrier Barrier_init | tally comms requests?
static void $op(int comm) { CALL($op, 0, MPI_$op(comms[comm] $after)); }

//: is_root | comms
/* Whether this process is the root; in an intercommunicator it says so itself. */
static int is_root(int root, int comm) { return root == MPI_ROOT || (root == own[comm] && root >= 0); }

//: Bcast Ibcast Bcast_init | tally comms out room settle bytes is_root requests?
static void $op($count count, int type, int root, int comm) {
    int sends = is_root(root, comm);
    void *data = sends ? out(0, count, type) : room(0, count, type);
    CALL($op, sends ? bytes(count, type) : 0, MPI_$op(data, count, types[type].handle, root, comms[comm] $after));
    settle();
}

//: Reduce Ireduce Reduce_init | tally comms out room settle bytes is_root requests?
static void $op($count count, int type, MPI_Op op, int root, int comm, int in_place) {
    void *result = is_root(root, comm) ? room(0, count, type) : NULL;
    const void *data = in_place ? MPI_IN_PLACE : out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(data, result, count, types[type].handle, op, root, comms[comm] $after));
    settle();
}

//: Allreduce Iallreduce Allreduce_init Scan Iscan Scan_init Exscan Iexscan Exscan_init | tally comms out room settle bytes requests?
static void $op($count count, int type, MPI_Op op, int comm, int in_place) {
    void *result = room(0, count, type);
    const void *data = in_place ? MPI_IN_PLACE : out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(data, result, count, types[type].handle, op, comms[comm] $after));
    settle();
}

//: Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init | tally comms out room settle bytes requests?
static void $op($count count, int type, MPI_Op op, int comm, int in_place) {
    long all = (long)count * size[comm];
    void *result = room(0, in_place ? all : count, type);
    const void *data = in_place ? MPI_IN_PLACE : out(0, all, type);
    CALL($op, bytes((double)all, type), MPI_$op(data, result, count, types[type].handle, op, comms[comm] $after));
    settle();
}

//: Reduce_scatter Ireduce_scatter Reduce_scatter_init | tally comms arrays out room settle bytes sum requests?
static void $op(int counts, int type, MPI_Op op, int comm, int in_place) {
    long all = (long)sum$_c(counts);
    void *result = room(0, in_place ? all : $at(counts, own[comm]), type);
    const void *data = in_place ? MPI_IN_PLACE : out(0, all, type);
    CALL($op, bytes((double)all, type),
         MPI_$op(data, result, $counts(counts), types[type].handle, op, comms[comm] $after));
    settle();
}

//: some |
/* What does not mean anything on a rank has no count. */
static $count some$_c($count count) { return count > 0 ? count : 0; }

//: Gather Igather Gather_init | tally comms out room settle bytes some is_root requests?
static void $op($count sends, int sendtype, $count recvs, int recvtype, int root, int comm, int in_place) {
    void *all = is_root(root, comm) ? room(0, (long)some$_c(recvs) * size[comm], recvtype) : NULL;
    const void *data = in_place ? MPI_IN_PLACE : out(0, some$_c(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some$_c(sends), types[sendtype].handle, all, some$_c(recvs), types[recvtype].handle, root,
                 comms[comm] $after));
    settle();
}

//: Scatter Iscatter Scatter_init | tally comms out room settle bytes some is_root requests?
static void $op($count sends, int sendtype, $count recvs, int recvtype, int root, int comm, int in_place) {
    const void *all = is_root(root, comm) ? out(0, (long)some$_c(sends) * size[comm], sendtype) : NULL;
    void *data = in_place ? MPI_IN_PLACE : room(0, some$_c(recvs), recvtype);
    CALL($op, all ? bytes(sends, sendtype) * size[comm] : 0,
         MPI_$op(all, some$_c(sends), types[sendtype].handle, data, some$_c(recvs), types[recvtype].handle, root,
                 comms[comm] $after));
    settle();
}

//: Allgather Iallgather Allgather_init | tally comms out room settle bytes some requests?
static void $op($count sends, int sendtype, $count recvs, int recvtype, int comm, int in_place) {
    void *all = room(0, (long)recvs * size[comm], recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out(0, some$_c(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some$_c(sends), types[sendtype].handle, all, recvs, types[recvtype].handle, comms[comm] $after));
    settle();
}

//: Alltoall Ialltoall Alltoall_init | tally comms out room settle bytes some requests?
static void $op($count sends, int sendtype, $count recvs, int recvtype, int comm, int in_place) {
    void *all = room(0, (long)recvs * size[comm], recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out(0, (long)some$_c(sends) * size[comm], sendtype);
    CALL($op, bytes(sends, sendtype) * size[comm],
         MPI_$op(data, some$_c(sends), types[sendtype].handle, all, recvs, types[recvtype].handle, comms[comm] $after));
    settle();
}

//: reach | arrays
/* The first element and the number of elements that pieces lie in. */
static long reach$_c(int counts, int displs, long *first) {
    long low = 0, high = 0;
    int any = 0;
    for (int i = 0; i < arrays[counts].n; i++) {
        long n = $at(counts, i), d = $at(displs, i);
        if (n <= 0) continue;
        if (!any || d < low) low = d;
        if (!any || d + n > high) high = d + n;
        any = 1;
    }
    *first = low;
    return high - low;
}

//: out_vector | out reach
static void *out_vector$_c(int counts, int displs, int type) {
    long first, n = reach$_c(counts, displs, &first);
    return out(first, n, type);
}

//: room_vector | room reach
static void *room_vector$_c(int counts, int displs, int type) {
    long first, n = reach$_c(counts, displs, &first);
    return room(first, n, type);
}

//: Gatherv Igatherv Gatherv_init | tally comms out settle bytes some is_root room_vector requests?
static void $op($count sends, int sendtype, int counts, int displs, int recvtype, int root, int comm, int in_place) {
    void *all = is_root(root, comm) ? room_vector$_c(counts, displs, recvtype) : NULL;
    const void *data = in_place ? MPI_IN_PLACE : out(0, some$_c(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some$_c(sends), types[sendtype].handle, all, $counts(counts), $places(displs),
                 types[recvtype].handle, root, comms[comm] $after));
    settle();
}

//: Scatterv Iscatterv Scatterv_init | tally comms room settle bytes sum some is_root out_vector requests?
static void $op(int counts, int displs, int sendtype, $count recvs, int recvtype, int root, int comm, int in_place) {
    const void *all = is_root(root, comm) ? out_vector$_c(counts, displs, sendtype) : NULL;
    void *data = in_place ? MPI_IN_PLACE : room(0, some$_c(recvs), recvtype);
    CALL($op, all ? bytes(sum$_c(counts), sendtype) : 0,
         MPI_$op(all, $counts(counts), $places(displs), types[sendtype].handle, data, some$_c(recvs),
                 types[recvtype].handle, root, comms[comm] $after));
    settle();
}

//: Allgatherv Iallgatherv Allgatherv_init | tally comms out settle bytes some room_vector requests?
static void $op($count sends, int sendtype, int counts, int displs, int recvtype, int comm, int in_place) {
    void *all = room_vector$_c(counts, displs, recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out(0, some$_c(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some$_c(sends), types[sendtype].handle, all, $counts(counts), $places(displs),
                 types[recvtype].handle, comms[comm] $after));
    settle();
}

//: Alltoallv Ialltoallv Alltoallv_init | tally comms settle bytes sum out_vector room_vector requests?
static void $op(int sends, int sdispls, int sendtype, int recvs, int rdispls, int recvtype, int comm, int in_place) {
    void *all = room_vector$_c(recvs, rdispls, recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out_vector$_c(sends, sdispls, sendtype);
    CALL($op, bytes(sum$_c(sends), sendtype),
         MPI_$op(data, $counts(sends), $places(sdispls), types[sendtype].handle, all, $counts(recvs), $places(rdispls),
                 types[recvtype].handle, comms[comm] $after));
    settle();
}
