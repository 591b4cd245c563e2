/* pending.c - the pending Waitsome (Testsome) event. */
#include "handles/pending.h"

#include <stdlib.h>

#include "base/state.h"
#include "events/events.h"
#include "events/selection.h"
#include "handles/requests.h"
#include "plugins/plugins.h"

struct pending {
    bool alive;            /* is there a pending event? */
    int op;                /* Waitsome or Testsome, ... */
    const void *array;     /* ... on this array */
    struct st_event event; /* without its value */
    int error;             /* of its last call, 0: none */
    int64_t *ages;         /* of the completed requests, or which_of */
    int *slots;            /* of those that died, else -1 */
    int n, capacity;
};
static struct pending first;   /* of stream 0 */
static struct pending **later; /* of streams 1, 2, ...; NULL: it had none so far */
static int nlater;
static struct pending lost = {.op = -1}; /* without memory for another one */

/* The pending event of this thread's stream. */
static struct pending *own(bool create) {
    int stream = st_thread.stream;
    if (__builtin_expect(stream == 0, 1)) return &first;
    if (create && stream > nlater) {
        struct pending **more = realloc(later, (size_t)stream * sizeof *more);
        if (!more) return &lost;
        for (int i = nlater; i < stream; i++) more[i] = NULL;
        later = more;
        nlater = stream;
    }
    if (stream > nlater) return &lost;
    if (create && !later[stream - 1]) later[stream - 1] = calloc(1, sizeof **later);
    return later[stream - 1] ? later[stream - 1] : &lost;
}

/* A request of another stream: its name is known when the event is written (live.h). Below all ages and special values;
 * of two requests of one stream the older one has the higher number. */
static int64_t which_of(const struct st_slot *slot) { return -((slot->stream + 1) * ST_OF_STREAM + slot->ordinal); }

/* Oldest first: the order in which messages arrived is not part of the event. */
static int by_falling_age(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static void flush(struct pending *pending) {
    if (!pending->alive) return;
    pending->alive = false, st_shared.npending--;
    int stream = pending->event.thread;
    qsort(pending->ages, (size_t)pending->n, sizeof *pending->ages, by_falling_age);
    for (int i = 0; i < pending->n; i++) {
        int64_t *age = &pending->ages[i];
        if (*age > -ST_OF_STREAM) continue;
        int creator = (int)(-*age / ST_OF_STREAM - 1);
        *age = st_request_foreign_name(creator, -*age % ST_OF_STREAM, stream);
    }
    pending->event.values[0] = (int64_t)st_array(st_shared.core, pending->ages, (size_t)pending->n);
    pending->event.nvalues = 1;
    if (pending->error) st_add_error(&pending->event, pending->error, ST_WITH_ERROR);
    st_append_event(&pending->event, pending->op, pending->error ? ST_WITH_ERROR : ST_SUCCEEDED);
    pending->error = 0;
    for (int i = 0; i < pending->n; i++)
        if (pending->slots[i] >= 0) st_request_drop(pending->slots[i], stream);
    pending->n = 0;
}

void st_pending_write(void) { flush(own(false)); }

void st_pending_flush_all(void) {
    flush(&first);
    for (int i = 0; i < nlater; i++)
        if (later[i]) flush(later[i]);
}

bool st_pending_joins(const struct st_call *call, int op, const MPI_Request *array) {
    const struct pending *pending = own(false);
    return pending->op == op && pending->array == array && pending->event.signature == call->event.signature;
}

void st_pending_join(struct st_call *call, int op, const MPI_Request *array) {
    if (!st_pending_joins(call, op, array) || own(false)->error) st_pending_flush();
    struct pending *pending = own(true);
    if (pending == &lost) return;
    if (call->on == ST_WITH_ERROR) pending->error = call->error;
    if (!pending->alive) {
        pending->alive = true, st_shared.npending++;
        pending->op = op;
        pending->array = array;
        pending->event = call->event;
        return;
    }
    static const enum st_stat added[] = {ST_STAT_COMPUTE, ST_STAT_COMM, ST_STAT_POLLS};
    for (int i = 0; i < 3; i++) pending->event.stats[added[i]] += call->event.stats[added[i]];
    pending->event.stats[ST_STAT_SOURCE] = call->event.stats[ST_STAT_SOURCE];
    if (st_shared.plugins_active) st_plugins_join(&pending->event, &call->event);
}

bool st_pending_reserve(int n) {
    struct pending *pending = own(true);
    if (pending == &lost) return false;
    if (pending->n + n <= pending->capacity) return true;
    int capacity = 2 * (pending->n + n);
    int64_t *ages = realloc(pending->ages, (size_t)capacity * sizeof *ages);
    if (ages) pending->ages = ages;
    int *slots = realloc(pending->slots, (size_t)capacity * sizeof *slots);
    if (slots) pending->slots = slots;
    if (!ages || !slots) return false;
    pending->capacity = capacity;
    return true;
}

void st_pending_add(struct st_call *call, const MPI_Request *array, int i) {
    struct pending *pending = own(false);
    if (ST_SELECTING && !st_claimed_recorded(call, i)) return;
    const struct st_slot *slot = st_request_slot(call->claimed[i]);
    bool is_foreign = slot && slot->stream != st_thread.stream && slot->ordinal >= 0;
    if (is_foreign) st_request_use(call, call->claimed[i]);
    pending->ages[pending->n] = is_foreign ? which_of(slot) : st_claimed_age(call, i);
    bool died = st_claimed_died(call, array, i);
    pending->slots[pending->n++] = died ? call->claimed[i] : -1;
    if (died) call->claimed[i] = -1; /* not the call's any more: st_pending_flush drops it */
}
