//: Psend_init | tally comms out requests
static void $op(int partitions, long count, int type, int dest, int tag, int comm) {
    const void *data = out(0, partitions * count, type);
    CALL($op, 0, MPI_$op(data, partitions, count, types[type].handle, dest, tag, comms[comm] $after));
}

//: Precv_init | tally comms types room requests
static void $op(int partitions, long count, int type, int source, int tag, int comm) {
    void *data = room(0, partitions * count, type);
    CALL($op, 0, MPI_$op(data, partitions, count, types[type].handle, source, tag, comms[comm] $after));
}

//: Pready | tally of_age
static void $op(int partition, int age) { CALL($op, 0, MPI_$op(partition, of_age(age)->handle)); }

//: Pready_range | tally of_age
static void $op(int low, int high, int age) { CALL($op, 0, MPI_$op(low, high, of_age(age)->handle)); }

//: Pready_list | tally of_age arrays
static void $op(int n, int partitions, int age) {
    CALL($op, 0, MPI_$op(n, (int *)arrays[partitions].at, of_age(age)->handle));
}

//: Parrived | tally of_age
static void $op(int age, int partition) {
    int flag = 0;
    POLL($op, MPI_$op(of_age(age)->handle, partition, &flag));
}
