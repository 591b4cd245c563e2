/* completion.c - record the completion of one, all, any or some requests. */
#include "recording/completion.h"

#include "base/lock.h"
#include "events/selection.h"
#include "events/values.h"
#include "handles/pending.h"
#include "handles/requests.h"
#include "ops.h"
#include "recording/record.h"

/* Start the event of a completion call. */
static bool begin(struct st_call *call, int op, const MPI_Request *array) {
    if (!st_begin(call, op)) return false;
    st_claim_late(call, array);
    return true;
}

/* Record a poll that completed nothing. Programs wait in loops of polls, so it takes the lock only if a request
 * changed. */
static void unsuccessful(struct st_call *call, int op, const MPI_Request *array) {
    bool untouched = st_claims_untouched(call, array);
    if (!untouched) {
        if (!st_lock()) return;
        st_claim_late(call, array);
        st_settle_claims(call, array);
        st_unlock();
    }
    if (!call->all_null)
        st_count_failed_poll(call, op, untouched);
    else if (!call->skipped)
        st_count(op); /* without an active request each poll succeeds at once: it is no event */
}

/* Did the call return an error and complete no request? Then record that; its requests live on. */
static bool failed(struct st_call *call, int op, int error, const MPI_Request *array) {
    if (__builtin_expect(!error, 1)) return false;
    bool had_effect = st_had_effect(call, error);
    if (!st_lock()) return true;
    st_claim_late(call, array);
    for (int i = 0; i < call->nclaimed; i++)
        if (st_claimed_died(call, array, i)) had_effect = true;
    if (!had_effect) st_settle_claims(call, array);
    st_unlock();
    if (!had_effect)
        st_record_failed(call, op, error);
    else if (call->on)
        call->on = ST_WITH_ERROR, call->error = error;
    return !had_effect;
}

/* An index that MPI returned, counted from 0. */
static int index_of(const struct st_call *call, const int *index) {
    return *index == MPI_UNDEFINED ? MPI_UNDEFINED : *index - (call->fortran ? 1 : 0);
}

/* -- one ------------------------------------------------------------------------------------------------- */

/* The event of a completed request: its age. Releases the lock, as all ..._event functions. */
static void one_event(struct st_call *call, const MPI_Request *request, const MPI_Status *status) {
    call->event.values[0] = st_claimed_age(call, 0);
    st_set_claim_source(call, 0, status, 0);
    st_append(call, 1);
    st_settle_claims(call, request);
    st_end(call);
}

void st_post_Wait(struct st_call *call, int error, MPI_Request *request, MPI_Status *status) {
    if (failed(call, ST_OP_Wait, error, request) || !begin(call, ST_OP_Wait, request)) return;
    one_event(call, request, status);
}

void st_post_Test(struct st_call *call, int error, MPI_Request *request, int *flag, MPI_Status *status) {
    if ((!error && !*flag) || call->all_null) {
        unsuccessful(call, ST_OP_Test, request);
        return;
    }
    if (failed(call, ST_OP_Test, error, request) || !begin(call, ST_OP_Test, request)) return;
    st_set_polls(call, ST_OP_Test);
    one_event(call, request, status);
}

/* Persistent requests live until this call. Where it fails, the request lives on. */
void st_post_Request_free(struct st_call *call, int error, MPI_Request *request) {
    if (failed(call, ST_OP_Request_free, error, request)) return;
    if (!begin(call, ST_OP_Request_free, request)) return;
    call->event.values[0] = st_claimed_age(call, 0);
    st_append(call, 1);
    st_drop_claim(call, 0);
    st_end(call);
}

/* -- all ------------------------------------------------------------------------------------------------- */

/* The ages of all requests. */
static void all_event(struct st_call *call, int n, const MPI_Request *array, const MPI_Status *statuses) {
    call->event.values[0] = st_claimed_ages(call);
    for (int i = 0; i < n && call->n_any_source; i++) st_set_claim_source(call, i, statuses, i);
    st_append(call, 1);
    st_settle_claims(call, array);
    st_end(call);
}

void st_post_Waitall(struct st_call *call, int error, int n, MPI_Request *array, MPI_Status *statuses) {
    if (failed(call, ST_OP_Waitall, error, array) || !begin(call, ST_OP_Waitall, array)) return;
    all_event(call, n, array, statuses);
}

void st_post_Testall(struct st_call *call, int error, int n, MPI_Request *array, int *flag, MPI_Status *statuses) {
    if ((!error && !*flag) || call->all_null) {
        unsuccessful(call, ST_OP_Testall, array);
        return;
    }
    if (failed(call, ST_OP_Testall, error, array) || !begin(call, ST_OP_Testall, array)) return;
    st_set_polls(call, ST_OP_Testall);
    all_event(call, n, array, statuses);
}

/* -- any ------------------------------------------------------------------------------------------------- */

/* Skip the call unless the request that completed is recorded. */
static void follow_completed(struct st_call *call, const int *index) {
    int completed = index_of(call, index);
    if (!ST_SELECTING) return;
    if (!st_lock()) return;
    bool recorded = completed >= 0 && completed < call->nclaimed && st_claimed_recorded(call, completed);
    st_unlock();
    if (!recorded) st_skip(call);
}

/* The ages of all requests, and the index of the one that completed. */
static void any_event(struct st_call *call, const MPI_Request *array, const int *index, const MPI_Status *status) {
    int completed = index_of(call, index);
    call->event.values[0] = st_claimed_ages(call);
    call->event.values[1] = st_int(completed);
    if (completed >= 0) st_set_claim_source(call, completed, status, 0);
    st_append(call, 2);
    st_settle_claims(call, array);
    st_end(call);
}

void st_post_Waitany(struct st_call *call, int error, int n, MPI_Request *array, int *index, MPI_Status *status) {
    (void)n;
    if (failed(call, ST_OP_Waitany, error, array)) return;
    follow_completed(call, index);
    if (!begin(call, ST_OP_Waitany, array)) return;
    any_event(call, array, index, status);
}

void st_post_Testany(struct st_call *call, int error, int n, MPI_Request *array, int *index, int *flag,
                     MPI_Status *status) {
    (void)n;
    if ((!error && !*flag) || call->all_null || *index == MPI_UNDEFINED) {
        unsuccessful(call, ST_OP_Testany, array);
        return;
    }
    if (failed(call, ST_OP_Testany, error, array)) return;
    follow_completed(call, index);
    if (!begin(call, ST_OP_Testany, array)) return;
    st_set_polls(call, ST_OP_Testany);
    any_event(call, array, index, status);
}

/* -- some ------------------------------------------------------------------------------------------------ */

/* Skip a call that completed none of the recorded requests. It ends the pending event, unless it would have joined
 * it. */
static void follow_any_completed(struct st_call *call, int op, const MPI_Request *array, int nout, const int *indices) {
    for (int i = 0; i < nout; i++)
        if (st_claimed_recorded(call, index_of(call, &indices[i]))) return;
    if (!st_pending_joins(call, op, array)) st_pending_flush();
    st_skip(call);
}

/* Add the completed requests to the pending event. */
static void some(struct st_call *call, int op, MPI_Request *array, int nout, const int *indices,
                 const MPI_Status *statuses) {
    if (!begin(call, op, array)) return;
    if (ST_SELECTING && call->on) follow_any_completed(call, op, array, nout, indices);
    st_set_polls(call, op);
    for (int i = 0; i < nout && call->n_any_source; i++)
        st_set_claim_source(call, index_of(call, &indices[i]), statuses, i);
    if (call->on) {
        st_set_times(call);
        st_pending_join(call, op, array);
        if (st_pending_reserve(nout))
            for (int i = 0; i < nout; i++) st_pending_add(call, array, index_of(call, &indices[i]));
    }
    st_settle_claims(call, array);
    st_end(call);
}

void st_post_Waitsome(struct st_call *call, int error, int n, MPI_Request *array, int *nout, int *indices,
                      MPI_Status *statuses) {
    (void)n;
    if (failed(call, ST_OP_Waitsome, error, array)) return;
    if (call->all_null || *nout == MPI_UNDEFINED)
        unsuccessful(call, ST_OP_Waitsome, array);
    else
        some(call, ST_OP_Waitsome, array, *nout, indices, statuses);
}

void st_post_Testsome(struct st_call *call, int error, int n, MPI_Request *array, int *nout, int *indices,
                      MPI_Status *statuses) {
    (void)n;
    if (failed(call, ST_OP_Testsome, error, array)) return;
    if (call->all_null || *nout == MPI_UNDEFINED || *nout == 0)
        unsuccessful(call, ST_OP_Testsome, array);
    else
        some(call, ST_OP_Testsome, array, *nout, indices, statuses);
}
