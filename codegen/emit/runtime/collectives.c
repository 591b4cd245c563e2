//: Barrier Ibarrier Barrier_init | tally comms requests?
static void $op(int comm) { CALL($op, 0, MPI_$op(comms[comm] $after)); }

//: is_root | comms
/* Whether this process is the root; in an intercommunicator it says so itself. */
static int is_root(int root, int comm) { return root == MPI_ROOT || (root == own[comm] && root >= 0); }

//: Bcast Ibcast Bcast_init | tally comms out room settle bytes is_root requests?
static void $op(int count, int type, int root, int comm) {
    int sends = is_root(root, comm);
    void *data = sends ? out(0, count, type) : room(0, count, type);
    CALL($op, sends ? bytes(count, type) : 0, MPI_$op(data, count, types[type].handle, root, comms[comm] $after));
    settle();
}

//: Reduce Ireduce Reduce_init | tally comms out room settle bytes is_root requests?
static void $op(int count, int type, MPI_Op op, int root, int comm, int in_place) {
    void *result = is_root(root, comm) ? room(0, count, type) : NULL;
    const void *data = in_place ? MPI_IN_PLACE : out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(data, result, count, types[type].handle, op, root, comms[comm] $after));
    settle();
}

//: Allreduce Iallreduce Allreduce_init Scan Iscan Scan_init Exscan Iexscan Exscan_init | tally comms out room settle bytes requests?
static void $op(int count, int type, MPI_Op op, int comm, int in_place) {
    void *result = room(0, count, type);
    const void *data = in_place ? MPI_IN_PLACE : out(0, count, type);
    CALL($op, bytes(count, type), MPI_$op(data, result, count, types[type].handle, op, comms[comm] $after));
    settle();
}

//: Reduce_scatter_block Ireduce_scatter_block Reduce_scatter_block_init | tally comms out room settle bytes requests?
static void $op(int count, int type, MPI_Op op, int comm, int in_place) {
    long all = (long)count * size[comm];
    void *result = room(0, in_place ? all : count, type);
    const void *data = in_place ? MPI_IN_PLACE : out(0, all, type);
    CALL($op, bytes((double)all, type), MPI_$op(data, result, count, types[type].handle, op, comms[comm] $after));
    settle();
}

//: Reduce_scatter Ireduce_scatter Reduce_scatter_init | tally comms arrays out room settle bytes sum requests?
static void $op(int counts, int type, MPI_Op op, int comm, int in_place) {
    long all = (long)sum(counts);
    void *result = room(0, in_place ? all : arrays[counts].at[own[comm]], type);
    const void *data = in_place ? MPI_IN_PLACE : out(0, all, type);
    CALL($op, bytes((double)all, type),
         MPI_$op(data, result, arrays[counts].at, types[type].handle, op, comms[comm] $after));
    settle();
}

//: some |
/* What does not mean anything on a rank has no count. */
static int some(int count) { return count > 0 ? count : 0; }

//: Gather Igather Gather_init | tally comms out room settle bytes some is_root requests?
static void $op(int sends, int sendtype, int recvs, int recvtype, int root, int comm, int in_place) {
    void *all = is_root(root, comm) ? room(0, (long)some(recvs) * size[comm], recvtype) : NULL;
    const void *data = in_place ? MPI_IN_PLACE : out(0, some(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some(sends), types[sendtype].handle, all, some(recvs), types[recvtype].handle, root,
                 comms[comm] $after));
    settle();
}

//: Scatter Iscatter Scatter_init | tally comms out room settle bytes some is_root requests?
static void $op(int sends, int sendtype, int recvs, int recvtype, int root, int comm, int in_place) {
    const void *all = is_root(root, comm) ? out(0, (long)some(sends) * size[comm], sendtype) : NULL;
    void *data = in_place ? MPI_IN_PLACE : room(0, some(recvs), recvtype);
    CALL($op, all ? bytes(sends, sendtype) * size[comm] : 0,
         MPI_$op(all, some(sends), types[sendtype].handle, data, some(recvs), types[recvtype].handle, root,
                 comms[comm] $after));
    settle();
}

//: Allgather Iallgather Allgather_init | tally comms out room settle bytes some requests?
static void $op(int sends, int sendtype, int recvs, int recvtype, int comm, int in_place) {
    void *all = room(0, (long)recvs * size[comm], recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out(0, some(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some(sends), types[sendtype].handle, all, recvs, types[recvtype].handle, comms[comm] $after));
    settle();
}

//: Alltoall Ialltoall Alltoall_init | tally comms out room settle bytes some requests?
static void $op(int sends, int sendtype, int recvs, int recvtype, int comm, int in_place) {
    void *all = room(0, (long)recvs * size[comm], recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out(0, (long)some(sends) * size[comm], sendtype);
    CALL($op, bytes(sends, sendtype) * size[comm],
         MPI_$op(data, some(sends), types[sendtype].handle, all, recvs, types[recvtype].handle, comms[comm] $after));
    settle();
}

//: reach | arrays
/* The first element and the number of elements that pieces lie in. */
static long reach(int counts, int displs, long *first) {
    long low = 0, high = 0;
    int any = 0;
    for (int i = 0; i < arrays[counts].n; i++) {
        long n = arrays[counts].at[i], d = arrays[displs].at[i];
        if (n <= 0) continue;
        if (!any || d < low) low = d;
        if (!any || d + n > high) high = d + n;
        any = 1;
    }
    *first = low;
    return high - low;
}

//: out_vector | out reach
static void *out_vector(int counts, int displs, int type) {
    long first, n = reach(counts, displs, &first);
    return out(first, n, type);
}

//: room_vector | room reach
static void *room_vector(int counts, int displs, int type) {
    long first, n = reach(counts, displs, &first);
    return room(first, n, type);
}

//: Gatherv Igatherv Gatherv_init | tally comms out settle bytes some is_root room_vector requests?
static void $op(int sends, int sendtype, int counts, int displs, int recvtype, int root, int comm, int in_place) {
    void *all = is_root(root, comm) ? room_vector(counts, displs, recvtype) : NULL;
    const void *data = in_place ? MPI_IN_PLACE : out(0, some(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some(sends), types[sendtype].handle, all, arrays[counts].at, arrays[displs].at,
                 types[recvtype].handle, root, comms[comm] $after));
    settle();
}

//: Scatterv Iscatterv Scatterv_init | tally comms room settle bytes sum some is_root out_vector requests?
static void $op(int counts, int displs, int sendtype, int recvs, int recvtype, int root, int comm, int in_place) {
    const void *all = is_root(root, comm) ? out_vector(counts, displs, sendtype) : NULL;
    void *data = in_place ? MPI_IN_PLACE : room(0, some(recvs), recvtype);
    CALL($op, all ? bytes(sum(counts), sendtype) : 0,
         MPI_$op(all, arrays[counts].at, arrays[displs].at, types[sendtype].handle, data, some(recvs),
                 types[recvtype].handle, root, comms[comm] $after));
    settle();
}

//: Allgatherv Iallgatherv Allgatherv_init | tally comms out settle bytes some room_vector requests?
static void $op(int sends, int sendtype, int counts, int displs, int recvtype, int comm, int in_place) {
    void *all = room_vector(counts, displs, recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out(0, some(sends), sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, some(sends), types[sendtype].handle, all, arrays[counts].at, arrays[displs].at,
                 types[recvtype].handle, comms[comm] $after));
    settle();
}

//: Alltoallv Ialltoallv Alltoallv_init | tally comms settle bytes sum out_vector room_vector requests?
static void $op(int sends, int sdispls, int sendtype, int recvs, int rdispls, int recvtype, int comm, int in_place) {
    void *all = room_vector(recvs, rdispls, recvtype);
    const void *data = in_place ? MPI_IN_PLACE : out_vector(sends, sdispls, sendtype);
    CALL($op, bytes(sum(sends), sendtype),
         MPI_$op(data, arrays[sends].at, arrays[sdispls].at, types[sendtype].handle, all, arrays[recvs].at,
                 arrays[rdispls].at, types[recvtype].handle, comms[comm] $after));
    settle();
}
