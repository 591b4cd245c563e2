/* current.c - the list of threads, and the description of their calls. */
#include "recording/current.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "events/call.h"
#include "events/comms.h"
#include "events/events.h"
#include "handles/requests.h"
#include "ops.h"
#include "recording/streams.h"

#define MAX_TEXT 8192   /* bytes of a description; what does not fit is left out */
#define MAX_REQUESTS 16 /* of one call */
#define MAX_RUNS 32     /* of ranks */

static struct st_thread *threads; /* under the lock */
static pthread_key_t end_of_thread;
static bool has_key;
static bool has_ended;
static int64_t finalize_ns; /* when the program called MPI_Finalize, 0: not yet */

/* The thread ends, and its state with it. */
static void remove_thread(void *thread) {
    bool was_busy;
    if (!st_hold_to_save(&was_busy)) return;
    st_stream_leave();
    for (struct st_thread **at = &threads; *at; at = &(*at)->next)
        if (*at == thread) {
            *at = (*at)->next;
            break;
        }
    st_release(was_busy);
}

void st_current_add_thread(void) {
    for (struct st_thread *known = threads; known; known = known->next)
        if (known == &st_thread) return;
    if (!has_key && pthread_key_create(&end_of_thread, remove_thread)) return;
    has_key = true;
    if (pthread_setspecific(end_of_thread, &st_thread)) return;
    st_thread.next = threads;
    threads = &st_thread;
}

void st_current_finalize(void) { finalize_ns = st_now(); }

void st_current_end(void) { has_ended = true; }

/* -- the text ---------------------------------------------------------------------------------------------- */

static struct text {
    char bytes[MAX_TEXT];
    size_t n;
} text;

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text.bytes + text.n, sizeof text.bytes - text.n, format, arguments);
    va_end(arguments);
    if (n > 0 && text.n + (size_t)n < sizeof text.bytes) text.n += (size_t)n;
    text.bytes[text.n] = 0;
}

static void print_peer(const char *name, int64_t rank) {
    if (rank == ST_ANY_SOURCE)
        print(", \"%s\": \"any\"", name);
    else if (rank >= 0)
        print(", \"%s\": %lld", name, (long long)rank);
}

static void print_tag(int tag) {
    if (tag >= 0) print(", \"tag\": %d", tag);
}

/* World ranks as runs; nothing where there are many. */
static void print_ranks(const struct st_comm *comm) {
    size_t start = text.n;
    int nruns = 0;
    print(", \"ranks\": \"");
    for (int i = 0; i < comm->size && nruns <= MAX_RUNS; nruns++) {
        int64_t first = st_comm_world_rank(comm, i), last = first;
        for (i++; i < comm->size && first >= 0 && st_comm_world_rank(comm, i) == last + 1; i++) last++;
        if (first < 0) continue;
        print("%s%lld", nruns ? "," : "", (long long)first);
        if (last > first) print("-%lld", (long long)last);
    }
    print("\"");
    if (nruns > MAX_RUNS) text.n = start;
}

/* Where messages come from or go to, as world ranks. */
static void print_peers(int awaits, const struct st_comm *comm, int peer, int dest) {
    if (awaits & (ST_AWAITS_SOURCE | ST_AWAITS_BOTH)) print_peer("from", st_comm_world_rank(comm, peer));
    if (awaits & ST_AWAITS_DEST) print_peer("to", st_comm_world_rank(comm, peer));
    if (awaits & ST_AWAITS_BOTH) print_peer("to", st_comm_world_rank(comm, dest));
}

static void print_requests(const struct st_call *call) {
    struct st_slot slots[MAX_REQUESTS];
    int n = st_claimed_slots(call, slots, MAX_REQUESTS);
    print(", \"requests\": [");
    for (int i = 0; i < n; i++) {
        int awaits = slots[i].described ? st_ops[slots[i].op].awaits & ~ST_AWAITS_BOTH : 0;
        print("%s{\"op\": \"%s\"", i ? ", " : "", slots[i].described ? st_ops[slots[i].op].name : "request");
        print_peers(awaits, st_comm_named(slots[i].comm), slots[i].peer, MPI_PROC_NULL);
        if (awaits & ST_AWAITS_TAG) print_tag(slots[i].tag);
        print("}");
    }
    print("]");
}

static void print_begin(const char *op, int64_t since) {
    print("%s{\"op\": \"%s\", \"seconds\": %.1f", text.n > 1 ? ", " : "", op, (double)(st_now() - since) / 1e9);
}

static bool completes_requests(int op) {
    return op == ST_OP_Wait || op == ST_OP_Waitall || op == ST_OP_Waitany || op == ST_OP_Waitsome;
}

static void print_call(const struct st_call *call) {
    int awaits = st_ops[call->op].awaits;
    print_begin(st_ops[call->op].name, call->t0);
    if (awaits & ST_AWAITS_COMM) {
        const struct st_comm *comm = st_comm_known(call->fortran ? PMPI_Comm_f2c(call->f_handle) : call->handle);
        print_peers(awaits, comm, call->peer, call->dest);
        if (awaits & ST_AWAITS_TAG) print_tag(call->tag);
        print(", \"comm\": \"%llx\"", (unsigned long long)comm->name);
        if (!(awaits & (ST_AWAITS_SOURCE | ST_AWAITS_DEST | ST_AWAITS_BOTH))) print_ranks(comm);
    }
    if (completes_requests(call->op)) print_requests(call);
    print("}");
}

static bool is_poll(int op) {
    const char *name = st_ops[op].name;
    return !strncmp(name, "Test", 4) || strstr(name, "mprobe") || !strcmp(name, "Iprobe");
}

/* Describe the thread's call. Return false where it is in none. */
static bool print_thread(const struct st_thread *thread) {
    const struct st_call *call = __atomic_load_n(&thread->call, __ATOMIC_ACQUIRE);
    size_t start = text.n;
    if (!call || !thread->frame || thread->busy || call->op < 0 || call->op >= ST_NOPS || is_poll(call->op))
        return false;
    int64_t t0 = call->t0;
    print_call(call);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (thread->call == call && call->t0 == t0 && !thread->busy) return true;
    text.n = start;
    return false;
}

/* -- the header entry -------------------------------------------------------------------------------------- */

static const char *entry_name(void) {
    static char name[32];
    snprintf(name, sizeof name, "in-call %d", st_shared.rank);
    return name;
}

void st_current_publish(void) {
    int64_t last_exit = 0;
    bool is_inside = false;
    if (has_ended) return;
    text.n = 0;
    print("[");
    if (finalize_ns) {
        print_begin("Finalize", finalize_ns);
        print("}");
        is_inside = true;
    }
    for (const struct st_thread *thread = threads; thread; thread = thread->next) {
        if (print_thread(thread)) is_inside = true;
        if (thread->last_exit > last_exit) last_exit = thread->last_exit;
    }
    if (!is_inside && last_exit) {
        print_begin("", last_exit);
        print("}");
    }
    print("]");
    st_core_check(st_set_meta(st_shared.core, entry_name(), text.bytes));
}

void st_current_remove(void) { st_core_check(st_set_meta(st_shared.core, entry_name(), NULL)); }
