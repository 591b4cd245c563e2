/* Pieces of generated C programs. A piece begins with a line "//: names | pieces it needs" and is taken when one of
   its names is wanted; $op is that name, $after what a nonblocking or persistent form has more than the blocking one. */

//: clock |
static double kernel_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

//: now | clock
static double now(void) { return kernel_clock(); }

//: base | stop now
static double last;   /* when the call before returned, if it was timed */
static int timed;     /* whether it was, and nothing was computed since then */
static int measures;  /* whether calls are timed at all */
static double step;   /* seconds to read the clock once */
static double noting; /* seconds to count a call that is not timed */
static long nuntimed; /* such calls since the last computation */
static int sleeps;    /* whether computing is sleeping */

static void *memory(size_t n) {
    void *p = calloc(n ? n : 1, 1);
    if (!p) stop("out of memory");
    return p;
}

//: tolerated |
/* Messages may be too long for their receives, as in the application. */
static int tolerated(int code) {
    int class = MPI_SUCCESS;
    PMPI_Error_class(code, &class);
    return class == MPI_ERR_TRUNCATE || class == MPI_ERR_IN_STATUS || class == MPI_ERR_PENDING;
}

//: tally | base random
enum { comm }; /* in functions without a communicator: their calls count as of MPI_COMM_WORLD */

static struct tally {
    const char *op;
    int comm;
    long calls;
    double bytes;
    double seconds; /* of timed calls, each multiplied by the number of calls that it represents */
    struct tally *next;
    double nrepresented; /* sum of these numbers */
    unsigned nskipped;   /* calls between the timed call before and the next one */
    unsigned to_skip;    /* of them those to come */
} *tallies;

/* When a call begins, if it is timed; else 0. */
static inline double begun(struct tally *t) {
    if (measures && !t->to_skip) return now();
    t->to_skip -= t->to_skip > 0;
    return 0;
}

/* All calls are timed of operations whose calls take at least as long as twenty readings of the clock. Of shorter calls,
   which readings would slow down, one in eight is timed, at random; one in 16 after the first 4096. */
static void note_time(struct tally *t, double start) {
    static uint64_t random_state = 88172645463325252u;
    last = now();
    if (last > start + step) t->seconds += (t->nskipped + 1) * (last - start - step);
    t->nrepresented += t->nskipped + 1;
    t->nskipped = 0;
    if (t->nrepresented >= 32 && t->seconds < 20 * step * t->nrepresented)
        t->nskipped = (unsigned)(next_random(&random_state) >> (t->nrepresented < 4096 ? 60 : 59));
    t->to_skip = t->nskipped;
}

static inline void note(struct tally *t, const char *op, int of, double bytes, double start) {
    if (!t->calls++) {
        t->op = op;
        t->comm = of;
        t->next = tallies;
        tallies = t;
    }
    t->bytes += bytes;
    timed = start > 0;
    if (timed)
        note_time(t, start);
    else
        nuntimed++;
}

/* Measures `step` and `noting`: of eight times the shortest, since others may have been interrupted. */
static void measure_own_time(void) {
    step = noting = 1;
    for (int i = 0; i < 8; i++) {
        struct tally skipped = {.calls = 1, .to_skip = 256};
        double start = now(), middle, end;
        for (int j = 0; j < 256; j++) last = now();
        middle = now();
        for (int j = 0; j < 256; j++) note(&skipped, "", 0, 0, begun(&skipped));
        end = now();
        if ((middle - start) / 257 < step) step = (middle - start) / 257;
        if ((end - middle) / 256 < noting) noting = (end - middle) / 256;
    }
    nuntimed = 0;
}

/* The seconds of all calls, by those that were timed. */
static double all_seconds(const struct tally *t) {
    return t->nrepresented > 0 ? t->seconds * (double)t->calls / t->nrepresented : 0;
}

/* Calls on files return their errors, others may. */
static void failed_call(const char *op, int code) {
    $tolerate(code);
    char text[MPI_MAX_ERROR_STRING], both[MPI_MAX_ERROR_STRING + 40];
    int n;
    PMPI_Error_string(code, text, &n);
    snprintf(both, sizeof both, "MPI_%s: %s", op, text);
    stop(both);
}

static inline void good(const char *op, int code) {
    if (code != MPI_SUCCESS) failed_call(op, code);
}

/* Makes a call, or makes it until it sets its flag. */
#define CALL(op, bytes, call) NOTE(op, bytes, good(#op, call))
#define POLL(op, call) NOTE(op, 0, while (good(#op, call), !flag) sched_yield())

/* Notes a call, and how long it took. */
#define NOTE(op, bytes, statement)                                                                                     \
    do {                                                                                                               \
        static struct tally mine[COMMS];                                                                               \
        double begun_at = begun(&mine[comm]);                                                                          \
        statement;                                                                                                     \
        note(&mine[comm], #op, comm, (double)(bytes), begun_at);                                                       \
    } while (0)

//: compute | base
static double share = 1.0;                /* of the mean computation that this rank has */
static double due;                        /* when the computation ends */
static double computed, between, delayed; /* seconds: computation, before it began to wait, after it was due */
static long nwaits, ntimed_waits;         /* computations waited for; those of them that `between` has */

/* Spins until so many microseconds after the end of the call before, or after the start of this function if that call
   was not timed. Others may use the core meanwhile, unless the wait ends so soon that it might be over before the core
   is free again. With --sleep it sleeps but for the last moments. A computation that takes less than one and a half
   readings of the clock is not waited for but added to the next one. The time for calls that were not timed, and the
   time by which the last wait was too long, are subtracted from it: at most a microsecond, since calls that waited for
   others have hidden the rest. */
static void compute(double us) {
    static double carried;
    double wanted = 1e-6 * us * share, end, t, left;
    computed += wanted;
    carried -= noting * (double)nuntimed;
    wanted += carried > -1e-6 ? carried : -1e-6;
    nuntimed = 0;
    carried = wanted;
    if (wanted <= 1.5 * step) return;
    t = now();
    end = t + wanted - step;
    if (timed) {
        end = last + wanted - step / 2;
        between += t - last;
        ntimed_waits++;
    }
    nwaits++;
    timed = 0;
    due = end;
    left = end - t;
    if (sleeps && (left -= 2e-4) > 0) {
        nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - (double)(time_t)left))}, NULL);
        t = now();
    }
    for (int yields = end - t > 5e-5; t < end; t = now())
        if (yields && end - t > 2e-5) sched_yield();
    carried = t - end < 1e-6 ? end - t : -1e-6;
    delayed += t - end + carried; /* the next computation is shorter by the rest */
}

//: previous_call |
static int previous_call; /* of those that the time of a computation depends on */

//: compute_after | previous_call compute
struct time_after {
    int call;
    double us;
};

/* Computes as long as the application did after the previous call: the mean in a table, which ends with a call -1. */
static void compute_after(const struct time_after *times) {
    while (times->call != previous_call && times->call >= 0) times++;
    compute(times->us);
}

//: draw | random
static uint64_t dice;

static double roll(void) { return (double)(next_random(&dice) >> 11) / 9007199254740992.0; }

struct bin {
    double share, min, mean, max;
};

/* A time as the samples were distributed: of a bin by their numbers, in it around its mean. */
static double draw(const struct bin *bins, int n) {
    double at = roll();
    int i = 0;
    while (i < n - 1 && (at -= bins[i].share) >= 0) i++;
    double spread = bins[i].max - bins[i].min;
    if (spread <= 0) return bins[i].mean;
    double below = (bins[i].max - bins[i].mean) / spread, where = roll();
    if (where < below) return bins[i].min + (bins[i].mean - bins[i].min) * where / below;
    return bins[i].mean + (bins[i].max - bins[i].mean) * (where - below) / (1 - below);
}

//: mod |
/* The remainder with the sign of the divisor. */
static long mod(long a, long b) {
    long rest = b == -1 ? 0 : a % b; /* the quotient of the least number by -1 has no 64 bits */
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

//: among |
static int among(int value, const int *set, int n) {
    for (int i = 0; i < n; i++)
        if (set[i] == value) return 1;
    return 0;
}

//: search |
/* How many of the ascending ends are at most an index: in which piece it is. */
static int search$_c(const $count *ends, int n, long index) {
    int low = 0;
    while (low < n) {
        int middle = low + (n - low) / 2;
        if (ends[middle] <= index)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

//: comms | base
static void adopt(int comm, MPI_Comm handle) {
    if (comm == NONE) return;
    comms[comm] = handle;
    int inter = 0;
    MPI_Comm_test_inter(handle, &inter);
    MPI_Comm_rank(handle, &own[comm]);
    if (inter)
        MPI_Comm_remote_size(handle, &size[comm]);
    else
        MPI_Comm_size(handle, &size[comm]);
}

//: subset | comms
/* Makes the communicators of a family from absolute ranks. */
static void subset(int comm, int color, int key) {
    MPI_Comm handle;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &handle);
    if (handle != MPI_COMM_NULL) adopt(comm, handle);
}

//: group | comms arrays
static MPI_Group group_of(int comm, int members) {
    MPI_Group all, some;
    MPI_Comm_group(comms[comm], &all);
    MPI_Group_incl(all, arrays[members].n, arrays[members].at, &some);
    MPI_Group_free(&all);
    return some;
}

//: bytes | types
static double bytes(double n, int type) { return n > 0 ? n * types[type].size : 0; }

//: sum | arrays
static double sum$_c(int array) {
    double total = 0;
    for (int i = 0; i < arrays[array].n; i++) total += $at(array, i);
    return total;
}

//: element | arrays
/* An element of an array, of those that an int does not hold too. */
static long element(int array, int i) { return arrays[array].wide ? arrays[array].wide[i] : arrays[array].at[i]; }

//: counts_of | element base
/* An array as the calls for large counts take numbers of elements ... */
static const MPI_Count *counts_of(int array) {
    static MPI_Count *made[sizeof arrays / sizeof *arrays];
    if (!made[array]) {
        made[array] = memory((size_t)arrays[array].n * sizeof **made);
        for (int i = 0; i < arrays[array].n; i++) made[array][i] = element(array, i);
    }
    return made[array];
}

//: places_of | element base
/* ... and displacements. */
static const MPI_Aint *places_of(int array) {
    static MPI_Aint *made[sizeof arrays / sizeof *arrays];
    if (!made[array]) {
        made[array] = memory((size_t)arrays[array].n * sizeof **made);
        for (int i = 0; i < arrays[array].n; i++) made[array][i] = element(array, i);
    }
    return made[array];
}

//: span | types base
/* Bytes before and in all of n elements from element `first` on. The address itself is within them, unless the
   displacements are so large that they are addresses (relative to MPI_BOTTOM). */
static size_t span(long first, long n, int type, size_t *before) {
    const struct type *t = &types[type];
    *before = 0;
    if (n <= 0) return 0;
    if (first == 0 && t->true_lb == 0 && t->true_extent == t->extent) return (size_t)(n * t->extent);
    long a = first * t->extent, b = (first + n - 1) * t->extent;
    long low = (a < b ? a : b) + t->true_lb, high = (a < b ? b : a) + t->true_lb + t->true_extent;
    int far = t->true_lb >> 40 > 0 || t->true_lb >> 40 < -1;
    if (low > 0 && !far) low = 0;
    if (high < 0 && !far) high = 0;
    *before = (size_t)-low;
    return (size_t)(high - low);
}

//: random |
/* The next of a sequence of random numbers (xorshift). */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

//: out_bytes | base random
static uint64_t payload = 88172645463325252u;

/* Sends share one buffer, which MPI only reads. */
static void *out_bytes(size_t n) {
    static char *outgoing;
    static size_t outgoing_size;
    if (n > outgoing_size || !outgoing) { /* the old one stays: a send may still be reading it */
        outgoing_size = n > 64 ? 2 * n : 64;
        outgoing = memory(outgoing_size);
        for (size_t i = 0; i < outgoing_size; i++) outgoing[i] = (char)next_random(&payload);
    }
    return outgoing;
}

//: out | span out_bytes
static void *out(long first, long n, int type) {
    size_t before, size = span(first, n, type, &before);
    return (char *)out_bytes(size) + before;
}

//: rooms | base
/* What MPI writes into is its own until the operation is done. */
struct room {
    struct room *next;
    size_t size;
    _Alignas(max_align_t) char bytes[];
};

//: taken | rooms
static struct room *taken;

//: spare | rooms
static struct room *spare[64];

//: room_bytes | spare taken
static void *room_bytes(size_t n) {
    int k = 6;
    while (((size_t)1 << k) < n) k++;
    struct room *r = spare[k];
    if (r)
        spare[k] = r->next;
    else {
        r = memory(sizeof *r + ((size_t)1 << k));
        r->size = (size_t)k;
    }
    r->next = taken;
    taken = r;
    return r->bytes;
}

//: room | span room_bytes
static void *room(long first, long n, int type) {
    size_t before, size = span(first, n, type, &before);
    return (char *)room_bytes(size) + before;
}

//: landing | span base
/* Blocking calls share one buffer to receive into: they are done with it when they return. */
static void *landing(long n, int type) {
    static char *incoming;
    static size_t incoming_size;
    size_t before, size = span(0, n, type, &before);
    if (size > incoming_size || !incoming) {
        free(incoming);
        incoming_size = size > 64 ? 2 * size : 64;
        incoming = memory(incoming_size);
    }
    return incoming + before;
}

//: give_back | spare
static void give_back(struct room *r) {
    while (r) {
        struct room *next = r->next;
        r->next = spare[r->size];
        spare[r->size] = r;
        r = next;
    }
}

//: settle | give_back taken
/* After a call that is done when it returns. */
static void settle(void) {
    give_back(taken);
    taken = NULL;
}

//: requests | base taken
/* The requests alive, oldest first. One is named by its age: how many are younger. */
struct live {
    MPI_Request handle;
    int persistent, gone;
    struct room *rooms;
};

static struct live *lives;
static int alive, room_for;

static MPI_Request *request(int persistent) {
    if (alive == room_for) {
        room_for = room_for ? 2 * room_for : 64;
        struct live *more = memory((size_t)room_for * sizeof *more);
        if (alive) memcpy(more, lives, (size_t)alive * sizeof *more);
        free(lives);
        lives = more;
    }
    struct live fresh = {MPI_REQUEST_NULL, persistent, 0, taken};
    taken = NULL;
    lives[alive] = fresh;
    return &lives[alive++].handle;
}

//: of_age | requests
static struct live *of_age(int age) {
    static struct live none;
    if (age == MPI_UNDEFINED) {
        none.handle = MPI_REQUEST_NULL;
        none.persistent = 1;
        return &none;
    }
    if (age < 0 || age >= alive) stop("a request that is not there");
    return &lives[alive - 1 - age];
}

//: ended | requests give_back
static void ended(void) {
    int kept = 0;
    for (int i = 0; i < alive; i++)
        if (lives[i].gone)
            give_back(lives[i].rooms);
        else
            lives[kept++] = lives[i];
    alive = kept;
}

//: gather | of_age arrays
static MPI_Request *handles; /* of the requests that a call is given */
static MPI_Status *statuses; /* Open MPI may lose an error of a request without them */

/* Two arrays in turns: calls on one array, one after the other, a tracer may take for one loop. */
static int gather(int ages) {
    static MPI_Request *others;
    static int most;
    int n = arrays[ages].n;
    if (n > most) {
        free(handles);
        free(others);
        free(statuses);
        statuses = memory((size_t)n * sizeof *statuses);
        handles = memory((size_t)(most = n) * sizeof *handles);
        others = memory((size_t)n * sizeof *others);
    }
    MPI_Request *before = handles;
    handles = others;
    others = before;
    for (int i = 0; i < n; i++) handles[i] = of_age(arrays[ages].at[i])->handle;
    return n;
}

//: scatter | gather ended
static void scatter(int ages, int done) {
    for (int i = 0; i < arrays[ages].n; i++) {
        struct live *r = of_age(arrays[ages].at[i]);
        r->handle = handles[i];
        if (done && !r->persistent) r->gone = 1;
    }
    if (done) ended();
}

//: messages | base
/* A matched message and its bytes. */
struct matched {
    MPI_Message handle;
    MPI_Count bytes;
};

static struct matched *messages;
static int waiting, message_room;

//: message | messages
static void message(MPI_Message handle, MPI_Status *status) {
    if (waiting == message_room) {
        message_room = message_room ? 2 * message_room : 16;
        struct matched *more = memory((size_t)message_room * sizeof *more);
        if (waiting) memcpy(more, messages, (size_t)waiting * sizeof *more);
        free(messages);
        messages = more;
    }
    messages[waiting].handle = handle;
    PMPI_Get_elements_x(status, MPI_BYTE, &messages[waiting++].bytes);
}

//: matched | messages
static struct matched matched(int age) {
    struct matched found = {MPI_MESSAGE_NO_PROC, 0};
    if (age == MPI_PROC_NULL) return found;
    if (age < 0 || age >= waiting) stop("a matched message that is not there");
    int at = waiting - 1 - age;
    found = messages[at];
    for (waiting--; at < waiting; at++) messages[at] = messages[at + 1];
    return found;
}

//: enough | types messages
/* The count of a receive: a probe of any source may match another message than in the application, a longer one. */
static $count enough$_c($count count, int type, MPI_Count bytes) {
    MPI_Count one = types[type].size;
    $count needed = one > 0 ? (bytes + one - 1) / one : 0;
    return count < needed ? needed : count;
}

//: buffered | base
static int buffer_size = 1 << 24; /* bytes */

static void buffered(void) {
    static void *attached;
    $lock();
    if (!attached) PMPI_Buffer_attach(attached = memory((size_t)buffer_size), buffer_size);
    $unlock();
}

//: any_op |
static void any(void *in, void *inout, int *n, MPI_Datatype *type) { (void)in, (void)inout, (void)n, (void)type; }

static MPI_Op any_op(void) {
    static MPI_Op made;
    static int there;
    if (!there) there = 1, MPI_Op_create(any, 1, &made);
    return made;
}

//: displacements | base
/* Gives n arrays the displacements of blocks, whose lengths other arrays have. */
static void displacements(int first, int lengths, int n) {
    for (int i = 0; i < n; i++) {
        const struct array *of = &arrays[lengths + i];
        int *sums = memory((size_t)of->n * sizeof *sums);
        for (int j = 1; j < of->n; j++) sums[j] = sums[j - 1] + of->at[j - 1];
        arrays[first + i] = (struct array){.n = of->n, .at = sums};
    }
}
