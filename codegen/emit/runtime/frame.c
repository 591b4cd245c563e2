//: rank |
static int rank; /* of this process in MPI_COMM_WORLD */

//: stop | rank
static void stop(const char *what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

//: sized | types base
static void sized$_c(struct type *t, MPI_Datatype handle, int derived) {
    MPI_Aint lb;
    t->handle = handle;
    if (derived) MPI_Type_commit(&t->handle);
    MPI_Type_size$_c(handle, &t->size);
    MPI_Type_get_extent(handle, &lb, &t->extent);
    MPI_Type_get_true_extent(handle, &t->true_lb, &t->true_extent);
}

//: made | sized
/* Keeps a datatype, which must be as large as in the application. */
static void made$_c(int type, MPI_Datatype handle, $count bytes, long extent, int derived) {
    struct type *t = &types[type];
    sized$_c(t, handle, derived);
    if (extent == 0 && bytes == 0) t->size = 0, t->extent = 0;
    if (t->size != bytes || t->extent != extent) stop("a datatype has another size here than in the application");
}

//: listed | sized lists
/* Keeps one of a list of datatypes. */
static void listed$_c(int list, int i, MPI_Datatype handle, int derived) {
    sized$_c(&lists[list].each[i], handle, derived);
    lists[list].handles[i] = lists[list].each[i].handle;
}

//: fitting | base
/* Whether there are as many ranks as the application had. */
static int fitting(int ranks) {
    if (ranks != RANKS && rank == 0) fprintf(stderr, "this benchmark is for %d ranks, not for %d\n", RANKS, ranks);
    return ranks == RANKS;
}

//: prepare | comms tally
static void prepare(void) {
    adopt(WORLD, MPI_COMM_WORLD);
    adopt(SELF, MPI_COMM_SELF);
    comms[NONE] = MPI_COMM_NULL;
    $setup;
    measure_own_time();
}

//: main | tally comms
/* One line per operation: calls, bytes handed over, seconds, of all ranks together. */
static void report(void) {
    int n = 0, most = 0;
    for (struct tally *t = tallies; t; t = t->next) n++;
    MPI_Allreduce(&n, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%-24s %12s %16s %12s\n", "operation", "calls", "bytes", "seconds");
    for (;;) { /* the first name that is left on any rank */
        char mine[32] = "~", first[32] = "~", (*all)[32] = memory(RANKS * sizeof *all);
        for (struct tally *t = tallies; t; t = t->next)
            if (t->calls && strcmp(t->op, mine) < 0) snprintf(mine, sizeof mine, "%s", t->op);
        MPI_Allgather(mine, 32, MPI_CHAR, all, 32, MPI_CHAR, MPI_COMM_WORLD);
        for (int i = 0; i < RANKS; i++)
            if (strcmp(all[i], first) < 0) memcpy(first, all[i], sizeof first);
        free(all);
        if (first[0] == '~') return;
        double own_part[3] = {0, 0, 0}, total[3];
        for (struct tally *t = tallies; t; t = t->next)
            if (!strcmp(t->op, first)) {
                own_part[0] += (double)t->calls, own_part[1] += t->bytes;
                own_part[2] += all_seconds(t);
                t->calls = 0;
            }
        MPI_Reduce(own_part, total, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) printf("%-24s %12.0f %16.0f %12.6f\n", first, total[0], total[1], total[2]);
    }
}

int main(int argc, char **argv) {
    int ranks, profile = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--profile")) profile = 1;
        if (!strcmp(argv[i], "--sleep")) sleeps = 1;
    }
    $init;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!$fitting) {
        MPI_Finalize();
        return 2;
    }
    prepare();
    measures = profile;
    double start = now();
    benchmark();
    double seconds = now() - start;
    if (profile) report();
    if (rank == 0) printf("%.6f s\n", seconds);
    MPI_Finalize();
    return 0;
}
