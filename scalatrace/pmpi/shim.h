/* shim.h - what the wrappers and the hand-written parts of the tracer share.
 *
 *   program -> MPI_X (wrapper) -> PMPI_X
 *                 |  st_enter        entry stamp; false: step aside   (plug-ins: end before, start inside)
 *                 |  st_leave        exit stamp                       (plug-ins: end inside)
 *                 |  st_begin        stack signature, then the lock
 *                 |  values[i] = ... by kind
 *                 |  st_append       to the core
 *                 |  st_end          unlock
 *                 `- st_exit         the "last exit" stamp: the tracer's own time is nobody's   (plug-ins: start before)
 *
 * Order of locks: Python's GIL before ours, never the other way round.
 */
#ifndef ST_SHIM_H
#define ST_SHIM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "st_core.h"

#define ST_EXPORT __attribute__((visibility("default")))
#define ST_KEY(handle) ((uint64_t)(uintptr_t)(handle))

enum st_stat { ST_STAT_COMPUTE, ST_STAT_COMM, ST_STAT_SOURCE, ST_STAT_POLLS };
enum st_stacks { ST_STACKS_NONE, ST_STACKS_AUTO, ST_STACKS_PYTHON, ST_STACKS_NATIVE };

/* A communicator as the trace knows it. */
struct st_comm {
    uint64_t name;     /* its family */
    uint64_t children; /* how many families were made from it */
    int64_t windows;   /* how many windows, files */
    int64_t files;
    int self;       /* my rank in it */
    int local_size; /* members of my group */
    int size;       /* members of the group that peers are ranks of (the remote one of an intercommunicator) */
    int indegree;   /* neighbours; -1: not asked yet */
    int outdegree;
    bool inter;
    const char *kind;   /* "split", "cart", ...; NULL: of MPI_COMM_NULL */
    bool chosen;        /* what the selection of communicators said last, */
    uint64_t chosen_as; /* of this name; 0: not asked yet */
};

/* A window or a file: the communicator it was made on, and which one on it. */
struct st_object {
    struct st_comm comm;
    int64_t ordinal;
    bool begun; /* the split collective under way is recorded */
};

#define ST_FEW 16

/* One call on its way through a wrapper. */
struct st_call {
    int64_t t0, t1;
    void *caller; /* return address of the wrapper, and the stack slot that holds it */
    void **slot;
    bool on;      /* events are wanted (else only state is tracked) */
    bool skipped; /* they are, but this call is not selected */
    bool fortran; /* handle arrays hold MPI_Fint, indices count from 1 */
    bool empty;   /* the completion call had no request that is not null */
    int nclaimed; /* requests taken out of the table for the call */
    int nwild;    /* of these, receives from any source */
    int *claimed;
    int few[ST_FEW];
    int op;                  /* of the wrapper; set for plug-ins only */
    int message;             /* the matched message a call consumes */
    MPI_Status *statuses;    /* ours, where the program ignores them */
    struct st_comm *comm;    /* of the event */
    struct st_comm taken;    /* copy of a communicator that the call frees */
    struct st_object object; /* window or file of the event */
    MPI_Group whole;         /* groups are recorded as ranks of it */
    uint64_t agreed;         /* family that the members of a new communicator agreed on; 0: none */
    struct st_event event;
};

struct st_thread {
    int depth;         /* inside a wrapper: MPI calls made by MPI are not the program's */
    bool busy;         /* inside the tracer: a signal handler must not wait for it */
    int64_t last_exit; /* when the program got control back */
    int64_t poll_ns;   /* time in polls since the last event, that answered "not yet" */
    int64_t before_ns; /* time before and between these polls */
    bool counted;      /* among the threads that made events */
    struct st_plug_thread *plugs;
};
extern __thread struct st_thread st_thread __attribute__((tls_model("initial-exec")));

struct st_options {
    const char *output;   /* path of the trace */
    const char *flat_log; /* directory or NULL */
    const char *meta;     /* key=value separated by unit separators (0x1f), or NULL */
    enum st_stacks stacks;
    int stack_depth;
    int checkpoint; /* seconds, 0: never */
    bool queries;
    bool quiet;
    bool compress;
};
extern struct st_options st_options;

struct st_shared {
    bool active; /* between MPI_Init and MPI_Finalize */
    bool on;     /* the program wants events (MPI_Pcontrol) */
    bool plugs;  /* something else than time is measured too */
    st_core *core;
    int rank, nprocs;
    int threads;           /* that made events; under the lock */
    MPI_Comm private_comm; /* a duplicate of the world: our own messages */
};
extern struct st_shared st_shared;

/* Operations: generated. */
struct st_op {
    const char *name;
    int nparams;
    const char *const *names;
    const int *kinds;
    int role; /* of enum st_role */
};
extern const struct st_op st_ops[];
extern const int st_nops;

#include "selection.h"

/* state.c */
void st_read_options(void);
int st_options_stacks(void); /* ST_STACKS_PYTHON, _NATIVE or _NONE: what "auto" means in this process */
void st_complain(const char *format, ...) __attribute__((format(printf, 1, 2))); /* once for each format */
void st_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));     /* every time */
void st_core_check(int error);
void st_lock(void);
void st_unlock(void);
void st_begin(struct st_call *call, int op);
void st_take_times(struct st_call *call);
void st_append(struct st_call *call, int nvalues);
void st_append_event(struct st_event *event, int op);
void st_end(struct st_call *call);
void st_failed(const struct st_call *call, int op);
void st_poll(struct st_call *call, int op);
void st_polled(struct st_call *call, int op);
void st_switch(bool on);
void st_publish_counts(void);
void st_free_call(struct st_call *call);
void st_leave_slow(void);
void st_pending_flush(void);
extern uint64_t st_counts[];
extern volatile int st_signal_waiting;

/* The lock outside of what st_leave and st_exit enclose: a signal must not wait for us there either. */
static inline bool st_hold(void) {
    bool before = st_thread.busy;
    st_thread.busy = true;
    st_lock();
    return before;
}
static inline void st_release(bool before) {
    st_unlock();
    st_thread.busy = before;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(st_signal_waiting, 0) && !before) st_leave_slow();
}

/* plugins.c: at the places where the times are taken; nothing of it runs where there is no plug-in. */
void st_plugins_start(void);                         /* load; every rank takes part */
void st_plugins_enter(struct st_call *call, int op); /* after t0 was taken, which it shifts by its own time */
void st_plugins_leave(struct st_call *call);         /* after t1 was taken */
void st_plugins_exit(const struct st_call *call);    /* before the "last exit" stamp; NULL: recording begins here */
void st_plugins_poll(const struct st_call *call);    /* no event: its samples go to the next one */
void st_plugins_skip(const struct st_call *call);    /* not selected: likewise, all as computation */
void st_plugins_settle(struct st_call *call,
                       bool poll); /* the event's samples are complete; those of polls before it join */
void st_plugins_join(struct st_event *event, const struct st_event *more); /* two calls are one event */
void st_plugins_stop(void);

/* clock.c: nanoseconds since some moment. Where the kernel itself keeps time by the processor's counter, it is read
 * directly: a third of what clock_gettime costs, three times per call. */
struct st_clock {
    uint64_t scale; /* nanoseconds per tick, times 2^32; 0: use clock_gettime */
    uint64_t base;
};
extern struct st_clock st_clock;
void st_clock_start(void);
int64_t st_clock_slow(void);

static inline int64_t st_now(void) {
#if defined(__x86_64__)
    if (__builtin_expect(st_clock.scale != 0, 1))
        return (int64_t)(((unsigned __int128)(__builtin_ia32_rdtsc() - st_clock.base) * st_clock.scale) >> 32);
#endif
    return st_clock_slow();
}

/* Take a call in; false: not ours to record (no MPI_Init yet, or made inside MPI). `needed`: also when events are off. */
static inline bool st_enter(struct st_call *call, int op, bool needed, void *caller, void *frame) {
    if (!st_shared.active || st_thread.depth || !(needed || st_shared.on)) return false;
    st_thread.depth = 1;
    call->on = st_shared.on;
    call->skipped = false;
    call->fortran = false;
    call->caller = caller;
    call->slot = (void **)frame + 1;
    call->claimed = call->few;
    call->nclaimed = 0;
    call->nwild = 0;
    call->statuses = NULL;
    call->agreed = 0;
    call->t0 = st_now();
    if (__builtin_expect(st_shared.plugs, 0) && call->on) st_plugins_enter(call, op);
    if (ST_SELECTING) st_select_early(call, op);
    return true;
}
#define ST_ENTER(call, op, needed) st_enter(call, op, needed, __builtin_return_address(0), __builtin_frame_address(0))

/* A query is counted; true: its event is wanted too. */
static inline bool st_query(struct st_call *call, int op, void *caller, void *frame);
#define ST_QUERY(call, op) st_query(call, op, __builtin_return_address(0), __builtin_frame_address(0))

static inline void st_leave(struct st_call *call) {
    call->t1 = st_now();
    if (__builtin_expect(st_shared.plugs, 0) && (call->on || call->skipped)) st_plugins_leave(call);
    st_thread.busy = true;
}

static inline void st_exit(struct st_call *call) {
    if (call->claimed != call->few || call->statuses) st_free_call(call);
    st_thread.busy = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(st_signal_waiting, 0)) st_leave_slow();
    if (__builtin_expect(st_shared.plugs, 0)) {
        if (call->skipped) st_plugins_skip(call);
        st_plugins_exit(call);
    }
    st_thread.depth = 0;
    if (__builtin_expect(!call->skipped, 1))
        st_thread.last_exit = st_now();
    else if (st_thread.last_exit) /* the call is computation, what we did after it is not */
        st_thread.last_exit += st_now() - call->t1;
}

static inline void st_count(int op) { __atomic_fetch_add(&st_counts[op], 1, __ATOMIC_RELAXED); }

static inline bool st_query(struct st_call *call, int op, void *caller, void *frame) {
    if (!st_shared.on || st_thread.depth) return false;
    if (st_options.queries) return st_enter(call, op, false, caller, frame);
    st_count(op);
    return false;
}

/* MPI's special ranks and tags, under one name for every MPI. */
static inline int64_t st_rank(int rank) {
    if (__builtin_expect(rank >= 0, 1)) return rank;
    if (rank == MPI_PROC_NULL) return ST_PROC_NULL;
    if (rank == MPI_ANY_SOURCE) return ST_ANY_SOURCE;
    if (rank == MPI_ROOT) return ST_ROOT;
    return rank == MPI_UNDEFINED ? ST_UNDEFINED : rank;
}
static inline int64_t st_tag(int tag) { return tag == MPI_ANY_TAG ? ST_ANY_TAG : tag; }
static inline int64_t st_int(int64_t value) { return value == MPI_UNDEFINED ? ST_UNDEFINED : value; }

/* handles.c: a map from 64-bit keys to 64-bit values. */
struct st_map {
    uint64_t *keys, *values;
    unsigned char *full;
    size_t capacity, used;
};
uint64_t *st_map_find(const struct st_map *map, uint64_t key);     /* NULL: not there */
bool st_map_put(struct st_map *map, uint64_t key, uint64_t value); /* false: out of memory */
bool st_map_drop(struct st_map *map, uint64_t key, uint64_t *value);

/* live.c: things named by their age among those alive (requests, matched messages). */
struct st_slot {
    uint64_t handle;
    const void *where; /* the program's variable that it was stored in, tells equal handles apart */
    int position;      /* in order of creation */
    int prev, next;    /* slots with the same handle, -1: none */
    bool lost;         /* the variable holds a newer handle */
    bool linked, persistent, wild;
    bool hidden; /* made by a call that is not selected */
};
struct st_live {
    struct st_slot *slots;
    int *free_slots, *tree, *at; /* at: position -> slot or -1; tree: Fenwick counts over positions */
    int nslots, nfree, slots_capacity;
    int npositions, capacity, nlive, nhidden;
    struct st_map map[2];     /* handle -> first and last slot; [1]: of lost handles */
    struct st_map by_address; /* variable -> newest slot stored in it */
};
int st_live_add(struct st_live *live, uint64_t handle, const void *where);
void st_live_hide(struct st_live *live, int slot); /* it has no age, and others' do not count it */
bool st_live_has(const struct st_live *live, uint64_t handle);
bool st_live_is_stored(const struct st_live *live, const void *where); /* something alive was stored there last */
int st_live_find(const struct st_live *live, uint64_t handle, const void *where);
int st_live_claim(struct st_live *live, uint64_t handle, const void *where); /* find and unlink; keeps its age */
void st_live_relink(struct st_live *live, int slot);
void st_live_drop(struct st_live *live, int slot);
int64_t st_live_age(const struct st_live *live, int slot); /* ST_UNDEFINED for -1 */

/* comms.c */
struct st_comm *st_comm_of(MPI_Comm comm);
uint64_t st_comm_name(MPI_Comm comm);
uint64_t st_comm_made(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm made);
uint64_t st_comm_promised(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm *newcomm);
void st_comm_take(struct st_call *call, MPI_Comm comm);
void st_comm_agree(struct st_call *call, MPI_Comm local, MPI_Comm made);
void st_comm_degrees(struct st_comm *info, MPI_Comm comm);
void st_comm_start(void);
void st_comm_forget_all(void);
void st_on_comm(struct st_call *call, MPI_Comm comm);

/* objects.c: windows and files */
int64_t st_win_made(struct st_call *call, MPI_Comm comm, MPI_Win win);
int64_t st_file_made(struct st_call *call, MPI_Comm comm, MPI_File file);
int64_t st_on_win(struct st_call *call, MPI_Win win);
int64_t st_on_file(struct st_call *call, MPI_File file);
void st_win_take(struct st_call *call, MPI_Win win);
void st_file_take(struct st_call *call, MPI_File file);
int64_t st_on_taken(struct st_call *call);

/* types.c, values.c: names for datatypes, reduction operations, flags, arrays */
uint64_t st_type(MPI_Datatype type);
uint64_t st_types(struct st_call *call, const MPI_Datatype *types, int64_t n);
void st_type_forget(MPI_Datatype type);
uint64_t st_op_name(MPI_Op op);
uint64_t st_text(const char *text);
uint64_t st_lock_name(int lock);
uint64_t st_whence_name(int whence);
uint64_t st_amode_name(int amode);
uint64_t st_assert_name(int assertion);
uint64_t st_split_name(int split);
uint64_t st_ints(const int *values, int64_t n);
uint64_t st_counts_array(const MPI_Count *values, int64_t n);
uint64_t st_aints(const MPI_Aint *values, int64_t n);
uint64_t st_ranks(const int *ranks, int64_t n);
uint64_t st_group(struct st_call *call, MPI_Group group);
uint64_t st_weights(const int *weights, int64_t n);
uint64_t st_no_array(void);
int st_source_asked(int source); /* of a receive or probe: MPI_ANY_SOURCE where a replay gave the call one */
int64_t st_sum(const int *values, int64_t n);
int64_t st_sum_counts(const MPI_Count *values, int64_t n);

/* completion.c */
void st_request_new(struct st_call *call, MPI_Request *request, bool persistent, bool wild);
int64_t st_request(struct st_call *call, const MPI_Request *request, int i);
int64_t st_request_value(MPI_Request request);
uint64_t st_requests(struct st_call *call, const MPI_Request *requests, int64_t n);
int64_t st_message_age(struct st_call *call);
void st_message_take(struct st_call *call, MPI_Message message);
void st_message_done(struct st_call *call);
void st_message_new(struct st_call *call, MPI_Message message);
void st_claim(struct st_call *call, const MPI_Request *requests, int n);
void st_source(struct st_call *call, const MPI_Status *status, int i);
MPI_Status *st_own_statuses(struct st_call *call, int n);
void st_post_Wait(struct st_call *, int error, MPI_Request *, MPI_Status *);
void st_post_Waitall(struct st_call *, int error, int n, MPI_Request *, MPI_Status *);
void st_post_Waitany(struct st_call *, int error, int n, MPI_Request *, int *index, MPI_Status *);
void st_post_Waitsome(struct st_call *, int error, int n, MPI_Request *, int *nout, int *indices, MPI_Status *);
void st_post_Test(struct st_call *, int error, MPI_Request *, int *flag, MPI_Status *);
void st_post_Testall(struct st_call *, int error, int n, MPI_Request *, int *flag, MPI_Status *);
void st_post_Testany(struct st_call *, int error, int n, MPI_Request *, int *index, int *flag, MPI_Status *);
void st_post_Testsome(struct st_call *, int error, int n, MPI_Request *, int *nout, int *indices, MPI_Status *);
void st_post_Request_free(struct st_call *, int error, MPI_Request *);

/* unique_requests.c */
void st_unique_start(void);            /* in MPI_Init: which handles are predefined */
void st_unique_claimed(bool in_place); /* a request was waited for, in the variable that MPI stored it in */
/* A substitute for a predefined handle; else the handle itself. `overwrites`: its variable has a live request already. */
MPI_Request st_unique_request(MPI_Request handle, bool overwrites);

/* stack*.c */
uint64_t st_stack(struct st_call *call);
bool st_python_alive(void);
bool st_python_thread(void); /* alive, and this thread has a Python thread state: it may take the GIL */
uint64_t st_stack_python(int depth);
uint64_t st_stack_native(void *caller, void **slot, int depth);
uint64_t st_define_frames(const char *const *frames, size_t n);

/* lifecycle.c, finish.c, save.c */
void st_start(void);
void st_stop(void);
bool st_started(void); /* MPI_Init or MPI_Session_init was called */
void st_finish(void);
void st_policy_start(void);
void st_each_entry(const char *variable, void (*take)(const char *left, const char *right));
void st_children_start(void); /* before the first path of an output is used */
void st_save_start(void);
void st_parts_discard_stale(const char *output, int rank); /* of ranks from `rank` on, left by an earlier run */
void st_save_stop(void);
void st_save_in_child(void); /* forked: no handlers, no helper */
int st_save_part(void);      /* this rank's part; the caller holds no lock */
void st_save_with_siblings(void);
void st_save_at_exit(void);
void st_part_path(char *path, size_t n, int rank);
void st_part_keep(void);       /* what is merged into the core from now on is not in this rank's part */
void st_part_discard(void);    /* this rank's part, if it wrote one; none is written from now on */
void st_parts_discarded(void); /* all ranks have done that: the directory too */
void st_save_from_handler(void);

/* signals.c */
void st_signals_before_init(void); /* before MPI's own handlers are there */
void st_signals_take(void);
void st_signals_return(void);
void st_signal_deliver(void);

/* fortran.c: constants of Open MPI's Fortran, which are addresses */
enum st_fortran_constant {
    ST_F_IN_PLACE,
    ST_F_STATUS_IGNORE,
    ST_F_STATUSES_IGNORE,
    ST_F_UNWEIGHTED,
    ST_F_WEIGHTS_EMPTY
};
bool st_fortran_is(const void *address, enum st_fortran_constant constant);
void st_fortran_text(char *to, const char *from, size_t length); /* blank-padded to zero-terminated */
#define ST_F_TEXT 4096
int st_ndims(MPI_Comm comm);
void *st_fortran_next(const char *symbol);
#define ST_F_STATUS_INTS ((sizeof(MPI_Status) + sizeof(MPI_Fint) - 1) / sizeof(MPI_Fint) + 8)

#endif
