/* state.c - the tracer's state, its options, and the way of an event from a wrapper to the core. */
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "shim.h"

__thread struct st_thread st_thread __attribute__((tls_model("initial-exec")));
struct st_options st_options;
struct st_shared st_shared = {.private_comm = MPI_COMM_NULL};
uint64_t st_counts[ST_NOPS];

#define MAX_COMPLAINTS 8 /* kinds of trouble that a process speaks of, each once */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int numbers[ST_NOPS]; /* the core's number of an op, plus one; 0: not registered yet */
static uint64_t polls[ST_NOPS];

void st_lock(void) { pthread_mutex_lock(&mutex); }
void st_unlock(void) { pthread_mutex_unlock(&mutex); }

static const char *text_option(const char *name) {
    const char *value = getenv(name);
    return value && *value ? strdup(value) : NULL; /* a program may change its environment */
}

static int number_option(const char *name, int fallback) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : fallback;
}

static enum st_stacks stacks_option(void) {
    static const char *const names[] = {"none", "auto", "python", "native"};
    const char *value = getenv("SCALATRACE_STACKS");
    for (int i = 0; value && i < 4; i++)
        if (!strcmp(value, names[i])) return (enum st_stacks)i;
    return ST_STACKS_AUTO;
}

void st_read_options(void) {
    const char *output = text_option("SCALATRACE_OUTPUT");
    st_options.output = output ? output : "out.st";
    st_options.flat_log = text_option("SCALATRACE_FLAT_LOG");
    st_options.meta = text_option("SCALATRACE_META");
    st_options.stacks = stacks_option();
    st_options.stack_depth = number_option("SCALATRACE_STACK_DEPTH", 32);
    st_options.checkpoint = number_option("SCALATRACE_CHECKPOINT", 0);
    st_options.queries = number_option("SCALATRACE_RECORD_QUERIES", 0) != 0;
    st_options.quiet = number_option("SCALATRACE_QUIET", 0) != 0;
    st_options.compress = number_option("SCALATRACE_COMPRESS", 1) != 0;
}

int st_options_stacks(void) {
    if (st_options.stacks != ST_STACKS_AUTO) return (int)st_options.stacks;
    return st_python_alive() ? ST_STACKS_PYTHON : ST_STACKS_NATIVE;
}

static void tell(const char *format, va_list arguments) {
    char text[1024];
    if (st_options.quiet) return;
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "scalatrace: rank %d: %s\n", st_shared.rank, text);
}

void st_tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell(format, arguments);
    va_end(arguments);
}

void st_complain(const char *format, ...) {
    static const char *said[MAX_COMPLAINTS];
    for (int i = 0;; i++) {
        const char *nothing = NULL;
        if (i == MAX_COMPLAINTS || said[i] == format) return;
        if (__atomic_compare_exchange_n(&said[i], &nothing, format, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
        if (said[i] == format) return;
    }
    va_list arguments;
    va_start(arguments, format);
    tell(format, arguments);
    va_end(arguments);
}

void st_core_check(int error) {
    if (__builtin_expect(error >= 0, 1)) return;
    st_complain("%s; events may be missing from the trace", st_core_error(st_shared.core));
    if (error == ST_E_MEMORY) st_shared.on = false;
}

void st_free_call(struct st_call *call) {
    if (call->claimed != call->few) free(call->claimed);
    free(call->statuses);
}

void st_leave_slow(void) {
    st_signal_waiting = 0;
    st_signal_deliver();
}

/* Stack first (it may wait for Python's GIL), then the lock. A pending Waitsome comes before this call, and what it
 * completed is dead when this call names requests; only a call that may join it leaves it open. */
void st_begin(struct st_call *call, int op) {
    call->event.signature = 0;
    if (call->on && st_options.stacks != ST_STACKS_NONE) call->event.signature = st_stack(call);
    st_lock();
    if (ST_SELECTING && st_ops[op].role == ST_CHOSEN && st_site_skipped(call)) st_skip(call);
    if (!call->on || (op != ST_OP_Waitsome && op != ST_OP_Testsome)) st_pending_flush();
    call->event.self = st_shared.rank;
    call->event.size = st_shared.nprocs;
    call->event.stats[ST_STAT_SOURCE] = NAN;
    call->event.stats[ST_STAT_POLLS] = NAN;
    call->event.op = (uint32_t)op;
}

/* Windows of time: before the call the program computed, in it the program communicated; polls that answered "not yet"
 * since belong to the poll that succeeds, else to the computation they were part of. What a thread did before its first
 * call is not known. */
void st_take_times(struct st_call *call) {
    struct st_thread *thread = &st_thread;
    bool poll = !isnan(call->event.stats[ST_STAT_POLLS]);
    int64_t compute = thread->before_ns + (thread->last_exit ? call->t0 - thread->last_exit : 0);
    int64_t comm = call->t1 - call->t0;
    *(poll ? &comm : &compute) += thread->poll_ns;
    thread->poll_ns = thread->before_ns = 0;
    call->event.stats[ST_STAT_COMPUTE] = compute > 0 ? (double)compute : 0.0;
    call->event.stats[ST_STAT_COMM] = comm > 0 ? (double)comm : 0.0;
    if (__builtin_expect(st_shared.plugs, 0)) st_plugins_settle(call, poll);
}

static int number_of(int op) {
    if (!numbers[op])
        numbers[op] =
            1 + st_define_op(st_shared.core, st_ops[op].name, st_ops[op].nparams, st_ops[op].names, st_ops[op].kinds);
    return numbers[op] - 1;
}

void st_append_event(struct st_event *event, int op) {
    int number = number_of(op);
    if (number < 0) {
        st_core_check(number);
        return;
    }
    event->op = (uint32_t)number;
    st_core_check(st_core_append(st_shared.core, event));
}

void st_append(struct st_call *call, int nvalues) {
    if (!call->on) return;
    if (__builtin_expect(!st_thread.counted, 0)) st_thread.counted = true, st_shared.threads++;
    st_take_times(call);
    call->event.nvalues = (uint32_t)nvalues;
    st_append_event(&call->event, (int)call->event.op);
}

void st_end(struct st_call *call) {
    (void)call;
    st_unlock();
}

/* A call that returned an error did not happen, for the trace; it is counted. */
void st_failed(const struct st_call *call, int op) {
    if (!call->skipped) st_count(op);
}

/* "Not yet": no event. The time since the last event goes on; see st_take_times. */
void st_poll(struct st_call *call, int op) {
    if (call->skipped) return;
    __atomic_fetch_add(&polls[op], 1, __ATOMIC_RELAXED);
    if (!call->on) return;
    if (st_thread.last_exit) st_thread.before_ns += call->t0 - st_thread.last_exit;
    st_thread.poll_ns += call->t1 - call->t0;
    if (__builtin_expect(st_shared.plugs, 0)) st_plugins_poll(call);
}

/* The poll that succeeded stands for those before it. The lock is held. */
void st_polled(struct st_call *call, int op) {
    if (call->skipped) return;
    call->event.stats[ST_STAT_POLLS] = (double)(1 + __atomic_exchange_n(&polls[op], 0, __ATOMIC_RELAXED));
}

void st_switch(bool on) {
    if (!st_shared.active || st_shared.on == on) return;
    st_shared.on = on;
    if (on && st_shared.plugs) st_plugins_exit(NULL);
    st_thread.last_exit = st_now();
    st_thread.poll_ns = st_thread.before_ns = 0;
}

void st_publish_counts(void) {
    char threads[16];
    snprintf(threads, sizeof threads, "%d", st_shared.threads);
    if (st_shared.threads > 1) st_core_check(st_set_meta(st_shared.core, "threads", threads));
    for (int op = 0; op < ST_NOPS; op++)
        if (st_counts[op]) st_core_check(st_set_count(st_shared.core, st_ops[op].name, st_counts[op]));
    if (st_selection.nskipped) st_core_check(st_set_count(st_shared.core, "not selected", st_selection.nskipped));
}
