//: typed | arrays lists out_bytes room_bytes
/* Memory of pieces that have places in bytes and a datatype each. */
static void *typed$_c(int counts, int displs, int list, int sends) {
    long low = 0, high = 0;
    for (int i = 0; i < arrays[counts].n; i++) {
        const struct type *t = &lists[list].each[i];
        long n = $at(counts, i), start = $at(displs, i);
        if (n <= 0) continue;
        long last_one = start + (n - 1) * t->extent;
        long from = (last_one < start ? last_one : start) + t->true_lb;
        long end = (last_one < start ? start : last_one) + t->true_lb + t->true_extent;
        if (from < low) low = from;
        if (end > high) high = end;
    }
    return (char *)(sends ? out_bytes((size_t)(high - low)) : room_bytes((size_t)(high - low))) - low;
}

//: volume | arrays lists
static double volume$_c(int counts, int list) {
    double total = 0;
    for (int i = 0; i < arrays[counts].n; i++) total += (double)$at(counts, i) * lists[list].each[i].size;
    return total;
}

//: Alltoallw Ialltoallw Alltoallw_init | tally comms typed volume settle requests?
static void $op(int sends, int sdispls, int sendtypes, int recvs, int rdispls, int recvtypes, int comm, int in_place) {
    void *all = typed$_c(recvs, rdispls, recvtypes, 0);
    const void *data = in_place ? MPI_IN_PLACE : typed$_c(sends, sdispls, sendtypes, 1);
    CALL($op, in_place ? 0 : volume$_c(sends, sendtypes),
         MPI_$op(data, $counts(sends), $places(sdispls), lists[sendtypes].handles, all, $counts(recvs),
                 $places(rdispls), lists[recvtypes].handles, comms[comm] $after));
    settle();
}

//: addresses | arrays room_bytes
static MPI_Aint *addresses$_c(int displs) {
    MPI_Aint *made = room_bytes((size_t)arrays[displs].n * sizeof *made);
    for (int i = 0; i < arrays[displs].n; i++) made[i] = $at(displs, i);
    return made;
}

//: Neighbor_alltoallw Ineighbor_alltoallw Neighbor_alltoallw_init | tally comms typed volume addresses settle requests?
static void $op(int sends, int sdispls, int sendtypes, int recvs, int rdispls, int recvtypes, int comm) {
    void *all = typed$_c(recvs, rdispls, recvtypes, 0);
    const void *data = typed$_c(sends, sdispls, sendtypes, 1);
    MPI_Aint *from = addresses$_c(sdispls), *to = addresses$_c(rdispls);
    CALL($op, volume$_c(sends, sendtypes),
         MPI_$op(data, $counts(sends), from, lists[sendtypes].handles, all, $counts(recvs), to,
                 lists[recvtypes].handles, comms[comm] $after));
    settle();
}
