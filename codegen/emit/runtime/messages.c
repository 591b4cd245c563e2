//: twin | comms
/* A communicator with the same ranks, where no receive of the program can take a message. */
static MPI_Comm twin(int comm) {
    static MPI_Comm twins[COMMS];
    static int there[COMMS];
    if (!there[comm]) PMPI_Comm_dup(comms[comm], &twins[comm]), there[comm] = 1;
    return twins[comm];
}

//: exchange | tally twin types out room settle bytes
/* Which pieces there are: `count` for the peers from `first` to before `end`, -1 for all others: none. */
static $count *pieces$_c(int comm, int first, int end, $count count) {
    $count *made = memory((size_t)(size[comm] + 1) * sizeof *made);
    for (int p = 0; p < size[comm]; p++) made[p] = p >= first && p < end ? count : -1;
    return made;
}

/* Receives and sends pieces between each pair of ranks directly. */
static void exchange$_c(int comm, $count *in, int intype, $count *from, int outtype) {
    MPI_Comm apart = twin(comm);
    MPI_Request *requests = memory(2 * (size_t)size[comm] * sizeof *requests);
    int n = 0;
    for (int p = 0; p < size[comm]; p++) {
        if (p == own[comm] || in[p] < 0) continue;
        void *data = room(0, in[p], intype);
        MPI_Datatype type = in[p] ? types[intype].handle : MPI_BYTE;
        CALL(Irecv$_c, 0, MPI_Irecv$_c(data, in[p], type, p, 1, apart, &requests[n]));
        n++;
    }
    for (int p = 0; p < size[comm]; p++) {
        if (p == own[comm] || from[p] < 0) continue;
        const void *data = out(0, from[p], outtype);
        MPI_Datatype type = from[p] ? types[outtype].handle : MPI_BYTE;
        CALL(Isend$_c, bytes(from[p], outtype), MPI_Isend$_c(data, from[p], type, p, 1, apart, &requests[n]));
        n++;
    }
    if (n) CALL(Waitall, 0, MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    settle();
    free(requests);
    free(in);
    free(from);
}

//: to_root | exchange
static void to_root$_c(int root, int comm, $count in, int intype, $count from, int outtype) {
    int at_root = own[comm] == root;
    exchange$_c(comm, pieces$_c(comm, 0, at_root ? size[comm] : 0, in), intype,
                pieces$_c(comm, root, at_root ? root : root + 1, from), outtype);
}

//: from_root | exchange
static void from_root$_c(int root, int comm, $count in, int intype, $count from, int outtype) {
    int at_root = own[comm] == root;
    exchange$_c(comm, pieces$_c(comm, root, at_root ? root : root + 1, in), intype,
                pieces$_c(comm, 0, at_root ? size[comm] : 0, from), outtype);
}

//: to_all | exchange
static void to_all$_c(int comm, $count in, int intype, $count from, int outtype) {
    exchange$_c(comm, pieces$_c(comm, 0, size[comm], in), intype, pieces$_c(comm, 0, size[comm], from), outtype);
}

//: copied | exchange arrays
static $count *copied$_c(int counts) {
    $count *made = memory((size_t)(arrays[counts].n + 1) * sizeof *made);
    for (int p = 0; p < arrays[counts].n; p++) made[p] = $at(counts, p);
    return made;
}

//: Barrier_by_messages | to_all
static void $op(int comm) { to_all(comm, 0, 0, 0, 0); }

//: Bcast_by_messages | from_root
static void $op($count count, int type, int root, int comm) { from_root$_c(root, comm, count, type, count, type); }

//: Reduce_by_messages | to_root
static void $op($count count, int type, MPI_Op op, int root, int comm, int in_place) {
    (void)op, (void)in_place;
    to_root$_c(root, comm, count, type, count, type);
}

//: Allreduce_by_messages | to_root from_root
static void $op($count count, int type, MPI_Op op, int comm, int in_place) {
    (void)op, (void)in_place;
    to_root$_c(0, comm, count, type, count, type);
    from_root$_c(0, comm, count, type, count, type);
}

//: Scan_by_messages Exscan_by_messages | exchange
static void $op($count count, int type, MPI_Op op, int comm, int in_place) {
    (void)op, (void)in_place;
    exchange$_c(comm, pieces$_c(comm, 0, own[comm], count), type, pieces$_c(comm, own[comm] + 1, size[comm], count),
                type);
}

//: Reduce_scatter_block_by_messages | to_all
static void $op($count count, int type, MPI_Op op, int comm, int in_place) {
    (void)op, (void)in_place;
    to_all$_c(comm, count, type, count, type);
}

//: Reduce_scatter_by_messages | copied exchange
static void $op(int counts, int type, MPI_Op op, int comm, int in_place) {
    (void)op, (void)in_place;
    exchange$_c(comm, pieces$_c(comm, 0, size[comm], $at(counts, own[comm])), type, copied$_c(counts), type);
}

//: Gather_by_messages | to_root
static void $op($count sends, int sendtype, $count recvs, int recvtype, int root, int comm, int in_place) {
    (void)in_place;
    to_root$_c(root, comm, recvs, recvtype, sends, sendtype);
}

//: Scatter_by_messages | from_root
static void $op($count sends, int sendtype, $count recvs, int recvtype, int root, int comm, int in_place) {
    (void)in_place;
    from_root$_c(root, comm, recvs, recvtype, sends, sendtype);
}

//: Allgather_by_messages Alltoall_by_messages | to_all
static void $op($count sends, int sendtype, $count recvs, int recvtype, int comm, int in_place) {
    to_all$_c(comm, recvs, recvtype, in_place ? recvs : sends, in_place ? recvtype : sendtype);
}

//: Gatherv_by_messages | copied exchange
static void $op($count sends, int sendtype, int counts, int displs, int recvtype, int root, int comm, int in_place) {
    int at_root = own[comm] == root;
    (void)displs, (void)in_place;
    exchange$_c(comm, at_root ? copied$_c(counts) : pieces$_c(comm, 0, 0, 0), recvtype,
                pieces$_c(comm, root, at_root ? root : root + 1, sends), sendtype);
}

//: Scatterv_by_messages | copied exchange
static void $op(int counts, int displs, int sendtype, $count recvs, int recvtype, int root, int comm, int in_place) {
    int at_root = own[comm] == root;
    (void)displs, (void)in_place;
    exchange$_c(comm, pieces$_c(comm, root, at_root ? root : root + 1, recvs), recvtype,
                at_root ? copied$_c(counts) : pieces$_c(comm, 0, 0, 0), sendtype);
}

//: Allgatherv_by_messages | copied exchange
static void $op($count sends, int sendtype, int counts, int displs, int recvtype, int comm, int in_place) {
    (void)displs;
    exchange$_c(comm, copied$_c(counts), recvtype,
                pieces$_c(comm, 0, size[comm], in_place ? $at(counts, own[comm]) : sends),
                in_place ? recvtype : sendtype);
}

//: Alltoallv_by_messages | copied exchange
static void $op(int sends, int sdispls, int sendtype, int recvs, int rdispls, int recvtype, int comm, int in_place) {
    (void)sdispls, (void)rdispls;
    exchange$_c(comm, copied$_c(recvs), recvtype, copied$_c(in_place ? recvs : sends), in_place ? recvtype : sendtype);
}
