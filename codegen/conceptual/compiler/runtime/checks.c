/* What will go wrong, found before anything runs: see faults.py, which does the same.
 *
 * All ranks' events are gone through as MPI would. Blocking sends are taken to be buffered, so only deadlocks
 * that no MPI can avoid are found. */

enum { NC_MOST_CHECKED = 64, NC_BUDGET = 400000, NC_MOST_EVENTS = 200000 };

/* Events of all ranks, and how many are pending at the end */

static size_t nc_pending(const struct list *list, size_t pending, const struct event **first) {
    for (size_t i = 0; i < list->count; i++) {
        const struct event *event = &list->events[i];
        if (event->kind == WAIT) {
            pending = 0;
        } else if ((event->kind == SEND || event->kind == RECV) && event->async) {
            if (!pending++ && first) *first = event;
        } else if (event->kind == REPEAT || event->kind == TIMED || event->kind == ASIDE) {
            pending = nc_pending(&event->body, pending, first);
        }
    }
    return pending;
}

static size_t nc_events(const struct list *list) {
    size_t count = list->count;
    for (size_t i = 0; i < list->count; i++) count += nc_events(&list->events[i].body);
    return count;
}

static void nc_free_list(struct list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->events[i].v);
        free(list->events[i].sent);
        free(list->events[i].received);
        free(list->events[i].series.values);
        if (list->events[i].kind == ASIDE)
            free(list->events[i].body.events); /* loops warm up with the body that they have anyway */
        else
            nc_free_list(&list->events[i].body);
    }
    free(list->events);
}

static void nc_check_awaited(int rank, const struct list *list) {
    const struct event *first = NULL;
    if (nc_pending(list, 0, &first))
        nc_fail(first->at, "task %d never awaits messages that it starts; expected AWAIT COMPLETION behind", rank);
}

/* How many stored counters are left, beginning with `depth`. */
static num nc_check_stored(int rank, const struct list *list, num depth) {
    for (size_t i = 0; i < list->count; i++) {
        const struct event *event = &list->events[i];
        depth += event->stored;
        if (event->kind == REPEAT || event->kind == TIMED)
            depth += (nc_check_stored(rank, &event->body, depth) - depth) * (event->kind == REPEAT ? event->count : 1);
        else if (event->kind == ASIDE)
            nc_check_stored(rank, &event->body, depth);
        if (depth < 0) nc_fail(event->at, "task %d restores counters that it has not stored", rank);
    }
    return depth;
}

/* A hash table with keys of four numbers: (loop or 0, sender, receiver, tag) */

struct channel {
    num key[4];
    num net; /* sent more often than received, in a loop's body */
    const struct event **sent;
    num nsent, posted;
    int used;
};

struct channels {
    struct channel *slots;
    size_t count, room;
};

static struct channel *nc_channel(struct channels *table, num a, num b, num c, num d) {
    if (2 * table->count >= table->room) {
        struct channels bigger = {nc_new(2 * table->room + 64, sizeof(struct channel)), 0, 2 * table->room + 64};
        for (size_t i = 0; i < table->room; i++)
            if (table->slots[i].used) {
                const num *k = table->slots[i].key;
                *nc_channel(&bigger, k[0], k[1], k[2], k[3]) = table->slots[i];
            }
        free(table->slots);
        *table = bigger;
    }
    uint64_t hash = (uint64_t)a * 31 + (uint64_t)b * 1000003 + (uint64_t)c * 7919 + (uint64_t)d * 104729;
    num key[4] = {a, b, c, d};
    for (size_t i = hash % table->room;; i = (i + 1) % table->room) {
        struct channel *slot = &table->slots[i];
        if (slot->used && memcmp(slot->key, key, sizeof key)) continue;
        if (!slot->used) {
            memcpy(slot->key, key, sizeof key);
            slot->used = 1;
            table->count++;
        }
        return slot;
    }
}

/* Loops that receive all they send and leave nothing pending need not be gone through often */

static struct {
    struct list *lists;
    struct channels nets, channels;
    char *open; /* loops that are not so */
    num left;
} check;

static void nc_count_net(int rank, const struct list *list, int loop) {
    for (size_t i = 0; i < list->count; i++) {
        const struct event *event = &list->events[i];
        if (event->kind == SEND && loop)
            nc_channel(&check.nets, loop, rank, event->peer, event->tag)->net += event->count;
        else if (event->kind == RECV && loop)
            nc_channel(&check.nets, loop, event->peer, rank, event->tag)->net -= event->count;
        else if (event->kind == ASIDE)
            nc_count_net(rank, &event->body, loop);
        else if (event->kind == REPEAT || event->kind == TIMED) {
            nc_count_net(rank, &event->body, event->serial);
            if (nc_pending(&event->body, 0, NULL)) check.open[event->serial] = 1;
        }
    }
}

/* A rank on its way through its events */

struct frame {
    const struct list *list;
    size_t next;
    num turns;
    const struct event *loop;
};

struct wait {
    struct channel key; /* only its key: channels move */
    num number;
    const struct event *event;
};

struct walker {
    struct frame *frames;
    size_t depth;
    const struct event *at;
    enum { FREE, MESSAGES, MEETING } blocked;
    struct wait *waits, *due;
    size_t nwaits, ndue;
    int comm;
    num meeting, *met;
};

struct meeting {
    int arrived, root;
};

static struct {
    struct meeting **of;
    num *count;
} nc_meetings;

static void nc_enter(struct walker *w, const struct list *list, num turns, const struct event *loop) {
    if (turns <= 0) return;
    w->frames = nc_grown(w->frames, w->depth, sizeof *w->frames);
    w->frames[w->depth++] = (struct frame){list, 0, turns, loop};
}

static int nc_matched(const struct wait *wait) {
    const num *k = wait->key.key;
    struct channel *channel = nc_channel(&check.channels, k[0], k[1], k[2], k[3]);
    if (wait->number >= channel->nsent) return 0;
    const struct event *sent = channel->sent[wait->number];
    if (sent->size > wait->event->size)
        nc_fail(wait->event->at,
                "task %" PRId64 " receives at most %" PRId64 " bytes here, but task %" PRId64 " sends %" PRId64
                " in line %d",
                k[2], wait->event->size, k[1], sent->size, sent->at.line);
    return 1;
}

static int nc_all_matched(struct walker *w) {
    for (; w->ndue; w->ndue--)
        if (!nc_matched(&w->due[w->ndue - 1])) return 0;
    return 1;
}

static int nc_met(const struct walker *w, int rank) {
    const struct meeting *meeting = &nc_meetings.of[w->comm][w->meeting];
    int root = w->at->root;
    if (w->at->kind == BCAST) return meeting->root;
    if (w->at->kind == REDUCE && root >= 0 && rank != root) return 1;
    return meeting->arrived == in.comms[w->comm].size;
}

static void nc_post(struct walker *w, int rank, const struct event *event) {
    struct channel *channel = nc_channel(&check.channels, 0, event->peer, rank, event->tag);
    struct wait **list = event->async ? &w->waits : &w->due;
    size_t *count = event->async ? &w->nwaits : &w->ndue;
    for (num n = 0; n < event->count; n++) {
        *list = nc_grown(*list, *count, sizeof **list);
        struct wait *wait = &(*list)[(*count)++];
        memcpy(wait->key.key, channel->key, sizeof channel->key);
        wait->number = channel->posted++;
        wait->event = event;
    }
    w->blocked = event->async ? FREE : MESSAGES;
}

static void nc_meet(struct walker *w, int rank, int comm, const struct event *event) {
    w->comm = comm;
    w->meeting = w->met[comm]++;
    while (nc_meetings.count[comm] <= w->meeting) {
        size_t used = (size_t)nc_meetings.count[comm];
        nc_meetings.of[comm] = nc_grown(nc_meetings.of[comm], used, sizeof(struct meeting));
        nc_meetings.of[comm][nc_meetings.count[comm]++] = (struct meeting){0, 0};
    }
    nc_meetings.of[comm][w->meeting].arrived++;
    if (event->root == rank) nc_meetings.of[comm][w->meeting].root = 1;
    w->blocked = MEETING;
}

static void nc_step(struct walker *w, int rank, const struct event *event) {
    struct channel *channel;
    switch (event->kind) {
    case SEND:
        channel = nc_channel(&check.channels, 0, rank, event->peer, event->tag);
        check.left -= event->count;
        for (num n = 0; check.left >= 0 && n < event->count; n++) {
            channel->sent = nc_grown(channel->sent, (size_t)channel->nsent, sizeof *channel->sent);
            channel->sent[channel->nsent++] = event;
        }
        break;
    case RECV:
        check.left -= event->count;
        if (check.left >= 0) nc_post(w, rank, event);
        break;
    case WAIT:
        free(w->due);
        w->due = w->waits;
        w->ndue = w->nwaits;
        w->waits = NULL;
        w->nwaits = 0;
        w->blocked = MESSAGES;
        break;
    case BARRIER:
    case BCAST:
    case ALLTOALL:
    case ALLTOALLV:
    case REDUCE:
        nc_meet(w, rank, event->comm, event);
        break;
    case ASIDE:
        nc_enter(w, &event->body, 1, NULL);
        break;
    case REPEAT:
        nc_enter(w, &event->body, check.open[event->serial] || event->count < 2 ? event->count : 2, event);
        break;
    case TIMED:
        if (check.open[event->serial]) check.left = -1;
        nc_enter(w, &event->body, 1, event);
        break;
    default:
        break;
    }
}

/* Let a rank go on as far as it can; whether it got to its end. */
static int nc_advance(struct walker *w, int rank) {
    static const struct event sync = {.kind = BARRIER, .root = -1};
    while (check.left >= 0) {
        if ((w->blocked == MESSAGES && !nc_all_matched(w)) || (w->blocked == MEETING && !nc_met(w, rank))) return 0;
        w->blocked = FREE;
        if (!w->depth) return 1;
        struct frame *frame = &w->frames[w->depth - 1];
        if (frame->next < frame->list->count) {
            check.left--;
            w->at = &frame->list->events[frame->next++];
            nc_step(w, rank, w->at);
        } else if (--frame->turns > 0) {
            frame->next = 0;
        } else {
            int timed = frame->loop && frame->loop->kind == TIMED;
            w->depth--;
            if (timed) {
                w->at = &sync;
                nc_meet(w, rank, 0, &sync);
            }
        }
    }
    return 0;
}

static void nc_deadlock(const struct walker *walkers, const char *done) {
    char text[1024] = "";
    size_t used = 0;
    struct place at = {0, 0};
    int told = 0;
    for (int rank = 0; rank < nc.tasks; rank++) {
        const struct event *event = walkers[rank].at;
        if (done[rank] || !event || ++told > 4) continue;
        at = at.line ? at : event->at;
        used += (size_t)snprintf(text + used, sizeof text - used, "%stask %d waits ", told > 1 ? "; " : "", rank);
        if (event->kind == RECV)
            used += (size_t)snprintf(text + used, sizeof text - used, "for a message of task %" PRId64, event->peer);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "for %s",
                                     event->kind == WAIT ? "the completion of its messages" : "others");
        if (event->kind == RECV && event->tag)
            used += (size_t)snprintf(text + used, sizeof text - used, " with tag %" PRId64, event->tag);
        used += (size_t)snprintf(text + used, sizeof text - used, " (line %d)", event->at.line);
    }
    if (told > 4) snprintf(text + used, sizeof text - used, " and %d more tasks likewise", told - 4);
    nc_fail(at, "this never ends: %s", text);
}

static void nc_unreceived(void) {
    for (size_t i = 0; nc.rank == 0 && i < check.channels.room; i++) {
        const struct channel *channel = &check.channels.slots[i];
        if (!channel->used || channel->nsent <= channel->posted) continue;
        struct place at = channel->sent[channel->posted]->at;
        fprintf(stderr, "%s:%d:%d: warning: task %" PRId64 " never receives what task %" PRId64 " sends here\n",
                NC_PROGRAM, at.line, at.column, channel->key[2], channel->key[1]);
    }
}

static void nc_simulate(void) {
    struct walker *walkers = nc_new((size_t)nc.tasks, sizeof *walkers);
    char *done = nc_new((size_t)nc.tasks, 1);
    int ended = 0, moved = 1;
    for (int rank = 0; rank < nc.tasks; rank++) {
        walkers[rank].met = nc_new(in.ncomms, sizeof(num));
        nc_enter(&walkers[rank], &check.lists[rank], 1, NULL);
    }
    while (moved && ended < nc.tasks) {
        moved = 0;
        for (int rank = 0; rank < nc.tasks; rank++) {
            num before = check.left;
            if (!done[rank] && nc_advance(&walkers[rank], rank)) {
                done[rank] = 1;
                ended++;
                moved = 1;
            }
            moved |= check.left != before;
            if (check.left < 0) return;
        }
    }
    if (ended < nc.tasks) nc_deadlock(walkers, done);
    nc_unreceived();
}

/* Check the events of all ranks, `lists` being theirs. */
static void nc_check(struct list *lists) {
    check.lists = lists;
    check.left = NC_BUDGET;
    check.open = nc_new((size_t)in.serial + 1, 1);
    nc_meetings.of = nc_new(in.ncomms, sizeof *nc_meetings.of);
    nc_meetings.count = nc_new(in.ncomms, sizeof(num));
    for (int rank = 0; rank < nc.tasks; rank++) {
        nc_check_awaited(rank, &lists[rank]);
        nc_check_stored(rank, &lists[rank], 0);
        nc_count_net(rank, &lists[rank], 0);
    }
    for (size_t i = 0; i < check.nets.room; i++)
        if (check.nets.slots[i].used && check.nets.slots[i].net) check.open[check.nets.slots[i].key[0]] = 1;
    nc_simulate();
}
