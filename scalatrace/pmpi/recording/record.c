/* record.c - from st_begin to st_end, and the times of an event. */
#include "recording/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/lock.h"
#include "handles/pending.h"
#include "ops.h"
#include "recording/current.h"
#include "recording/streams.h"
#include "stacks/stack.h"

#define MAX_STACK ((uintptr_t)8 << 20) /* bytes; frames that are further apart are of different stacks */

/* The frames of calls inside a wrapper lie below its own. A call that was left may still have the higher frame; then its
 * return address was overwritten, unless all calls since then were shallow. */
bool st_was_left(const void *frame) {
    uintptr_t now = (uintptr_t)frame, then = (uintptr_t)st_thread.frame;
    bool far = (now > then ? now - then : then - now) > MAX_STACK;
    if (!then || st_thread.busy || far || (now < then && st_thread.frame[1] == st_thread.caller)) {
        if (st_thread.call) st_thread.nested_t0 = st_thread.call->t0;
        return false;
    }
    st_thread.depth = 0, st_thread.frame = NULL, st_thread.call = NULL, st_thread.raised = MPI_SUCCESS;
    return true;
}

/* The time while events are off belongs to no event. */
bool st_enter_paused(int op, bool needed) {
    if (!st_shared.paused || st_thread.depth) return needed;
    if (!needed) st_count_skipped(op);
    st_thread.last_exit = 0;
    return needed;
}

void st_free_call(struct st_call *call) {
    if (call->claimed != call->inline_claims) free(call->claimed);
    free(call->statuses);
}

/* The first call of this thread: return its stream. */
static __attribute__((noinline)) int start_thread(void) {
    st_stream_take();
    st_current_add_thread();
    return st_thread.stream;
}

/* The stack comes first, since it may wait for Python's GIL. A pending Waitsome event comes before this call's event,
 * and the requests it completed must be dead when this call names requests. Only a call that may join it leaves it
 * open. */
bool st_begin(struct st_call *call, int op) {
    call->event.signature = 0;
    if (call->on && st_options.stacks != ST_STACKS_NONE) call->event.signature = st_stack(call);
    if (!st_lock()) return false;
    if (ST_SELECTING && st_ops[op].role == ST_SELECTABLE && st_site_skipped(call)) st_skip(call);
    call->event.thread = (uint32_t)(__builtin_expect(st_thread.has_stream, 1) ? st_thread.stream : start_thread());
    call->event.self = st_shared.rank;
    call->event.size = st_shared.nprocs;
    call->event.stats[ST_STAT_SOURCE] = NAN;
    call->event.stats[ST_STAT_POLLS] = NAN;
    call->event.op = (uint32_t)op;
    if (!call->on || (op != ST_OP_Waitsome && op != ST_OP_Testsome)) st_pending_flush();
    return true;
}

/* Before the call the program computed, in it the program communicated. Unsuccessful polls before it are communication
 * of the poll that succeeds; where another call follows, they were part of the computation. The time before a thread's
 * first call is not known. */
void st_set_times(struct st_call *call) {
    struct st_thread *thread = &st_thread;
    bool poll = !isnan(call->event.stats[ST_STAT_POLLS]);
    int64_t compute = thread->before_ns + (thread->last_exit ? st_between(thread->last_exit, call->t0) : 0);
    int64_t comm = st_between(call->t0, call->t1);
    *(poll ? &comm : &compute) += thread->poll_ns;
    thread->poll_ns = thread->before_ns = 0;
    call->event.stats[ST_STAT_COMPUTE] = compute > 0 ? (double)compute : 0.0;
    call->event.stats[ST_STAT_COMM] = comm > 0 ? (double)comm : 0.0;
    if (__builtin_expect(st_shared.plugins_active, 0)) st_plugins_complete(call, poll);
}

void st_append(struct st_call *call, int nvalues) {
    if (call->on == ST_NO_EVENT) return;
    if (__builtin_expect(!st_thread.counted, 0)) {
        st_thread.counted = true, st_shared.threads += st_stream_count();
        st_current_add_thread();
    }
    if (call->t1 > atomic_load_explicit(&st_shared.end_ns, memory_order_relaxed))
        atomic_store_explicit(&st_shared.end_ns, call->t1, memory_order_relaxed); /* under the lock */
    st_set_times(call);
    call->event.nvalues = (uint32_t)nvalues;
    if (__builtin_expect(call->on != ST_SUCCEEDED, 0)) st_add_error(&call->event, call->error, call->on);
    st_append_event(&call->event, (int)call->event.op, call->on);
}

void st_end(struct st_call *call) {
    (void)call;
    st_unlock();
}

bool st_had_effect(struct st_call *call, int error) {
    int class = MPI_ERR_OTHER;
    PMPI_Error_class(error, &class);
    if (class != MPI_ERR_TRUNCATE && class != MPI_ERR_IN_STATUS && class != MPI_ERR_PENDING) return false;
    if (call->on) call->on = ST_WITH_ERROR, call->error = error;
    return true;
}

/* Its parameters may be invalid: nothing is looked up. */
void st_record_failed(struct st_call *call, int op, int error) {
    if (ST_SELECTING && (st_ops[op].role == ST_FOLLOWS || st_selection.by_comm || st_selection.by_size)) st_skip(call);
    if (call->on) call->on = ST_FAILED, call->error = error;
    if (!st_begin(call, op)) return;
    st_append(call, 0);
    st_end(call);
}

void st_count_failed_poll(struct st_call *call, int op, bool at_once) {
    if (call->skipped) return;
    call->at_once = at_once && !st_shared.plugins_active && !ST_SELECTING && !call->statuses;
    __atomic_fetch_add(&st_stream_polls()[op], 1, __ATOMIC_RELAXED);
    if (!call->on) return;
    if (st_thread.last_exit) st_thread.before_ns += st_between(st_thread.last_exit, call->t0);
    st_thread.poll_ns += st_between(call->t0, call->t1);
    if (__builtin_expect(st_shared.plugins_active, 0)) st_plugins_poll(call);
}

void st_set_polls(struct st_call *call, int op) {
    if (call->skipped) return;
    call->event.stats[ST_STAT_POLLS] = (double)(1 + __atomic_exchange_n(&st_stream_polls()[op], 0, __ATOMIC_RELAXED));
}

void st_enable_events(bool on) {
    static int64_t off_ns; /* when events were switched off */
    if (!st_shared.active || st_shared.on == on) return;
    if (!on) st_selection.active = true, off_ns = st_shared.end_ns ? st_shared.end_ns : st_shared.start_ns;
    st_shared.paused = !on;
    st_shared.on = on;
    if (on && st_shared.plugins_active) st_plugins_exit(NULL);
    st_thread.last_exit = st_now();
    st_thread.poll_ns = st_thread.before_ns = 0;
    if (on) st_shared.start_ns += st_between(off_ns, st_now());
}

void st_publish_totals(void) {
    char threads[16], elapsed[24];
    snprintf(threads, sizeof threads, "%d", st_shared.threads);
    snprintf(elapsed, sizeof elapsed, "%lld", st_shared.end_ns - st_shared.start_ns);
    if (st_shared.threads > 1) { /* the times of the events are then of several threads at once */
        st_core_check(st_set_meta(st_shared.core, "threads", threads));
        st_core_check(st_set_meta(st_shared.core, "elapsed-ns", elapsed));
    }
    st_publish_counts();
    const struct {
        const char *name;
        uint64_t ncalls;
    } rows[] = {{"not selected", __atomic_load_n(&st_selection.nskipped, __ATOMIC_RELAXED)},
                {"switched off", __atomic_load_n(&st_selection.npaused, __ATOMIC_RELAXED)}};
    for (int i = 0; i < 2; i++)
        if (rows[i].ncalls) st_core_check(st_set_count(st_shared.core, rows[i].name, rows[i].ncalls));
}
