/* pending.c - the pending Waitsome (Testsome) event. */
#include "handles/pending.h"

#include <stdlib.h>

#include "base/state.h"
#include "events/events.h"
#include "events/selection.h"
#include "handles/requests.h"
#include "plugins/plugins.h"

static struct {
    bool alive;            /* is there a pending event? */
    int op;                /* Waitsome or Testsome, ... */
    const void *array;     /* ... on this array */
    struct st_event event; /* without its value */
    int error;             /* of its last call, 0: none */
    int64_t *ages;         /* of the completed requests */
    int *slots;            /* of those that died, else -1 */
    int n, capacity;
} pending;

/* Oldest first: the order in which messages arrived is not part of the event. */
static int by_falling_age(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

void st_pending_flush(void) {
    if (!pending.alive) return;
    pending.alive = false;
    qsort(pending.ages, (size_t)pending.n, sizeof *pending.ages, by_falling_age);
    pending.event.values[0] = (int64_t)st_array(st_shared.core, pending.ages, (size_t)pending.n);
    pending.event.nvalues = 1;
    if (pending.error) st_add_error(&pending.event, pending.error, ST_WITH_ERROR);
    st_append_event(&pending.event, pending.op, pending.error ? ST_WITH_ERROR : ST_SUCCEEDED);
    pending.error = 0;
    for (int i = 0; i < pending.n; i++)
        if (pending.slots[i] >= 0) st_request_drop(pending.slots[i]);
    pending.n = 0;
}

bool st_pending_joins(const struct st_call *call, int op, const MPI_Request *array) {
    return pending.op == op && pending.array == array && pending.event.signature == call->event.signature;
}

void st_pending_join(struct st_call *call, int op, const MPI_Request *array) {
    if (!st_pending_joins(call, op, array) || pending.error) st_pending_flush();
    if (call->on == ST_WITH_ERROR) pending.error = call->error;
    if (!pending.alive) {
        pending.alive = true;
        pending.op = op;
        pending.array = array;
        pending.event = call->event;
        return;
    }
    static const enum st_stat added[] = {ST_STAT_COMPUTE, ST_STAT_COMM, ST_STAT_POLLS};
    for (int i = 0; i < 3; i++) pending.event.stats[added[i]] += call->event.stats[added[i]];
    pending.event.stats[ST_STAT_SOURCE] = call->event.stats[ST_STAT_SOURCE];
    if (st_shared.plugins_active) st_plugins_join(&pending.event, &call->event);
}

bool st_pending_reserve(int n) {
    if (pending.n + n <= pending.capacity) return true;
    int capacity = 2 * (pending.n + n);
    int64_t *ages = realloc(pending.ages, (size_t)capacity * sizeof *ages);
    if (ages) pending.ages = ages;
    int *slots = realloc(pending.slots, (size_t)capacity * sizeof *slots);
    if (slots) pending.slots = slots;
    if (!ages || !slots) return false;
    pending.capacity = capacity;
    return true;
}

void st_pending_add(struct st_call *call, const MPI_Request *array, int i) {
    if (ST_SELECTING && !st_claimed_recorded(call, i)) return;
    pending.ages[pending.n] = st_claimed_age(call, i);
    bool died = st_claimed_died(call, array, i);
    pending.slots[pending.n++] = died ? call->claimed[i] : -1;
    if (died) call->claimed[i] = -1; /* not the call's any more: st_pending_flush drops it */
}
