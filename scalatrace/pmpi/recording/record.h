/* record.h - the way of a call through a wrapper, and of its event into the core.
 *
 *   program -> MPI_X (wrapper) -> PMPI_X
 *                 |  st_enter        takes t0; false: the call is not ours   (plug-ins: end "before", start "inside")
 *                 |  PMPI_X
 *                 |  st_leave        takes t1                                   (plug-ins: end "inside")
 *                 |  st_begin        stack signature, then the lock
 *                 |  values[i] = ... by kind of parameter
 *                 |  st_append       times; the event goes to the core
 *                 |  st_end          unlock
 *                 `- st_exit         takes the thread's last exit               (plug-ins: start "before")
 *
 * The time between t1 and the last exit is the tracer's own: it belongs to no event.
 *
 * A poll (Test, Iprobe, ...) that finds nothing makes no event. Its time is kept in the thread, and joins the event
 * of the poll that succeeds; see st_set_times.
 */
#ifndef ST_RECORD_H
#define ST_RECORD_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/signals.h"
#include "base/state.h"
#include "events/call.h"
#include "events/events.h"
#include "events/selection.h"
#include "plugins/plugins.h"

/* The thread is inside a wrapper, for all that is known. Has the program left that call without a return, by longjmp or
 * an exception from an error handler? Then the thread's depth is 0 again. `frame`: of the wrapper called now. */
bool st_was_left(const void *frame);

/* Start a call while no events are recorded: return `needed`. */
bool st_enter_paused(int op, bool needed);

/* Start a call. Return false where it is not to be recorded: before MPI_Init, inside the MPI library, or while events
 * are off. `needed`: it creates, uses or frees a handle, so the tables are updated also while events are off. */
static inline bool st_enter(struct st_call *call, int op, bool needed, void *caller, void *frame) {
    if (!st_shared.active) return false;
    if (__builtin_expect(!st_shared.on, 0) && !st_enter_paused(op, needed)) return false;
    if (__builtin_expect(st_thread.depth, 0) && !st_was_left(frame)) return false;
    st_thread.depth = 1;
    st_thread.frame = frame, st_thread.caller = caller;
    call->op = op;
    call->on = st_shared.on || st_shared.paused;
    call->skipped = false;
    call->at_once = false;
    call->fortran = false;
    call->caller = caller;
    call->slot = (void **)frame + 1;
    call->claimed = call->inline_claims;
    call->claims_late = false;
    call->nclaimed = 0;
    call->n_any_source = 0;
    call->statuses = NULL;
    call->agreed_family = 0;
    call->t0 = st_now();
    st_thread.call = call;
    if (__builtin_expect(st_shared.plugins_active, 0) && call->on) st_plugins_enter(call, op);
    if (ST_SELECTING) st_select_early(call, op);
    return true;
}
#define ST_ENTER(call, op, needed) st_enter(call, op, needed, __builtin_return_address(0), __builtin_frame_address(0))

/* Start a query (MPI_Comm_rank, ...), which is counted. Return true only where its event is wanted, too. */
static inline bool st_query(struct st_call *call, int op, void *caller, void *frame) {
    if (!st_shared.on || (st_thread.depth && !st_was_left(frame))) return false;
    if (st_options.queries) return st_enter(call, op, false, caller, frame);
    st_count(op);
    return false;
}
#define ST_QUERY(call, op) st_query(call, op, __builtin_return_address(0), __builtin_frame_address(0))

/* PMPI has returned `error`. The thread is busy from here to st_exit. Return the error of the call: MPICH 5 returns
 * MPI_SUCCESS from a call that failed, once an error handler of the program has run (error_handlers.h). */
static inline int st_leave(struct st_call *call, int error) {
    call->t1 = st_now();
    if (__builtin_expect(st_shared.plugins_active, 0) && (call->on || call->skipped)) st_plugins_leave(call);
    st_thread.busy = true;
    if (__builtin_expect(st_thread.raised, 0)) {
        if (error == MPI_SUCCESS) error = st_thread.raised;
        st_thread.raised = MPI_SUCCESS;
    }
    return error;
}

/* Free what the call allocated. */
void st_free_call(struct st_call *call);

/* The program continues. */
static inline void st_exit(struct st_call *call) {
    if (call->claimed != call->inline_claims || call->statuses) st_free_call(call);
    st_thread.busy = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(st_signal_waiting, 0)) {
        st_signal_deliver();
        call->at_once = false;
    }
    if (__builtin_expect(st_shared.plugins_active, 0)) {
        if (call->skipped) st_plugins_skip(call);
        st_plugins_exit(call);
    }
    st_thread.depth = 0, st_thread.frame = NULL, st_thread.call = NULL;
    if (__builtin_expect(!call->skipped, 1))
        st_thread.last_exit = __builtin_expect(call->at_once, 0) ? call->t1 : st_now();
    else if (st_thread.last_exit) /* a skipped call is computation, but the tracer's work after it is not */
        st_thread.last_exit += st_now() - call->t1 + 2 * st_clock.reading_ns; /* those at the call's begin and end */
}

/* Take the stack signature, then the lock; initialise the event. Return false once the tracer has given up; then there
 * is no event, and no st_end. */
bool st_begin(struct st_call *call, int op) __attribute__((warn_unused_result));
/* Append the call's event with its first `nvalues` values, unless the call makes none. */
void st_append(struct st_call *call, int nvalues);
/* Release the lock. */
void st_end(struct st_call *call);

/* Set the times of the call's event, and reset those that the thread keeps. The lock is held. */
void st_set_times(struct st_call *call);

/* The call had an error. Did it do something nevertheless, as a receive whose message was too long? Then its event
 * has all values, and the error. */
bool st_had_effect(struct st_call *call, int error);
/* Record that the call had this error and did nothing. */
void st_record_failed(struct st_call *call, int op, int error);
/* The poll found nothing: keep its time for a later event. `at_once`: the wrapper has taken no lock since PMPI returned,
 * so that is the exit. This saves one of the three readings of the clock, which are most of what such a poll costs. */
void st_count_failed_poll(struct st_call *call, int op, bool at_once);
/* The poll succeeded: its event stands for the unsuccessful ones, too. The lock is held. */
void st_set_polls(struct st_call *call, int op);

/* Switch events on or off (MPI_Pcontrol). */
void st_enable_events(bool on);

/* Write number of threads and counters of calls into the core's header entries. The lock is held. */
void st_publish_totals(void);

#endif
