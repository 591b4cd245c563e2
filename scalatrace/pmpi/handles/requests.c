/* requests.c - the table of live requests. */
#include "handles/requests.h"

#include <stdlib.h>

#include "base/fortran.h"
#include "base/lock.h"
#include "base/state.h"
#include "events/events.h"
#include "events/selection.h"
#include "events/values.h"
#include "handles/live.h"
#include "handles/unique_requests.h"
#include "ops.h"

#define MAX_STACK_AGES 64 /* ages of an array that need no allocated memory */

static struct st_live requests;
static int nany_source;     /* receives from MPI_ANY_SOURCE among them */
static bool may_claim_late; /* see requests.h */

/* The i-th request of an array; from Fortran, the array holds MPI_Fint. */
static MPI_Request request_at(const struct st_call *call, const MPI_Request *array, int i) {
    return call->fortran ? PMPI_Request_f2c(((const MPI_Fint *)(const void *)array)[i]) : array[i];
}

/* The program's variable that holds it. */
static const void *address_of(const struct st_call *call, const MPI_Request *array, int i) {
    return call->fortran ? (const void *)((const MPI_Fint *)(const void *)array + i) : (const void *)(array + i);
}

/* Slot of an active request in an array of the program; -1: null or unknown. */
static int slot_at(const struct st_call *call, const MPI_Request *array, int i) {
    MPI_Request handle = request_at(call, array, i);
    if (handle == MPI_REQUEST_NULL) return -1;
    return st_live_find(&requests, ST_KEY(handle), address_of(call, array, i));
}

/* -- new requests ---------------------------------------------------------------------------------------- */

/* Give the program's request a handle that no other live request has. */
static MPI_Request make_unique(const struct st_call *call, MPI_Request *request, MPI_Request handle) {
    MPI_Request unique = st_unique_request(handle, st_live_is_stored(&requests, request));
    if (unique == handle) return handle;
    if (call->fortran)
        *(MPI_Fint *)(void *)request = PMPI_Request_c2f(unique);
    else
        *request = unique;
    return unique;
}

/* Keep what the request waits for, as far as it is set; the operation tells. */
static void describe(struct st_slot *slot, const struct st_call *call) {
    slot->described = true;
    slot->op = (short)call->op;
    slot->peer = call->peer, slot->tag = call->tag;
    if (st_ops[call->op].awaits & ST_AWAITS_COMM) slot->comm = call->comm->name; /* messages and files have none */
}

void st_request_add(struct st_call *call, MPI_Request *request, bool persistent, bool any_source) {
    MPI_Request handle = request_at(call, request, 0);
    if (handle == MPI_REQUEST_NULL) return;
    if (st_live_has(&requests, ST_KEY(handle))) handle = make_unique(call, request, handle);
    int slot = st_live_add(&requests, ST_KEY(handle), request, st_thread.stream, call->on);
    if (slot < 0) return;
    requests.slots[slot].persistent = persistent;
    requests.slots[slot].any_source = any_source;
    nany_source += any_source;
    if (call->on) describe(&requests.slots[slot], call);
    if (call->skipped) st_live_hide(&requests, slot);
}

/* -- ages ------------------------------------------------------------------------------------------------ */

/* Do threads use the request in an order of its own? */
static bool is_ordered(const struct st_slot *slot) { return slot->persistent && !slot->hidden && slot->ordinal >= 0; }

void st_request_use(const struct st_call *call, int slot) {
    if (__builtin_expect(!st_shared.streams, 1) || slot < 0) return;
    const struct st_slot *s = &requests.slots[slot];
    if (!is_ordered(s)) return;
    st_core_check(st_core_use(st_shared.core, (uint32_t)s->stream, s->ordinal, (uint32_t)st_thread.stream,
                              st_ops[call->op].overlaps));
}

/* The name in the call's event, if it makes one; see live.h. */
static int64_t name_of(const struct st_call *call, int slot) {
    if (!call->on) return ST_UNDEFINED;
    st_request_use(call, slot);
    return st_live_name(&requests, slot, st_thread.stream);
}

int64_t st_request(struct st_call *call, const MPI_Request *array, int i) {
    return name_of(call, slot_at(call, array, i));
}

int64_t st_request_value(const struct st_call *call, MPI_Request request) {
    return request == MPI_REQUEST_NULL ? ST_UNDEFINED : name_of(call, st_live_find(&requests, ST_KEY(request), NULL));
}

int64_t st_claimed_age(const struct st_call *call, int i) { return name_of(call, call->claimed[i]); }

static int64_t request_item(struct st_call *call, const void *array, int i) { return st_request(call, array, i); }
static int64_t claimed_item(struct st_call *call, const void *unused, int i) {
    (void)unused;
    return st_claimed_age(call, i);
}

/* Name of the array of n ages; item(call, from, i) is the i-th one. */
static uint64_t array_of(int64_t n, int64_t (*item)(struct st_call *, const void *, int), struct st_call *call,
                         const void *from) {
    int64_t on_stack[MAX_STACK_AGES];
    int64_t *values = n > MAX_STACK_AGES ? malloc((size_t)n * sizeof *values) : on_stack;
    if (!values || n <= 0) return st_no_array();
    for (int i = 0; i < n; i++) values[i] = item(call, from, i);
    uint64_t name = st_array(st_shared.core, values, (size_t)n);
    if (values != on_stack) free(values);
    return name;
}

uint64_t st_requests(struct st_call *call, const MPI_Request *array, int64_t n) {
    return array_of(n, request_item, call, array);
}

int64_t st_claimed_ages(struct st_call *call) {
    return call->on ? (int64_t)array_of(call->nclaimed, claimed_item, call, NULL) : 0;
}

/* -- selection ------------------------------------------------------------------------------------------- */

/* Was the request created, and started, by calls that are recorded? */
static bool is_recorded(int slot) {
    return slot >= 0 && !requests.slots[slot].hidden && !requests.slots[slot].started_off;
}

bool st_claimed_recorded(const struct st_call *call, int i) { return is_recorded(call->claimed[i]); }

static bool any_claim_recorded(const struct st_call *call) {
    for (int i = 0; i < call->nclaimed; i++) {
        if (is_recorded(call->claimed[i])) return true;
        if (call->op == ST_OP_Request_free && call->claimed[i] >= 0) return !requests.slots[call->claimed[i]].hidden;
    }
    return false;
}

void st_follow_requests(struct st_call *call, const MPI_Request *array, int64_t n) {
    bool starts = call->op == ST_OP_Start || call->op == ST_OP_Startall, any = false;
    if (!st_lock()) return;
    for (int i = 0; i < n; i++) {
        int slot = slot_at(call, array, i);
        if (slot >= 0 && starts) requests.slots[slot].started_off = st_shared.paused;
        any = any || is_recorded(slot);
    }
    st_unlock();
    if (!any) st_skip(call);
}

void st_follow_request(struct st_call *call, MPI_Request request) {
    if (!st_lock()) return;
    if (!is_recorded(st_live_find(&requests, ST_KEY(request), NULL))) st_skip(call);
    st_unlock();
}

/* -- claims ---------------------------------------------------------------------------------------------- */

void st_requests_start(void) {
    int level;
    may_claim_late = PMPI_Query_thread(&level) == MPI_SUCCESS && level < MPI_THREAD_MULTIPLE;
    st_shared.streams = !may_claim_late;
}

void st_requests_of_sessions(void) { may_claim_late = false, st_shared.streams = true; }

/* Claim the i-th request of the program's array, which has this handle. Return its slot; -1: null or unknown. */
static int claim(struct st_call *call, const MPI_Request *array, int i, MPI_Request handle) {
    if (handle == MPI_REQUEST_NULL) return -1;
    call->all_null = false;
    const void *where = address_of(call, array, i);
    int slot = st_live_claim(&requests, ST_KEY(handle), where);
    if (slot < 0) return -1;
    st_unique_claimed(requests.slots[slot].where == where);
    if (requests.slots[slot].any_source) call->n_any_source++;
    return slot;
}

/* Leave the claims for later. */
static void keep_handles(struct st_call *call, const MPI_Request *array, int n) {
    call->claims_late = true;
    call->nclaimed = n;
    call->n_any_source = nany_source;
    for (int i = 0; i < n; i++) {
        call->handles[i] = request_at(call, array, i);
        if (call->handles[i] != MPI_REQUEST_NULL) call->all_null = false;
    }
}

void st_claim(struct st_call *call, const MPI_Request *array, int n) {
    call->all_null = true;
    call->nclaimed = 0;
    if (may_claim_late && n <= ST_MAX_INLINE_CLAIMS && !ST_SELECTING) {
        if (n > 0) keep_handles(call, array, n);
        return;
    }
    if (n > ST_MAX_INLINE_CLAIMS) {
        call->claimed = malloc((size_t)n * sizeof *call->claimed);
        if (!call->claimed) { /* it is not known any more which requests are alive: no later call can name one */
            st_warn_once("out of memory; the trace ends here");
            call->claimed = call->inline_claims;
            call->on = st_shared.on = st_shared.paused = false;
            return;
        }
    }
    bool was_busy;
    if (!st_hold(&was_busy)) return;
    for (int i = 0; i < n; i++) call->claimed[i] = claim(call, array, i, request_at(call, array, i));
    call->nclaimed = n;
    if (ST_SELECTING && !any_claim_recorded(call)) st_skip(call);
    st_release(was_busy);
}

void st_claim_late(struct st_call *call, const MPI_Request *array) {
    if (!call->claims_late) return;
    call->claims_late = false;
    call->n_any_source = 0;
    for (int i = 0; i < call->nclaimed; i++) call->claimed[i] = claim(call, array, i, call->handles[i]);
}

bool st_claims_untouched(const struct st_call *call, const MPI_Request *array) {
    if (!call->claims_late) return false;
    for (int i = 0; i < call->nclaimed; i++)
        if (request_at(call, array, i) != call->handles[i]) return false;
    return true;
}

bool st_claimed_died(const struct st_call *call, const MPI_Request *array, int i) {
    int slot = call->claimed[i];
    return slot >= 0 && !requests.slots[slot].persistent && request_at(call, array, i) == MPI_REQUEST_NULL;
}

void st_request_drop(int slot, int stream) {
    if (slot >= 0 && requests.slots[slot].any_source) nany_source--;
    if (st_shared.streams && slot >= 0 && is_ordered(&requests.slots[slot]))
        st_core_check(
            st_core_end_use(st_shared.core, (uint32_t)requests.slots[slot].stream, requests.slots[slot].ordinal));
    st_live_drop(&requests, slot, stream);
}

const struct st_slot *st_request_slot(int slot) { return slot < 0 ? NULL : &requests.slots[slot]; }
int64_t st_request_foreign_name(int creator, int64_t ordinal, int stream) {
    return st_live_foreign_name(&requests, creator, ordinal, stream);
}

void st_relink_claim(struct st_call *call, int i) {
    if (call->claimed[i] >= 0) st_live_relink(&requests, call->claimed[i]);
}

void st_drop_claim(struct st_call *call, int i) { st_request_drop(call->claimed[i], st_thread.stream); }

void st_settle_claims(struct st_call *call, const MPI_Request *array) {
    for (int i = 0; i < call->nclaimed; i++)
        if (st_claimed_died(call, array, i))
            st_drop_claim(call, i);
        else
            st_relink_claim(call, i);
}

int st_claimed_slots(const struct st_call *call, struct st_slot *slots, int max) {
    int n = 0;
    for (int i = 0; i < call->nclaimed && n < max; i++) {
        int slot = call->claims_late ? st_live_find(&requests, ST_KEY(call->handles[i]), NULL) : call->claimed[i];
        if (slot >= 0) slots[n++] = requests.slots[slot];
    }
    return n;
}

/* -- statuses -------------------------------------------------------------------------------------------- */

MPI_Status *st_own_statuses(struct st_call *call, int n) {
    size_t size = sizeof(MPI_Status) + ST_F_STATUS_INTS * sizeof(MPI_Fint); /* enough for C and for Fortran */
    call->statuses = calloc((size_t)n + 1, size);
    return call->statuses;
}

/* Did the program pass MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE? */
static bool is_ignored(const struct st_call *call, const MPI_Status *status) {
    if (call->fortran) return st_fortran_is(status, ST_F_STATUS_IGNORE) || st_fortran_is(status, ST_F_STATUSES_IGNORE);
    return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE;
}

void st_set_source(struct st_call *call, const MPI_Status *statuses, int status_index) {
    int source;
    if (call->fortran) {
        MPI_Status converted;
        const MPI_Fint *fortran = (const MPI_Fint *)(const void *)statuses;
        PMPI_Status_f2c(fortran + (size_t)status_index * (sizeof(MPI_Status) / sizeof(MPI_Fint)), &converted);
        source = converted.MPI_SOURCE;
    } else {
        source = statuses[status_index].MPI_SOURCE;
    }
    if (source >= 0) call->event.stats[ST_STAT_SOURCE] = source;
}

void st_set_claim_source(struct st_call *call, int i, const MPI_Status *statuses, int status_index) {
    int slot = call->n_any_source && i < call->nclaimed ? call->claimed[i] : -1;
    if (slot >= 0 && requests.slots[slot].any_source && statuses && !is_ignored(call, statuses))
        st_set_source(call, statuses, status_index);
}
