//: hosted | rank clock
/* What a replay's process and this library tell each other; replay/run_compiled.py declares the same fields. */
struct tally;

static struct hosted {
    void (*stop)(const char *what); /* ends all ranks */
    uint64_t seed;
    int sleeps, buffer_size;          /* whether to sleep in place of computing; bytes for buffered sends */
    int counts;                       /* whether the kernel's clock is the processor's counter */
    int (*sender)(int comm, int any); /* of a receive's message, or ALL_FIT, UNPLANNED; may be NULL */
    void (*as_any_source)(int on);    /* lets a tracer record that source; may be NULL */
    /* while it runs, for another thread */
    const char *const *places; /* the calls of the text: operation, blank, call site */
    const int *at;             /* the place of the call that is made */
    const long *events;        /* how many were made, with this one */
    const double *due;         /* when the computation before it ends, by CLOCK_MONOTONIC */
    /* in the end */
    const struct tally *tallies;
    double wall, computed, between, delayed; /* seconds */
    long left;                               /* requests that nothing completed */
} *host;

static int at;
static long events;
#define AT(place) (at = (place), events++)

static void stop(const char *what) {
    host->stop(what);
    exit(1);
}

enum { ALL_FIT = -1, UNPLANNED = -2 };

/* The sender of a receive's message, where messages of several lengths from any source can match: the host may have
   planned one. Else UNPLANNED, or ALL_FIT. */
static int planned(int source, MPI_Comm handle) {
    static long asked;
    static int answer;
    if (!host->sender) return ALL_FIT;
    int comm = 0;
    while (comm < COMMS - 1 && comms[comm] != handle) comm++;
    if (source != MPI_ANY_SOURCE) return host->sender(comm, 0);
    if (asked != events) answer = host->sender(comm, 1); /* a poll asks once */
    asked = events;
    if (answer != ALL_FIT && host->as_any_source) host->as_any_source(1);
    return answer;
}

static int arrived(int code) {
    if (host->as_any_source) host->as_any_source(0);
    return code;
}

/* A receive of a message that may be longer than the recorded one. */
static int receive(void *data, int n, MPI_Datatype type, int source, int tag, MPI_Comm handle, MPI_Status *status) {
    static char *room;
    int from = planned(source, handle), size;
    if (from == ALL_FIT || source == MPI_PROC_NULL) return MPI_Recv(data, n, type, source, tag, handle, status);
    MPI_Status here;
    MPI_Count bytes;
    PMPI_Probe(from == UNPLANNED ? source : from, tag, handle, &here);
    PMPI_Get_elements_x(&here, MPI_BYTE, &bytes);
    PMPI_Type_size(type, &size);
    if (size && bytes > (MPI_Count)n * size) {
        MPI_Aint least, extent, true_least, true_extent;
        n = (int)((bytes + size - 1) / size);
        PMPI_Type_get_extent(type, &least, &extent);
        PMPI_Type_get_true_extent(type, &true_least, &true_extent);
        free(room);
        room = malloc((size_t)((n - 1) * extent + true_extent));
        if (!room) stop("out of memory");
        data = room - true_least;
    }
    return arrived(MPI_Recv(data, n, type, here.MPI_SOURCE, tag, handle, status));
}

static int source_of(int source, MPI_Comm handle) {
    int from = planned(source, handle);
    return from < 0 ? source : from;
}

#define MPI_Recv receive
#define MPI_Mprobe(source, tag, comm, message, status)                                                                 \
    arrived(MPI_Mprobe(source_of(source, comm), tag, comm, message, status))
#define MPI_Improbe(source, tag, comm, flag, message, status)                                                          \
    arrived(MPI_Improbe(source_of(source, comm), tag, comm, flag, message, status))

/* Seconds as of the kernel's clock, by the processor's counter: a third of the time per look. */
#if defined(__x86_64__)
static uint64_t first_ticks;
static double first_s, per_tick;

static double now(void) {
    if (per_tick == 0) return kernel_clock();
    return first_s + per_tick * (double)(__builtin_ia32_rdtsc() - first_ticks);
}

/* Both clocks at one moment: of several looks the one that took the fewest ticks. A rank that loses its core between
 * the clocks takes millions of them. */
static double look(uint64_t *ticks) {
    uint64_t least = UINT64_MAX;
    double seconds = 0;
    for (int i = 0; i < 16; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        double read = kernel_clock();
        uint64_t taken = __builtin_ia32_rdtsc() - before;
        if (taken >= least) continue;
        least = taken;
        seconds = read;
        *ticks = before + taken / 2;
    }
    return seconds;
}

/* In 2 ms: one look is uncertain by some 50 ns, the result by one in 20,000. */
static void start_clock(void) {
    uint64_t end_ticks;
    if (!host->counts) return;
    first_s = look(&first_ticks);
    while (kernel_clock() - first_s < 2e-3) {
    }
    double end_s = look(&end_ticks);
    per_tick = (end_s - first_s) / (double)(end_ticks - first_ticks);
}
#else
static double now(void) { return kernel_clock(); }
static void start_clock(void) {}
#endif

//: hosted_main | tally compute
/* The process that has started MPI may want errors to be returned. */
static void failed(MPI_Comm *handle, int *code, ...) {
    char text[MPI_MAX_ERROR_STRING];
    int n;
    (void)handle;
    $tolerate(*code);
    PMPI_Error_string(*code, text, &n);
    stop(text);
}

static MPI_Comm watched[2];
static MPI_Errhandler before[2], own_handler;

void scalatrace_prepare(struct hosted *given) {
    host = given;
    host->places = places, host->at = &at, host->events = &events, host->due = &due;
    sleeps = host->sleeps, measures = 1;
    start_clock();
    watched[0] = MPI_COMM_WORLD, watched[1] = MPI_COMM_SELF;
    PMPI_Comm_create_errhandler(failed, &own_handler);
    for (int i = 0; i < 2; i++) {
        PMPI_Comm_get_errhandler(watched[i], &before[i]);
        PMPI_Comm_set_errhandler(watched[i], own_handler);
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    prepare();
}

void scalatrace_play(void) {
    double start = now();
    benchmark();
    host->wall = now() - start;
    host->tallies = tallies;
    for (struct tally *t = tallies; t; t = t->next) t->seconds = all_seconds(t);
    host->computed = computed, host->delayed = delayed;
    host->between = ntimed_waits ? between * (double)nwaits / (double)ntimed_waits : 0;
    host->left = $left;
    for (int i = 0; i < 2; i++) {
        PMPI_Comm_set_errhandler(watched[i], before[i]);
        PMPI_Errhandler_free(&before[i]);
    }
    PMPI_Errhandler_free(&own_handler);
}
