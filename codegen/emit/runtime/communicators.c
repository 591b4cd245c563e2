//: Comm_dup | tally comms
static void $op(int comm, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], &handle));
    adopt(made, handle);
}

//: Comm_dup_with_info | tally comms
static void $op(int comm, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], MPI_INFO_NULL, &handle));
    adopt(made, handle);
}

//: Comm_idup | tally comms requests
static void $op(int comm, int made) {
    CALL($op, 0, MPI_$op(comms[comm], &comms[made], request(0)));
    own[made] = own[comm];
    size[made] = size[comm];
    $made(made);
}

//: Comm_idup_with_info | tally comms requests
static void $op(int comm, int made) {
    CALL($op, 0, MPI_$op(comms[comm], MPI_INFO_NULL, &comms[made], request(0)));
    own[made] = own[comm];
    size[made] = size[comm];
    $made(made);
}

//: Comm_split | tally comms
static void $op(int comm, int color, int key, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], color, key, &handle));
    adopt(made, handle);
}

//: Comm_split_type | tally comms
static void $op(int comm, int kind, int key, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], kind, key, MPI_INFO_NULL, &handle));
    adopt(made, handle);
}

//: Comm_create | tally comms group
static void $op(int comm, int members, int made) {
    MPI_Comm handle;
    MPI_Group group = group_of(comm, members);
    CALL($op, 0, MPI_$op(comms[comm], group, &handle));
    MPI_Group_free(&group);
    adopt(made, handle);
}

//: Comm_create_group | tally comms group
static void $op(int comm, int members, int tag, int made) {
    MPI_Comm handle;
    MPI_Group group = group_of(comm, members);
    CALL($op, 0, MPI_$op(comms[comm], group, tag, &handle));
    MPI_Group_free(&group);
    adopt(made, handle);
}

//: Intercomm_create | tally comms
static void $op(int comm, int local_leader, int peer_comm, int remote_leader, int tag, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], local_leader, comms[peer_comm], remote_leader, tag, &handle));
    adopt(made, handle);
}

//: Intercomm_merge | tally comms
static void $op(int comm, int high, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], high, &handle));
    adopt(made, handle);
}

//: Comm_free Comm_disconnect | tally comms
static void $op(int comm) { CALL($op, 0, MPI_$op(&comms[comm])); }

//: Cart_create | tally comms arrays
static void $op(int comm, int ndims, int dims, int periods, int reorder, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], ndims, arrays[dims].at, arrays[periods].at, reorder, &handle));
    adopt(made, handle);
}

//: Cart_sub | tally comms arrays
static void $op(int comm, int remain, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], arrays[remain].at, &handle));
    adopt(made, handle);
}

//: Graph_create | tally comms arrays
static void $op(int comm, int nodes, int index, int edges, int reorder, int made) {
    MPI_Comm handle;
    CALL($op, 0, MPI_$op(comms[comm], nodes, arrays[index].at, arrays[edges].at, reorder, &handle));
    adopt(made, handle);
}
