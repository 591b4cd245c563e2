/* What a rank does. Every process goes through the program's text once, as any rank it likes, and collects the
 * events of that rank: program() in the generated part calls what stands here.
 *
 *   list -> event, event, loop -> list -> event ...
 */

enum kind { SEND, RECV, WAIT, BARRIER, BCAST, ALLTOALL, ALLTOALLV, REDUCE, LOCAL, REPEAT, TIMED, ASIDE, TABLE };
enum unit { BYTES, INTEGERS, DOUBLEWORDS };

static const int nc_unit_bytes[] = {1, 4, 8};

struct memory {
    int has_buffer; /* 0: one that no pending message uses */
    num buffer;
    int unique;    /* memory of its own */
    num offset;    /* bytes before the message */
    num alignment; /* bytes */
    int misaligned;
    int touched, verified;
};

struct list {
    struct event *events;
    size_t count;
};

/* Collects the events of one iteration of a loop over numbers. */
typedef void nc_iteration(const num *v, num value);

struct event {
    enum kind kind;
    struct place at;
    num peer, size, tag, count; /* of messages; count: of values for reductions, of turns for loops */
    int async;
    struct memory memory;
    int comm, root; /* number of the communicator; rank in the world, -1: all */
    enum unit unit;
    num times;                 /* of a collective */
    int *sent, *received;      /* bytes to and from each member */
    void (*act)(const num *v); /* what a task does by itself */
    num *v;                    /* and the variables that it knows */
    num *processors;           /* and where the tasks are then */
    int stored;                /* 1: it stores counters, -1: it restores them */
    struct list body;
    int serial; /* of a loop: the same on all ranks */
    num usecs;
    nc_iteration *iteration; /* of a loop over numbers: `body` is its first one, `v` what it wants */
    struct series series;
    int inner_serial; /* before an iteration */
};

struct comm {
    char *member; /* of each rank */
    int size;
    int *rank_in; /* of each rank */
    MPI_Comm handle;
};

static struct {
    int rank;         /* whose events are collected */
    int active;       /* 0: in a branch that others go */
    struct list list; /* where they go */
    int serial;
    struct comm *comms; /* 0 is the world */
    size_t ncomms;
} in;

static struct event *nc_event(enum kind kind, struct place at) {
    in.list.events = nc_grown(in.list.events, in.list.count, sizeof(struct event));
    struct event *event = &in.list.events[in.list.count++];
    memset(event, 0, sizeof *event);
    event->kind = kind;
    event->at = at;
    return event;
}

static int nc_mine(num task) { return in.active && nc.processors[task] == in.rank; }

/* Communicators: one per set of ranks, in the order in which the sets are met */

static int nc_comm(const char *member) {
    size_t i;
    for (i = 0; i < in.ncomms; i++)
        if (!memcmp(in.comms[i].member, member, (size_t)nc.tasks)) return (int)i;
    in.comms = nc_grown(in.comms, in.ncomms, sizeof *in.comms);
    struct comm *comm = &in.comms[in.ncomms++];
    comm->member = memcpy(nc_new((size_t)nc.tasks, 1), member, (size_t)nc.tasks);
    comm->rank_in = nc_new((size_t)nc.tasks, sizeof(int));
    comm->handle = MPI_COMM_NULL;
    comm->size = 0;
    for (int rank = 0; rank < nc.tasks; rank++)
        if (member[rank]) comm->rank_in[rank] = comm->size++;
    return (int)i;
}

/* Who sends to whom: tasks, in the order in which the statement names them */

struct pairs {
    num *sources, *a, *b;
    size_t nsources, count;
};

MAYBE_UNUSED static void nc_source(struct pairs *pairs, num task) {
    pairs->sources = nc_grown(pairs->sources, pairs->nsources, sizeof(num));
    pairs->sources[pairs->nsources++] = task;
}

MAYBE_UNUSED static void nc_pair(struct pairs *pairs, num a, num b) {
    pairs->a = nc_grown(pairs->a, pairs->count, sizeof(num));
    pairs->b = nc_grown(pairs->b, pairs->count, sizeof(num));
    pairs->a[pairs->count] = a;
    pairs->b[pairs->count++] = b;
}

static void nc_free_pairs(struct pairs *pairs) {
    free(pairs->sources);
    free(pairs->a);
    free(pairs->b);
    memset(pairs, 0, sizeof *pairs);
}

/* Sizes */

#define NC_LARGEST INT64_C(0x7fffffff)

MAYBE_UNUSED static num nc_size(struct place at, num amount, num unit, int negative) {
    num size = unit ? nc_mul(amount, unit) : nc_div(nc_add(amount, 7), 8);
    if (unit == 0 && amount + 7 < 0 && (amount + 7) % 8) size--;
    if (size > NC_LARGEST || size < -NC_LARGEST)
        nc_fail(at, "%" PRId64 " bytes; MPI messages have less than 2 GiB", size);
    if (size < 0 && !negative) nc_fail(at, "a size of %" PRId64 " bytes; expected 0 or more", size);
    return size;
}

MAYBE_UNUSED static num nc_count(num count) { return count < 0 ? 0 : count; }

MAYBE_UNUSED static num nc_tag(struct place at, num tag) {
    if (tag > NC_LARGEST || tag < -NC_LARGEST) nc_fail(at, "tag %" PRId64 " is too large for MPI", tag);
    return tag < 0 ? -tag : tag;
}

MAYBE_UNUSED static void nc_untagged(struct place at, num tag) {
    if (tag) nc_fail(at, "collective messages have no tags; expected tag 0 or none");
}

/* Statements */

struct spec {
    num size, tag;
    int async;
    struct memory memory;
};

static void nc_transfers(enum kind kind, struct place at, const struct pairs *pairs, num count,
                         const struct spec *spec) {
    for (size_t i = 0; count && i < pairs->count; i++) {
        num task = kind == SEND ? pairs->a[i] : pairs->b[i], peer = kind == SEND ? pairs->b[i] : pairs->a[i];
        if (!nc_mine(task)) continue;
        struct event *event = nc_event(kind, at);
        event->peer = nc.processors[peer];
        event->size = spec->size;
        event->tag = spec->tag;
        event->count = count;
        event->async = spec->async;
        event->memory = spec->memory;
    }
}

/* First all receives, then all sends, as the language's definition has it. `there` is NULL for unsuspecting ones. */
MAYBE_UNUSED static void nc_send(struct place at, struct pairs *pairs, num count, struct spec here,
                                 const struct spec *there) {
    for (size_t i = 0; i < pairs->count; i++)
        if (pairs->a[i] == pairs->b[i] && !(count && here.async && (!there || there->async)))
            nc_fail(at, "task %" PRId64 " would send to itself and wait for ever; send and receive ASYNCHRONOUSLY",
                    pairs->a[i]);
    if (there) nc_transfers(RECV, at, pairs, count, there);
    nc_transfers(SEND, at, pairs, count, &here);
    nc_free_pairs(pairs);
}

/* Pairs are (sender, receiver). */
MAYBE_UNUSED static void nc_receive(struct place at, struct pairs *pairs, num count, struct spec spec) {
    nc_transfers(RECV, at, pairs, count, &spec);
    nc_free_pairs(pairs);
}

static char *nc_ranks(size_t count, const num *tasks) {
    char *member = nc_new((size_t)nc.tasks, 1);
    for (size_t i = 0; i < count; i++) member[nc.processors[tasks[i]]] = 1;
    return member;
}

static void nc_join(char *member, const char *more) {
    for (int rank = 0; rank < nc.tasks; rank++) member[rank] = (char)(member[rank] | more[rank]);
}

static struct event *nc_collective(enum kind kind, struct place at, int comm, const struct memory *memory) {
    if (!in.active || !in.comms[comm].member[in.rank]) return NULL;
    struct event *event = nc_event(kind, at);
    event->comm = comm;
    event->root = -1;
    event->times = 1;
    if (memory) event->memory = *memory;
    return event;
}

/* to[a * tasks + b]: whether rank a sends to rank b. */
static int nc_everyone_to_all(const char *to, const char *member) {
    for (int a = 0; a < nc.tasks; a++)
        for (int b = 0; b < nc.tasks; b++)
            if (a != b && member[a] && member[b] && !to[a * nc.tasks + b]) return 0;
    return 1;
}

static void nc_exchange(struct event *event, const char *to, num size) {
    const struct comm *comm = &in.comms[event->comm];
    event->sent = nc_new((size_t)comm->size, sizeof(int));
    event->received = nc_new((size_t)comm->size, sizeof(int));
    for (int other = 0; other < nc.tasks; other++)
        if (comm->member[other]) {
            event->sent[comm->rank_in[other]] = to[in.rank * nc.tasks + other] ? (int)size : 0;
            event->received[comm->rank_in[other]] = to[other * nc.tasks + in.rank] ? (int)size : 0;
        }
}

/* One source broadcasts; several exchange. */
MAYBE_UNUSED static void nc_multicast(struct place at, struct pairs *pairs, num times, struct spec spec) {
    if (pairs->nsources) {
        char *member = nc_ranks(pairs->nsources, pairs->sources), *more = nc_ranks(pairs->count, pairs->b);
        char *to = nc_new((size_t)nc.tasks * (size_t)nc.tasks, 1);
        nc_join(member, more);
        for (size_t i = 0; i < pairs->count; i++)
            to[nc.processors[pairs->a[i]] * nc.tasks + nc.processors[pairs->b[i]]] = 1;
        int comm = nc_comm(member), one = pairs->nsources == 1, all = nc_everyone_to_all(to, member);
        enum kind kind = one ? BCAST : all ? ALLTOALL : ALLTOALLV;
        struct event *event = times ? nc_collective(kind, at, comm, &spec.memory) : NULL;
        if (event) {
            event->root = one ? (int)nc.processors[pairs->sources[0]] : -1;
            event->size = event->count = spec.size;
            event->times = times;
            if (kind == ALLTOALLV) nc_exchange(event, to, spec.size);
        }
        free(member);
        free(more);
        free(to);
    }
    nc_free_pairs(pairs);
}

static void nc_told(struct place at, int comm, int root, num count, enum unit unit, const struct memory *memory) {
    struct event *event = nc_collective(BCAST, at, comm, memory);
    if (event) {
        event->root = root;
        event->count = count;
        event->unit = unit;
    }
}

/* The targets are the second ones of the pairs, or (all) the sources themselves. */
MAYBE_UNUSED static void nc_reduce(struct place at, struct pairs *pairs, int all, num count, enum unit unit,
                                   struct memory memory) {
    char *from = nc_ranks(pairs->nsources, pairs->sources);
    char *to = all ? nc_ranks(pairs->nsources, pairs->sources) : nc_ranks(pairs->count, pairs->b);
    int root = -1, targets = 0, first = -1;
    if (count * nc_unit_bytes[unit] > NC_LARGEST)
        nc_fail(at, "%" PRId64 " bytes; MPI messages have less than 2 GiB", count * nc_unit_bytes[unit]);
    for (int rank = nc.tasks - 1; rank >= 0; rank--) {
        targets += to[rank];
        if (from[rank]) first = rank;
        if (from[rank] && to[rank]) root = rank;
    }
    int source_comm = nc_comm(from), same = !memcmp(from, to, (size_t)nc.tasks);
    int alone = targets == 1 && root >= 0;
    if (root < 0 && first >= 0) {
        /* Someone must pass the result on. */
        root = first;
        to[first] = 1;
    }
    int target_comm = nc_comm(to);
    struct event *event = targets && first >= 0 ? nc_collective(REDUCE, at, source_comm, &memory) : NULL;
    if (event) {
        event->root = same ? -1 : root;
        event->count = count;
        event->unit = unit;
    }
    if (targets && first >= 0 && !same && !alone) nc_told(at, target_comm, root, count, unit, &memory);
    free(from);
    free(to);
    nc_free_pairs(pairs);
}

MAYBE_UNUSED static void nc_synchronize(struct place at, struct pairs *pairs) {
    char *member = nc_ranks(pairs->nsources, pairs->sources);
    nc_collective(BARRIER, at, nc_comm(member), NULL);
    free(member);
    nc_free_pairs(pairs);
}

MAYBE_UNUSED static void nc_await(struct place at, num task) {
    if (nc_mine(task)) nc_event(WAIT, at);
}

/* Let a task do something by itself with a copy of the variables it knows. */
MAYBE_UNUSED static void nc_local(struct place at, num task, void (*act)(const num *), size_t count, const num *v) {
    if (!nc_mine(task)) return;
    struct event *event = nc_event(LOCAL, at);
    event->act = act;
    event->v = memcpy(nc_new(count, sizeof(num)), v, count * sizeof(num));
    event->processors = nc.processors;
}

/* Say that what the task does last stores (1) or restores (-1) its counters. */
MAYBE_UNUSED static void nc_stored(num task, int change) {
    if (nc_mine(task)) in.list.events[in.list.count - 1].stored = change;
}

MAYBE_UNUSED static void nc_assign(struct place at, num task, num processor) {
    if (processor < 0 || processor >= nc.tasks)
        nc_fail(at, "there is no processor %" PRId64 "; expected 0 to %d", processor, nc.tasks - 1);
    num other = nc_task_of(processor), before = nc.processors[task];
    size_t size = (size_t)nc.tasks * sizeof(num);
    /* Events refer to the old ones. */
    nc.processors = memcpy(nc_new(size, 1), nc.processors, size);
    nc.processors[other] = before;
    nc.processors[task] = processor;
}

MAYBE_UNUSED static num nc_random_task(struct place at, const char *name, num low, num high, const num *but) {
    num count = 0, task;
    low = low < 0 ? 0 : low;
    high = high >= nc.tasks ? nc.tasks - 1 : high;
    for (task = low; task <= high; task++) count += !but || task != *but;
    if (!count) nc_fail(at, "no task fits %s among %d", name, nc.tasks);
    count = nc_below(count);
    for (task = low; task <= high; task++)
        if ((!but || task != *but) && count-- == 0) break;
    return task;
}

/* Loops: the body is collected in a list of its own */

MAYBE_UNUSED static struct list nc_begin_body(void) {
    struct list outer = in.list;
    memset(&in.list, 0, sizeof in.list);
    return outer;
}

MAYBE_UNUSED static struct list nc_end_body(struct list outer) {
    struct list body = in.list;
    in.list = outer;
    return body;
}

static void nc_turns(enum kind kind, struct place at, num turns, struct list body, int serial) {
    struct event *event = nc_event(kind, at);
    event->count = event->usecs = turns;
    event->body = body;
    event->serial = serial;
}

/* Warm-up and the barrier behind it count for nothing. */
MAYBE_UNUSED static void nc_loop(enum kind kind, struct place at, num turns, num warmup, int synchronized,
                                 struct list body, int serial) {
    int full = kind == TIMED || body.count;
    if (!in.active) return;
    if ((warmup && full) || synchronized) {
        struct list outer = nc_begin_body();
        if (warmup && full) nc_turns(kind, at, warmup, body, serial);
        if (synchronized) nc_collective(BARRIER, at, 0, NULL);
        struct list aside = nc_end_body(outer);
        nc_turns(ASIDE, at, 1, aside, 0);
    }
    if ((turns || kind == TIMED) && full) nc_turns(kind, at, turns, body, serial);
}

/* Loops over numbers whose iterations have the same communication. Long ones are one event: the first iteration stands for
 * the others in checks, and each one is collected when it is executed (nc_do_each). */

enum { NC_MOST_WRITTEN_OUT = 256 };

static size_t nc_pending(const struct list *list, size_t pending, const struct event **first);

MAYBE_UNUSED static void nc_each(struct place at, struct series series, nc_iteration *iteration, size_t count,
                                 const num *v) {
    const int own = ++in.serial, inner = in.serial;
    if (!series.count) return;
    struct list outer = nc_begin_body();
    iteration(v, nc_term(&series, 0));
    struct list first = nc_end_body(outer);
    int lazy = series.count > NC_MOST_WRITTEN_OUT && !nc_pending(&first, 0, NULL);
    if (lazy && first.count) {
        nc_turns(REPEAT, at, (num)series.count, first, own);
        struct event *event = &in.list.events[in.list.count - 1];
        event->iteration = iteration;
        event->v = memcpy(nc_new(count, sizeof(num)), v, count * sizeof(num));
        event->series = series;
        event->inner_serial = inner;
        return;
    }
    for (size_t i = 0; i < first.count; i++) *nc_event(first.events[i].kind, at) = first.events[i];
    free(first.events);
    for (size_t i = 1; !lazy && i < series.count; i++) {
        in.serial = inner;
        iteration(v, nc_term(&series, i));
    }
    free(series.values);
}

MAYBE_UNUSED static void nc_end_of_table(struct place at) { nc_event(TABLE, at); }
