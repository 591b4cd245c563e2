/* Events -> MPI calls of this process. */

struct pending {
    MPI_Request request;
    const struct event *event;
    unsigned char *message;
};

struct counters {
    num bit_errors, bytes_sent, bytes_received, msgs_sent, msgs_received;
    num since_ns;
};

struct block {
    unsigned char *start, *raw; /* raw: what was allocated, with room to align the start */
    num room, alignment;
    int misaligned;
    int named;         /* 1: the program gives it its number; 0: messages are put into it as they come */
    const void *owner; /* the one event that a unique message belongs to */
    num number;
};

static struct {
    struct counters now;
    struct counters *stored; /* since_ns: elapsed then */
    size_t nstored;
    struct pending *sends, *receives;
    size_t nsends, nreceives;
    struct block *blocks;
    size_t nblocks;
    unsigned char **retired; /* memory that pending messages may lie in */
    size_t nretired;
    unsigned char *current, *region;
    num current_size, region_size;
    int aside;
    num messages;
    volatile unsigned char sink;
} run;

static num nc_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (num)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Predeclared variables. While the program is gone through all counters are 0. */
MAYBE_UNUSED static num nc_elapsed_usecs(void) { return nc.running ? (nc_clock_ns() - run.now.since_ns) / 1000 : 0; }

static void nc_reset(void) {
    memset(&run.now, 0, sizeof run.now);
    run.now.since_ns = nc_clock_ns();
}

static void nc_store(void) {
    run.stored = nc_grown(run.stored, run.nstored, sizeof *run.stored);
    run.stored[run.nstored] = run.now;
    run.stored[run.nstored++].since_ns = nc_clock_ns() - run.now.since_ns;
}

static void nc_restore(struct place at) {
    if (!run.nstored) nc_fail(at, "counters are restored that were not stored");
    run.now = run.stored[--run.nstored];
    run.now.since_ns = nc_clock_ns() - run.now.since_ns;
}

/* Memory */

static unsigned char *nc_made(num room, const struct memory *memory, unsigned char **allocated) {
    num page = sysconf(_SC_PAGESIZE);
    num step = memory->misaligned ? page : memory->alignment > 1 ? memory->alignment : 16;
    unsigned char *raw = nc_new((size_t)(room + 2 * step + page), 1);
    *allocated = raw;
    raw += (step - (num)((uintptr_t)raw % (uintptr_t)step)) % step;
    return memory->misaligned ? raw + nc_mod(memory->alignment, page) : raw;
}

static struct block *nc_block(const void *owner, int named, num number) {
    for (size_t i = 0; i < run.nblocks; i++) {
        struct block *block = &run.blocks[i];
        if (block->owner == owner && block->named == named && block->number == number) return block;
    }
    run.blocks = nc_grown(run.blocks, run.nblocks, sizeof *run.blocks);
    run.blocks[run.nblocks] = (struct block){.owner = owner, .named = named, .number = number};
    return &run.blocks[run.nblocks++];
}

/* Free memory of messages, or keep it for the next wait: a pending message may lie in it. */
static void nc_retire(unsigned char *raw) {
    if (!run.nsends && !run.nreceives) {
        free(raw);
    } else if (raw) {
        run.retired = nc_grown(run.retired, run.nretired, sizeof *run.retired);
        run.retired[run.nretired++] = raw;
    }
}

/* Where a message lies; `slot` keeps pending ones apart. */
static unsigned char *nc_message(const struct event *event, const struct memory *memory, num size, num slot) {
    num room = memory->offset + size;
    int named = memory->has_buffer && !memory->unique;
    struct block *block = nc_block(memory->unique ? event : NULL, named, named ? memory->buffer : slot);
    int fits = block->start && block->room >= room && block->misaligned == memory->misaligned;
    if (!fits || (memory->alignment && block->alignment != memory->alignment)) {
        nc_retire(block->raw);
        block->start = nc_made(room, memory, &block->raw);
        block->room = room;
        block->alignment = memory->alignment;
        block->misaligned = memory->misaligned;
    }
    run.current = block->start + memory->offset;
    run.current_size = size;
    return run.current;
}

static void nc_touch(unsigned char *bytes, num size) {
    for (num i = 0; i < size; i++) bytes[i]++;
}

static void nc_read(const unsigned char *bytes, num size) {
    for (num i = 0; i < size; i++) run.sink = (unsigned char)(run.sink + bytes[i]);
}

static unsigned char nc_pattern(uint64_t seed, num index) {
    uint64_t word = (uint64_t)(index / 8) * UINT64_C(0x9E3779B97F4A7C15) + seed;
    return (unsigned char)((word ^ (word >> 29)) >> (index % 8 * 8));
}

static void nc_fill(unsigned char *bytes, num size, uint64_t seed) {
    if (size < 8) return;
    memcpy(bytes, &seed, 8);
    for (num i = 8; i < size; i++) bytes[i] = nc_pattern(seed, i - 8);
}

static num nc_wrong_bits(const unsigned char *bytes, num size) {
    uint64_t seed;
    num wrong = 0;
    if (size < 8) return 0;
    memcpy(&seed, bytes, 8);
    for (num i = 8; i < size; i++)
        for (unsigned differing = bytes[i] ^ nc_pattern(seed, i - 8); differing; differing &= differing - 1) wrong++;
    return wrong;
}

/* Messages */

/* Pending messages at most that have a place of their own; further ones share. */
enum { NC_SLOTS = 256 };

static void nc_do_send(const struct event *event) {
    /* What is only read may be sent from one place many times. */
    int written = event->memory.verified || event->memory.touched;
    num slot = written ? -1 - (num)(run.nsends % NC_SLOTS) : -1;
    unsigned char *message = nc_message(event, &event->memory, event->size, slot);
    if (event->memory.verified)
        nc_fill(message, event->size, ((uint64_t)nc.rank << 32) + (uint64_t)++run.messages);
    else if (event->memory.touched)
        nc_touch(message, event->size);
    if (event->async) {
        run.sends = nc_grown(run.sends, run.nsends, sizeof *run.sends);
        struct pending *pending = &run.sends[run.nsends++];
        MPI_Isend(message, (int)event->size, MPI_BYTE, (int)event->peer, (int)event->tag, MPI_COMM_WORLD,
                  &pending->request);
    } else {
        MPI_Send(message, (int)event->size, MPI_BYTE, (int)event->peer, (int)event->tag, MPI_COMM_WORLD);
    }
    run.now.msgs_sent++;
    run.now.bytes_sent += event->size;
}

static void nc_received(const struct event *event, const unsigned char *message) {
    run.now.msgs_received++;
    run.now.bytes_received += event->size;
    if (event->memory.verified)
        run.now.bit_errors += nc_wrong_bits(message, event->size);
    else if (event->memory.touched)
        nc_read(message, event->size);
}

static void nc_do_receive(const struct event *event) {
    unsigned char *message = nc_message(event, &event->memory, event->size, (num)(run.nreceives % NC_SLOTS));
    if (event->async) {
        run.receives = nc_grown(run.receives, run.nreceives, sizeof *run.receives);
        struct pending *pending = &run.receives[run.nreceives++];
        pending->event = event;
        pending->message = message;
        MPI_Irecv(message, (int)event->size, MPI_BYTE, (int)event->peer, (int)event->tag, MPI_COMM_WORLD,
                  &pending->request);
    } else {
        MPI_Recv(message, (int)event->size, MPI_BYTE, (int)event->peer, (int)event->tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        nc_received(event, message);
    }
}

static void nc_wait_all(struct pending **pending, size_t *count) {
    MPI_Request *requests = nc_new(*count, sizeof *requests);
    for (size_t i = 0; i < *count; i++) requests[i] = (*pending)[i].request;
    MPI_Waitall((int)*count, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

static void nc_do_wait(void) {
    if (run.nsends) nc_wait_all(&run.sends, &run.nsends);
    run.nsends = 0;
    free(run.sends);
    run.sends = NULL;
    if (run.nreceives) nc_wait_all(&run.receives, &run.nreceives);
    for (size_t i = 0; i < run.nreceives; i++) nc_received(run.receives[i].event, run.receives[i].message);
    run.nreceives = 0;
    free(run.receives);
    run.receives = NULL;
    while (run.nretired) free(run.retired[--run.nretired]);
    free(run.retired);
    run.retired = NULL;
}

/* Collectives */

static MPI_Datatype nc_type(enum unit unit) {
    return unit == INTEGERS ? MPI_INT : unit == DOUBLEWORDS ? MPI_DOUBLE : MPI_BYTE;
}

static void nc_do_bcast(const struct event *event) {
    const struct comm *comm = &in.comms[event->comm];
    num size = event->count * nc_unit_bytes[event->unit];
    for (num n = 0; n < event->times; n++) {
        unsigned char *message = nc_message(event, &event->memory, size, 0);
        if (event->memory.touched && event->root == nc.rank) nc_touch(message, size);
        MPI_Bcast(message, (int)event->count, nc_type(event->unit), comm->rank_in[event->root], comm->handle);
        if (event->memory.touched && event->root != nc.rank) nc_read(message, size);
    }
}

/* Memory to send from and, another, to receive into. */
static unsigned char *nc_both(const struct event *event, num sent, num received, unsigned char **into) {
    struct memory other = event->memory;
    unsigned char *from = nc_message(event, &event->memory, sent, -1);
    if (event->memory.touched) nc_touch(from, sent);
    other.buffer++;
    *into = nc_message(event, &other, received, 0);
    return from;
}

static void nc_do_alltoall(const struct event *event) {
    const struct comm *comm = &in.comms[event->comm];
    unsigned char *into;
    for (num n = 0; n < event->times; n++) {
        unsigned char *from = nc_both(event, event->size * comm->size, event->size * comm->size, &into);
        MPI_Alltoall(from, (int)event->size, MPI_BYTE, into, (int)event->size, MPI_BYTE, comm->handle);
    }
}

static int *nc_offsets(const int *counts, int size, num *total) {
    int *offsets = nc_new((size_t)size, sizeof(int));
    *total = 0;
    for (int i = 0; i < size; i++) {
        offsets[i] = (int)*total;
        *total += counts[i];
    }
    return offsets;
}

static void nc_do_alltoallv(const struct event *event) {
    const struct comm *comm = &in.comms[event->comm];
    num sent, received;
    int *from_at = nc_offsets(event->sent, comm->size, &sent);
    int *into_at = nc_offsets(event->received, comm->size, &received);
    unsigned char *into;
    for (num n = 0; n < event->times; n++) {
        unsigned char *from = nc_both(event, sent, received, &into);
        MPI_Alltoallv(from, event->sent, from_at, MPI_BYTE, into, event->received, into_at, MPI_BYTE, comm->handle);
    }
    free(from_at);
    free(into_at);
}

static void nc_do_reduce(const struct event *event) {
    const struct comm *comm = &in.comms[event->comm];
    num size = event->count * nc_unit_bytes[event->unit];
    unsigned char *into, *from = nc_both(event, size, size, &into);
    MPI_Datatype type = nc_type(event->unit);
    if (event->root < 0)
        MPI_Allreduce(from, into, (int)event->count, type, MPI_SUM, comm->handle);
    else
        MPI_Reduce(from, into, (int)event->count, type, MPI_SUM, comm->rank_in[event->root], comm->handle);
}

/* What a task does by itself: called by the generated part */

MAYBE_UNUSED static void nc_compute(num usecs) {
    num deadline = nc_clock_ns() + (usecs > 0 ? usecs : 0) * 1000;
    while (nc_clock_ns() < deadline) sched_yield(); /* others may use the core */
}

MAYBE_UNUSED static void nc_sleep(num usecs) {
    struct timespec left = {usecs > 0 ? usecs / 1000000 : 0, usecs > 0 ? usecs % 1000000 * 1000 : 0};
    while (nanosleep(&left, &left) && errno == EINTR);
}

MAYBE_UNUSED static num nc_bytes(struct place at, num amount, num unit) {
    if (amount < 0) nc_fail(at, "a size of %" PRId64 "; expected 0 or more", amount);
    return unit ? nc_mul(amount, unit) : nc_div(nc_add(amount, 7), 8);
}

/* `touches` -1: as many as there are. */
MAYBE_UNUSED static void nc_touch_memory(num size, num step, num touches, num times, int random, num stride) {
    if (run.region_size < size) {
        free(run.region);
        run.region = nc_new((size_t)size, 1);
        run.region_size = size;
    }
    touches = touches < 0 ? size / step : touches;
    for (num n = 0; size && touches && n < times; n++) {
        num at = random ? nc_below(size) : 0, by = random ? 2 * nc_below(1 << 20) + 1 : stride;
        for (num i = 0; i < touches; i++, at = (at + by) % size) ((volatile unsigned char *)run.region)[at]++;
    }
}

MAYBE_UNUSED static void nc_touch_buffers(int all, num number) {
    for (size_t i = 0; i < run.nblocks; i++)
        if (all || (run.blocks[i].named && run.blocks[i].number == number))
            nc_touch(run.blocks[i].start, run.blocks[i].room);
}

MAYBE_UNUSED static void nc_touch_current(void) { nc_touch(run.current, run.current ? run.current_size : 0); }

MAYBE_UNUSED static int nc_aside(void) { return run.aside; }

/* Log what was evaluated; that takes no time. */
MAYBE_UNUSED static void nc_log_row(struct column *columns, int count, const double *values) {
    num begin = nc_clock_ns();
    for (int i = 0; i < count; i++) nc_log_value(&columns[i], values[i]);
    run.now.since_ns += nc_clock_ns() - begin;
}

MAYBE_UNUSED static void nc_compute_aggregates(void) {
    num begin = nc_clock_ns();
    if (!run.aside) nc_collapse();
    run.now.since_ns += nc_clock_ns() - begin;
}

/* Loops */

static void nc_execute(const struct list *list);

/* Collecting an iteration takes none of the program's time. */
static void nc_do_each(const struct event *event) {
    for (size_t i = 0; i < event->series.count; i++) {
        num begin = nc_clock_ns();
        struct list outer = nc_begin_body();
        in.rank = nc.rank;
        in.active = 1;
        in.serial = event->inner_serial;
        event->iteration(event->v, nc_term(&event->series, i));
        struct list body = nc_end_body(outer);
        run.now.since_ns += nc_clock_ns() - begin;
        nc_execute(&body);
        nc_free_list(&body);
    }
}

static void nc_do_timed(const struct event *event) {
    num begin = nc_clock_ns();
    long long mine, least;
    do {
        nc_execute(&event->body);
        mine = (nc_clock_ns() - begin) / 1000;
        MPI_Allreduce(&mine, &least, 1, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    } while (least < event->usecs);
}

static void nc_do_aside(const struct event *event) {
    nc_store();
    run.aside++;
    nc_execute(&event->body);
    run.aside--;
    nc_restore(event->at);
}

static void nc_do_table(void) {
    num begin = nc_clock_ns();
    if (nc_log.file) nc_write_table();
    run.now.since_ns += nc_clock_ns() - begin;
}

static void nc_do(const struct event *event) {
    switch (event->kind) {
    case SEND:
        for (num n = 0; n < event->count; n++) nc_do_send(event);
        break;
    case RECV:
        for (num n = 0; n < event->count; n++) nc_do_receive(event);
        break;
    case WAIT:
        nc_do_wait();
        break;
    case BARRIER:
        MPI_Barrier(in.comms[event->comm].handle);
        break;
    case BCAST:
        nc_do_bcast(event);
        break;
    case ALLTOALL:
        nc_do_alltoall(event);
        break;
    case ALLTOALLV:
        nc_do_alltoallv(event);
        break;
    case REDUCE:
        nc_do_reduce(event);
        break;
    case LOCAL:
        nc.at = event->at;
        nc.processors = event->processors;
        event->act(event->v);
        break;
    case REPEAT:
        if (event->iteration)
            nc_do_each(event);
        else
            for (num n = 0; n < event->count; n++) nc_execute(&event->body);
        break;
    case TIMED:
        nc_do_timed(event);
        break;
    case ASIDE:
        nc_do_aside(event);
        break;
    case TABLE:
        nc_do_table();
        break;
    }
}

static void nc_execute(const struct list *list) {
    for (size_t i = 0; i < list->count; i++) nc_do(&list->events[i]);
}
