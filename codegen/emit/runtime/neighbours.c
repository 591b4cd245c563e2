//: degrees | comms
/* How many ranks the neighbourhood of this one sends to (or, `out` 0, receives from). */
static int degree(int comm, int out) {
    int kind, n = 0, m = 0, weighted;
    MPI_Topo_test(comms[comm], &kind);
    if (kind == MPI_CART) {
        MPI_Cartdim_get(comms[comm], &n);
        return 2 * n;
    }
    if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comms[comm], own[comm], &n);
        return n;
    }
    MPI_Dist_graph_neighbors_count(comms[comm], &n, &m, &weighted);
    return out ? m : n;
}

//: weights | arrays
/* The weights of edges; an array without any is of an unweighted graph, unless the edges of the other side have them. */
static const int *weights(int array, int other) {
    return arrays[array].n || arrays[other].n ? arrays[array].at : MPI_UNWEIGHTED;
}

//: Dist_graph_create_adjacent | tally comms arrays weights
static void $op(int comm, int n, int sources, int inweights, int m, int destinations, int outweights, int reorder,
                int made) {
    MPI_Comm handle;
    CALL($op, 0,
         MPI_$op(comms[comm], n, arrays[sources].at, weights(inweights, outweights), m, arrays[destinations].at,
                 weights(outweights, inweights), MPI_INFO_NULL, reorder, &handle));
    adopt(made, handle);
}

//: Dist_graph_create | tally comms arrays weights
static void $op(int comm, int n, int sources, int degrees, int destinations, int all, int reorder, int made) {
    MPI_Comm handle;
    CALL($op, 0,
         MPI_$op(comms[comm], n, arrays[sources].at, arrays[degrees].at, arrays[destinations].at, weights(all, all),
                 MPI_INFO_NULL, reorder, &handle));
    adopt(made, handle);
}

//: Neighbor_allgather Ineighbor_allgather Neighbor_allgather_init | tally degrees out room settle bytes requests?
static void $op($count sends, int sendtype, $count recvs, int recvtype, int comm) {
    void *all = room(0, (long)recvs * degree(comm, 0), recvtype);
    const void *data = out(0, sends, sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, sends, types[sendtype].handle, all, recvs, types[recvtype].handle, comms[comm] $after));
    settle();
}

//: Neighbor_alltoall Ineighbor_alltoall Neighbor_alltoall_init | tally degrees out room settle bytes requests?
static void $op($count sends, int sendtype, $count recvs, int recvtype, int comm) {
    int n = degree(comm, 1);
    void *all = room(0, (long)recvs * degree(comm, 0), recvtype);
    const void *data = out(0, (long)sends * n, sendtype);
    CALL($op, bytes((double)sends * n, sendtype),
         MPI_$op(data, sends, types[sendtype].handle, all, recvs, types[recvtype].handle, comms[comm] $after));
    settle();
}

//: Neighbor_allgatherv Ineighbor_allgatherv Neighbor_allgatherv_init | tally comms out settle bytes room_vector requests?
static void $op($count sends, int sendtype, int counts, int displs, int recvtype, int comm) {
    void *all = room_vector$_c(counts, displs, recvtype);
    const void *data = out(0, sends, sendtype);
    CALL($op, bytes(sends, sendtype),
         MPI_$op(data, sends, types[sendtype].handle, all, $counts(counts), $places(displs), types[recvtype].handle,
                 comms[comm] $after));
    settle();
}

//: Neighbor_alltoallv Ineighbor_alltoallv Neighbor_alltoallv_init | tally comms settle bytes sum out_vector room_vector requests?
static void $op(int sends, int sdispls, int sendtype, int recvs, int rdispls, int recvtype, int comm) {
    void *all = room_vector$_c(recvs, rdispls, recvtype);
    const void *data = out_vector$_c(sends, sdispls, sendtype);
    CALL($op, bytes(sum$_c(sends), sendtype),
         MPI_$op(data, $counts(sends), $places(sdispls), types[sendtype].handle, all, $counts(recvs), $places(rdispls),
                 types[recvtype].handle, comms[comm] $after));
    settle();
}
