/* completion.c - requests and matched messages: named by age, completed one by one, all, any or some.
 *
 * The requests of a completion call are taken out of the table before the call, because MPI may give their handles to
 * new requests before it returns; what did not complete is put back.
 */
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "shim.h"

static struct st_live requests, messages;

/* Consecutive Waitsome (Testsome) calls on one array from one place: one event, which lists all they completed. */
static struct {
    bool alive;
    int op;
    const void *array;
    struct st_event event;
    int64_t *ages;
    int *slots;
    int n, capacity;
} pending;

static MPI_Request request_at(const struct st_call *call, const MPI_Request *array, int i) {
    return call->fortran ? PMPI_Request_f2c(((const MPI_Fint *)(const void *)array)[i]) : array[i];
}

static const void *address_of(const struct st_call *call, const MPI_Request *array, int i) {
    return call->fortran ? (const void *)((const MPI_Fint *)(const void *)array + i) : (const void *)(array + i);
}

/* The program's request gets a handle that no other live request has. */
static MPI_Request make_unique(const struct st_call *call, MPI_Request *request, MPI_Request handle) {
    MPI_Request unique = st_unique_request(handle, st_live_is_stored(&requests, request));
    if (unique == handle) return handle;
    if (call->fortran)
        *(MPI_Fint *)(void *)request = PMPI_Request_c2f(unique);
    else
        *request = unique;
    return unique;
}

void st_request_new(struct st_call *call, MPI_Request *request, bool persistent, bool wild) {
    MPI_Request handle = request_at(call, request, 0);
    if (handle == MPI_REQUEST_NULL) return;
    if (st_live_has(&requests, ST_KEY(handle))) handle = make_unique(call, request, handle);
    int slot = st_live_add(&requests, ST_KEY(handle), request);
    if (slot < 0) return;
    requests.slots[slot].persistent = persistent;
    requests.slots[slot].wild = wild;
    if (call->skipped) st_live_hide(&requests, slot);
}

int64_t st_request(struct st_call *call, const MPI_Request *array, int i) {
    MPI_Request handle = request_at(call, array, i);
    if (handle == MPI_REQUEST_NULL) return ST_UNDEFINED;
    return st_live_age(&requests, st_live_find(&requests, ST_KEY(handle), address_of(call, array, i)));
}

int64_t st_request_value(MPI_Request request) {
    if (request == MPI_REQUEST_NULL) return ST_UNDEFINED;
    return st_live_age(&requests, st_live_find(&requests, ST_KEY(request), NULL));
}

static uint64_t array_of(int64_t n, int64_t (*item)(struct st_call *, const void *, int), struct st_call *call,
                         const void *from) {
    int64_t few[64], *values = n > 64 ? malloc((size_t)n * sizeof *values) : few;
    if (!values || n <= 0) return st_no_array();
    for (int i = 0; i < n; i++) values[i] = item(call, from, i);
    uint64_t name = st_array(st_shared.core, values, (size_t)n);
    if (values != few) free(values);
    return name;
}

static int64_t request_item(struct st_call *call, const void *array, int i) { return st_request(call, array, i); }
static int64_t claimed_item(struct st_call *call, const void *none, int i) {
    (void)none;
    return st_live_age(&requests, call->claimed[i]);
}

static int64_t claimed_ages(struct st_call *call) {
    return call->on ? (int64_t)array_of(call->nclaimed, claimed_item, call, NULL) : 0;
}

uint64_t st_requests(struct st_call *call, const MPI_Request *array, int64_t n) {
    return array_of(n, request_item, call, array);
}

/* -- selection ------------------------------------------------------------------------------------------- */

static bool is_recorded(int slot) { return slot >= 0 && !requests.slots[slot].hidden; }

static bool any_recorded(const struct st_call *call) {
    for (int i = 0; i < call->nclaimed; i++)
        if (is_recorded(call->claimed[i])) return true;
    return false;
}

void st_follow_requests(struct st_call *call, const MPI_Request *array, int64_t n) {
    bool any = false;
    st_lock();
    for (int i = 0; i < n && !any; i++) {
        MPI_Request handle = request_at(call, array, i);
        any = handle != MPI_REQUEST_NULL &&
              is_recorded(st_live_find(&requests, ST_KEY(handle), address_of(call, array, i)));
    }
    st_unlock();
    if (!any) st_skip(call);
}

void st_follow_request(struct st_call *call, MPI_Request request) {
    st_lock();
    if (!is_recorded(st_live_find(&requests, ST_KEY(request), NULL))) st_skip(call);
    st_unlock();
}

/* -- before the call ------------------------------------------------------------------------------------- */

void st_claim(struct st_call *call, const MPI_Request *array, int n) {
    call->empty = true;
    call->nclaimed = 0;
    if (n > ST_FEW) {
        call->claimed = malloc((size_t)n * sizeof *call->claimed);
        if (!call->claimed) { /* which requests end is not known any more: none can be named from here on */
            st_complain("out of memory; the trace ends here");
            call->claimed = call->few;
            call->on = st_shared.on = false;
            return;
        }
    }
    bool before = st_hold();
    for (int i = 0; i < n; i++) {
        MPI_Request handle = request_at(call, array, i);
        int slot = -1;
        if (handle != MPI_REQUEST_NULL) {
            call->empty = false;
            const void *where = address_of(call, array, i);
            slot = st_live_claim(&requests, ST_KEY(handle), where);
            if (slot >= 0) {
                st_unique_claimed(requests.slots[slot].where == where);
                if (requests.slots[slot].wild) call->nwild++;
            }
        }
        call->claimed[i] = slot;
    }
    call->nclaimed = n;
    if (ST_SELECTING && !any_recorded(call)) st_skip(call);
    st_release(before);
}

MPI_Status *st_own_statuses(struct st_call *call, int n) {
    size_t size = sizeof(MPI_Status) + ST_F_STATUS_INTS * sizeof(MPI_Fint); /* enough for either language */
    call->statuses = calloc((size_t)n + 1, size);
    return call->statuses;
}

/* -- after the call -------------------------------------------------------------------------------------- */

static void settle(struct st_call *call, int i, const MPI_Request *array) {
    int slot = call->claimed[i];
    if (slot < 0) return;
    if (requests.slots[slot].persistent || request_at(call, array, i) != MPI_REQUEST_NULL)
        st_live_relink(&requests, slot);
    else
        st_live_drop(&requests, slot);
}

static void settle_all(struct st_call *call, const MPI_Request *array) {
    for (int i = 0; i < call->nclaimed; i++) settle(call, i, array);
}

/* The source that matched a receive from any source. */
void st_source(struct st_call *call, const MPI_Status *status, int i) {
    int source;
    if (call->fortran) {
        MPI_Status converted;
        const MPI_Fint *fortran = (const MPI_Fint *)(const void *)status;
        PMPI_Status_f2c(fortran + (size_t)i * (sizeof(MPI_Status) / sizeof(MPI_Fint)), &converted);
        source = converted.MPI_SOURCE;
    } else {
        source = status[i].MPI_SOURCE;
    }
    if (source >= 0) call->event.stats[ST_STAT_SOURCE] = source;
}

static bool ignored(const struct st_call *call, const MPI_Status *status) {
    if (call->fortran) return st_fortran_is(status, ST_F_STATUS_IGNORE) || st_fortran_is(status, ST_F_STATUSES_IGNORE);
    return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE;
}

static void source_of(struct st_call *call, int i, const MPI_Status *status, int at) {
    int slot = call->nwild && i < call->nclaimed ? call->claimed[i] : -1;
    if (slot >= 0 && requests.slots[slot].wild && status && !ignored(call, status)) st_source(call, status, at);
}

void st_post_Wait(struct st_call *call, int error, MPI_Request *request, MPI_Status *status) {
    (void)error;
    st_begin(call, ST_OP_Wait);
    call->event.values[0] = st_live_age(&requests, call->claimed[0]);
    source_of(call, 0, status, 0);
    st_append(call, 1);
    settle_all(call, request);
    st_end(call);
}

void st_post_Request_free(struct st_call *call, int error, MPI_Request *request) {
    (void)request;
    int slot = call->claimed[0];
    if (error) { /* it lives on */
        st_lock();
        if (slot >= 0) st_live_relink(&requests, slot);
        st_unlock();
        st_failed(call, ST_OP_Request_free);
        return;
    }
    st_begin(call, ST_OP_Request_free);
    call->event.values[0] = st_live_age(&requests, slot);
    st_append(call, 1);
    if (slot >= 0) st_live_drop(&requests, slot); /* a persistent one too */
    st_end(call);
}

void st_post_Waitall(struct st_call *call, int error, int n, MPI_Request *array, MPI_Status *statuses) {
    (void)error;
    st_begin(call, ST_OP_Waitall);
    call->event.values[0] = claimed_ages(call);
    for (int i = 0; i < n && call->nwild; i++) source_of(call, i, statuses, i);
    st_append(call, 1);
    settle_all(call, array);
    st_end(call);
}

static int index_of(const struct st_call *call, const int *index) {
    return *index == MPI_UNDEFINED ? MPI_UNDEFINED : *index - (call->fortran ? 1 : 0);
}

/* The one request that completed decides. */
static void follow_completed(struct st_call *call, const int *index) {
    int which = index_of(call, index);
    if (!ST_SELECTING) return;
    st_lock();
    bool recorded = which >= 0 && which < call->nclaimed && is_recorded(call->claimed[which]);
    st_unlock();
    if (!recorded) st_skip(call);
}

static void any_event(struct st_call *call, MPI_Request *array, const int *index, const MPI_Status *status) {
    int which = index_of(call, index);
    call->event.values[0] = claimed_ages(call);
    call->event.values[1] = st_int(which);
    if (which >= 0) source_of(call, which, status, 0);
    st_append(call, 2);
    settle_all(call, array);
}

void st_post_Waitany(struct st_call *call, int error, int n, MPI_Request *array, int *index, MPI_Status *status) {
    (void)error, (void)n;
    follow_completed(call, index);
    st_begin(call, ST_OP_Waitany);
    any_event(call, array, index, status);
    st_end(call);
}

/* Put the requests of a poll that completed nothing back. */
static void not_yet(struct st_call *call, int op, const MPI_Request *array) {
    st_lock();
    settle_all(call, array);
    st_unlock();
    if (!call->empty)
        st_poll(call, op);
    else if (!call->skipped)
        st_count(op); /* nothing to ask for: the answer is always yes */
}

void st_post_Test(struct st_call *call, int error, MPI_Request *request, int *flag, MPI_Status *status) {
    if ((!error && !*flag) || call->empty) {
        not_yet(call, ST_OP_Test, request);
        return;
    }
    st_begin(call, ST_OP_Test);
    st_polled(call, ST_OP_Test);
    call->event.values[0] = st_live_age(&requests, call->claimed[0]);
    source_of(call, 0, status, 0);
    st_append(call, 1);
    settle_all(call, request);
    st_end(call);
}

void st_post_Testall(struct st_call *call, int error, int n, MPI_Request *array, int *flag, MPI_Status *statuses) {
    if ((!error && !*flag) || call->empty) {
        not_yet(call, ST_OP_Testall, array);
        return;
    }
    st_begin(call, ST_OP_Testall);
    st_polled(call, ST_OP_Testall);
    call->event.values[0] = claimed_ages(call);
    for (int i = 0; i < n && call->nwild; i++) source_of(call, i, statuses, i);
    st_append(call, 1);
    settle_all(call, array);
    st_end(call);
}

void st_post_Testany(struct st_call *call, int error, int n, MPI_Request *array, int *index, int *flag,
                     MPI_Status *status) {
    (void)n;
    if ((!error && !*flag) || call->empty || *index == MPI_UNDEFINED) {
        not_yet(call, ST_OP_Testany, array);
        return;
    }
    follow_completed(call, index);
    st_begin(call, ST_OP_Testany);
    st_polled(call, ST_OP_Testany);
    any_event(call, array, index, status);
    st_end(call);
}

/* -- some ------------------------------------------------------------------------------------------------ */

static int newest_last(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y); /* oldest first: the order is not up to which message came first */
}

void st_pending_flush(void) {
    if (!pending.alive) return;
    pending.alive = false;
    qsort(pending.ages, (size_t)pending.n, sizeof *pending.ages, newest_last);
    pending.event.values[0] = (int64_t)st_array(st_shared.core, pending.ages, (size_t)pending.n);
    pending.event.nvalues = 1;
    st_append_event(&pending.event, pending.op);
    for (int i = 0; i < pending.n; i++)
        if (pending.slots[i] >= 0) st_live_drop(&requests, pending.slots[i]);
    pending.n = 0;
}

static bool pending_room(int more) {
    if (pending.n + more <= pending.capacity) return true;
    int capacity = 2 * (pending.n + more);
    int64_t *ages = realloc(pending.ages, (size_t)capacity * sizeof *ages);
    if (ages) pending.ages = ages;
    int *slots = realloc(pending.slots, (size_t)capacity * sizeof *slots);
    if (slots) pending.slots = slots;
    if (!ages || !slots) return false;
    pending.capacity = capacity;
    return true;
}

static bool joins(const struct st_call *call, int op, const void *array) {
    return pending.op == op && pending.array == array && pending.event.signature == call->event.signature;
}

/* Start a pending event with this call's times, or add them to the one there is. */
static void pending_join(struct st_call *call, int op, const void *array) {
    if (!joins(call, op, array)) st_pending_flush();
    st_take_times(call);
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
    if (st_shared.plugs) st_plugins_join(&pending.event, &call->event);
}

/* Their slots keep their place until the event is written, so that all ages are of one moment. */
static void pending_add(struct st_call *call, const MPI_Request *array, int i) {
    int slot = call->claimed[i];
    if (ST_SELECTING && !is_recorded(slot)) return;
    pending.ages[pending.n] = st_live_age(&requests, slot);
    bool gone = slot >= 0 && !requests.slots[slot].persistent && request_at(call, array, i) == MPI_REQUEST_NULL;
    pending.slots[pending.n++] = gone ? slot : -1;
    if (gone) call->claimed[i] = -1;
}

/* Whether an event that completes none of the recorded requests ends the one that is pending, which it would join. */
static void skip_unless_recorded(struct st_call *call, int op, const void *array, int nout, const int *indices) {
    for (int i = 0; i < nout; i++)
        if (is_recorded(call->claimed[index_of(call, &indices[i])])) return;
    if (!joins(call, op, array)) st_pending_flush();
    st_skip(call);
}

static void some(struct st_call *call, int op, MPI_Request *array, int nout, const int *indices,
                 const MPI_Status *statuses) {
    st_begin(call, op);
    if (ST_SELECTING && call->on) skip_unless_recorded(call, op, array, nout, indices);
    st_polled(call, op);
    for (int i = 0; i < nout && call->nwild; i++) source_of(call, index_of(call, &indices[i]), statuses, i);
    if (call->on) {
        pending_join(call, op, array);
        if (pending_room(nout))
            for (int i = 0; i < nout; i++) pending_add(call, array, index_of(call, &indices[i]));
    }
    settle_all(call, array);
    st_end(call);
}

void st_post_Waitsome(struct st_call *call, int error, int n, MPI_Request *array, int *nout, int *indices,
                      MPI_Status *statuses) {
    (void)error, (void)n;
    if (call->empty || *nout == MPI_UNDEFINED)
        not_yet(call, ST_OP_Waitsome, array);
    else
        some(call, ST_OP_Waitsome, array, *nout, indices, statuses);
}

void st_post_Testsome(struct st_call *call, int error, int n, MPI_Request *array, int *nout, int *indices,
                      MPI_Status *statuses) {
    (void)error, (void)n;
    if (call->empty || *nout == MPI_UNDEFINED || *nout == 0)
        not_yet(call, ST_OP_Testsome, array);
    else
        some(call, ST_OP_Testsome, array, *nout, indices, statuses);
}

/* -- matched messages ------------------------------------------------------------------------------------ */

static bool no_process_recorded; /* the probe that gave the last MPI_MESSAGE_NO_PROC was recorded */

void st_message_new(struct st_call *call, MPI_Message message) {
    if (message == MPI_MESSAGE_NO_PROC) no_process_recorded = !call->skipped;
    if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
    int slot = st_live_add(&messages, ST_KEY(message), NULL);
    if (call->skipped) st_live_hide(&messages, slot);
}

void st_follow_message(struct st_call *call) {
    int slot = call->message;
    st_lock();
    if (slot == -2 ? !no_process_recorded : slot < 0 || messages.slots[slot].hidden) st_skip(call);
    st_unlock();
}

void st_message_take(struct st_call *call, MPI_Message message) {
    bool before = st_hold();
    call->message = message == MPI_MESSAGE_NO_PROC ? -2 : st_live_claim(&messages, ST_KEY(message), NULL);
    st_release(before);
}

/* Age of the message that the call consumed. */
int64_t st_message_age(struct st_call *call) {
    return call->message == -2 ? ST_PROC_NULL : st_live_age(&messages, call->message);
}

void st_message_done(struct st_call *call) { st_live_drop(&messages, call->message); }
