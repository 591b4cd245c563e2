/* lifecycle.c - the calls that start and end tracing, in C and, where Fortran bypasses the C wrappers, in Fortran. */
#define _GNU_SOURCE
#include "process/lifecycle.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fortran.h"
#include "base/lock.h"
#include "base/options.h"
#include "base/signals.h"
#include "base/state.h"
#include "base/wait.h"
#include "events/comms.h"
#include "events/policy.h"
#include "events/selection.h"
#include "events/world.h"
#include "handles/pending.h"
#include "handles/requests.h"
#include "handles/unique_requests.h"
#include "plugins/plugins.h"
#include "process/arrival.h"
#include "process/children.h"
#include "process/finish.h"
#include "process/gather.h"
#include "process/output.h"
#include "process/parts.h"
#include "process/program.h"
#include "process/save.h"
#include "recording/annotations.h"
#include "recording/current.h"
#include "recording/memory.h"
#include "recording/record.h"
#include "stacks/loader.h"
#include "stacks/modules.h"
#include "stacks/stack.h"

/* -- start and stop -------------------------------------------------------------------------------------- */

static pid_t process; /* that started MPI, unlike a forked child */
static bool started;  /* MPI_Init was called */
static bool has_sessions;

ST_EXPORT bool scalatrace_started(void) { return started || has_sessions; }

/* A forked child is no rank. */
static void in_child(void) {
    st_loader_after_fork();
    st_shared.active = st_shared.on = false;
    st_save_in_child();
    if (st_shared.core) st_flatlog_forget(st_shared.core);
}

/* In the order of enum st_stat. */
static void define_stats(void) {
    static const char *const names[] = {"compute_ns", "comm_ns", "source", "polls"};
    for (int i = 0; i < 4; i++) st_core_check(st_define_stat(st_shared.core, names[i], 1.0));
}

/* Header entries of the trace: MPI library, version of the core, and what `scalatrace record` passed. */
static void set_meta(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    PMPI_Get_library_version(version, &n);
    version[strcspn(version, "\n\r")] = 0;
    st_set_meta(st_shared.core, "mpi", version);
    st_set_meta(st_shared.core, "version", st_core_version());
    char *all = st_options.meta ? strdup(st_options.meta) : NULL, *state = NULL;
    for (char *pair = all ? strtok_r(all, "\x1f", &state) : NULL; pair; pair = strtok_r(NULL, "\x1f", &state)) {
        char *equals = strchr(pair, '=');
        if (!equals) continue;
        *equals = 0;
        st_set_meta(st_shared.core, pair, equals + 1);
    }
    free(all);
}

/* Header entries on the machine: times of a run with more ranks than cores contain waiting for cores. */
static void set_hosts(void) {
    MPI_Comm here = MPI_COMM_NULL;
    int local = 0, ranks = 1, first, hosts = 1, most = 1;
    if (PMPI_Comm_split_type(st_shared.private_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here)) return;
    PMPI_Comm_rank(here, &local);
    PMPI_Comm_size(here, &ranks);
    PMPI_Comm_free(&here);
    first = local == 0;
    PMPI_Allreduce(&first, &hosts, 1, MPI_INT, MPI_SUM, st_shared.private_comm);
    PMPI_Allreduce(&ranks, &most, 1, MPI_INT, MPI_MAX, st_shared.private_comm);
    const struct {
        const char *name;
        long value;
    } rows[] = {{"hosts", hosts}, {"ranks-per-host", most}, {"cores-per-host", sysconf(_SC_NPROCESSORS_ONLN)}};
    for (int i = 0; i < 3; i++) {
        char text[24];
        snprintf(text, sizeof text, "%ld", rows[i].value);
        if (rows[i].value > 0) st_set_meta(st_shared.core, rows[i].name, text);
    }
}

/* The thread level that MPI has: with more than the program's, calls of a replay take longer. */
static void set_thread_level(void) {
    const struct {
        int level;
        const char *name;
    } rows[] = {{MPI_THREAD_SINGLE, "single"},
                {MPI_THREAD_FUNNELED, "funneled"},
                {MPI_THREAD_SERIALIZED, "serialized"},
                {MPI_THREAD_MULTIPLE, "multiple"}};
    int level = -1;
    if (PMPI_Query_thread(&level)) return;
    for (int i = 0; i < 4; i++)
        if (rows[i].level == level) st_set_meta(st_shared.core, "thread-level", rows[i].name);
}

static void open_flat_log(void) {
    if (!st_options.flat_log) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%d.log", st_options.flat_log, st_shared.rank);
    int error = st_flatlog_open(st_shared.core, path);
    if (error < 0) st_core_warn(error, "no flat log: %s", st_core_error(st_shared.core));
}

/* Create the cores, unless a session did, and the number of this run, which parts of another run do not have. Tracing
 * communicates, so all ranks trace or none does. Return false when some rank is out of memory. */
static bool start_core(void) {
    char run[32];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t number = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (!st_shared.core) st_shared.core = st_core_new(st_shared.rank, st_shared.nprocs);
    int ok = st_shared.core != NULL, all_ok = 0;
    PMPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, st_shared.private_comm);
    PMPI_Bcast(&number, 1, MPI_UINT64_T, 0, st_shared.private_comm);
    if (all_ok) {
        snprintf(run, sizeof run, "%016llx", (unsigned long long)number);
        st_core_check(st_set_meta(st_shared.core, "run", run));
        return true;
    }
    if (!ok) st_warn_once("the tracer is out of memory; this run is not traced");
    st_shared.active = st_shared.on = false;
    st_core_free(st_shared.core);
    st_shared.core = NULL;
    return false;
}

/* Before the first event, on this rank alone. The core's settings come first. */
static void start_recording(void) {
    st_policy_start();
    st_selection_start();
    define_stats();
    st_plugins_start();
    set_meta();
    st_stack_start();
    st_fortran_start();
    st_current_add_thread();
    st_streams_start();
    pthread_atfork(st_loader_before_fork, st_loader_after_fork, in_child);
}

/* From now on calls are events. */
static void begin_events(void) {
    if (st_shared.plugins_active) st_plugins_exit(NULL);
    st_thread.depth = 0;
    st_thread.last_exit = st_now();
    st_shared.start_ns = st_thread.last_exit;
    st_selection_set_start(st_thread.last_exit);
}

static void start_process(void) {
    st_clock_start();
    st_read_options();
    process = getpid();
}

/* Called in MPI_Init, after MPI is initialised. Output paths come before saving. `before`: a session has started to
 * record; the ranks find each other all the same. */
static void start_tracing(void) {
    if (started) return;
    bool before = st_shared.core != NULL;
    st_thread.depth = 1;
    started = true;
    if (!before) start_process();
    PMPI_Comm_rank(MPI_COMM_WORLD, &st_shared.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &st_shared.nprocs);
    if (!st_arrive()) {
        st_thread.depth = 0;
        return;
    }
    PMPI_Comm_dup(MPI_COMM_WORLD, &st_shared.private_comm);
    PMPI_Comm_set_errhandler(st_shared.private_comm, MPI_ERRORS_RETURN);
    if (start_core()) {
        st_output_start();
        st_children_start();
        st_save_start();
        if (!has_sessions) st_requests_start();
        if (!before) start_recording();
        st_program_start();
        set_hosts();
        if (!before) st_memory_start();
        set_thread_level();
        if (!before) open_flat_log();
        st_comms_start();
        st_unique_start(st_shared.private_comm);
        st_shared.active = st_shared.on = true;
    } else {
        PMPI_Comm_free(&st_shared.private_comm);
        st_shared.private_comm = MPI_COMM_NULL;
    }
    if (before)
        st_thread.depth = 0;
    else
        begin_events();
}

/* Are there events, which the end of the program must not lose? */
static bool is_recorded(void) { return st_shared.active || st_shared.gave_up; }

/* Complete this rank's events. Return false where another thread holds the lock, and for ever. */
static bool complete_events(bool *was_busy) {
    bool locked = st_hold_to_save(was_busy);
    st_shared.active = st_shared.on = false;
    if (locked && st_shared.core) {
        st_pending_flush_all();
        st_publish_totals();
        st_modules_publish();
        st_core_check(st_core_finish(st_shared.core));
        if (st_options.flat_log) st_core_check(st_flatlog_close(st_shared.core));
    }
    if (locked) st_release(*was_busy);
    return locked;
}

/* Called in MPI_Finalize, before MPI is finalised: complete this rank's events, merge, write, free. */
static void stop_tracing(void) {
    bool was_busy;
    if (st_shared.private_comm == MPI_COMM_NULL || getpid() != process) return;
    st_thread.depth = 1;
    st_current_finalize();
    if (st_thread.busy) st_give_up("a signal handler left a call by longjmp while it was being recorded");
    bool locked = complete_events(&was_busy);
    st_plugins_stop();
    bool complete = st_finish();
    bool unused = st_save_stop() && locked; /* does no other thread use the core? */
    st_world_stop();
    if (complete) PMPI_Comm_free(&st_shared.private_comm); /* MPICH ends a program that frees one with messages left */
    st_shared.private_comm = MPI_COMM_NULL;
    if (unused) st_core_free(st_shared.core);
    st_shared.core = NULL;
    st_thread.depth = 0;
}

/* The program ends without MPI_Finalize: save the events of this node's ranks. Where a signal handler called exit()
 * while this thread was inside the tracer, the thread holds the lock and the core is half changed: nothing can be
 * saved. */
ST_EXPORT void scalatrace_save_unfinished(void) {
    if (!is_recorded() || getpid() != process) return;
    st_thread.depth = 1;
    if (st_thread.busy)
        st_warn_once("exit() was called while an event was being recorded; this rank saves no part");
    else
        st_save_at_exit();
    st_shared.active = false;
}

/* Recording goes on where the new program does not start. Nothing may change here in a vfork()ed child. */
ST_EXPORT void scalatrace_save_before_exec(const char *program) {
    if (!is_recorded() || getpid() != process || st_thread.busy) return;
    bool was_inside = st_thread.depth;
    st_thread.depth = 1;
    st_warn("rank %d is replaced by %s before MPI_Finalize", st_shared.rank, program);
    if (st_save_part(true) == ST_OK) st_parts_report();
    st_thread.depth = was_inside;
}

/* Has the program used sessions only, and closed them all? */
static bool has_closed_sessions(void) {
#ifdef MPI_SESSION_NULL
    return is_recorded() && st_shared.private_comm == MPI_COMM_NULL && !st_thread.busy && st_world_sessions() == 0;
#else
    return false;
#endif
}

/* The last function of the process. */
static void end_process(void *unused) {
    bool was_busy;
    (void)unused;
    if (getpid() == process && has_closed_sessions()) {
        st_thread.depth = 1;
        st_current_end();
        if (complete_events(&was_busy)) st_finish_without_mpi();
    } else {
        scalatrace_save_unfinished();
    }
}

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

/* Destructors of other libraries, which come after this one, may call MPI_Finalize or close a session. Functions that
 * are registered while destructors run are called when all these have. */
__attribute__((destructor)) static void on_exit_without_finalize(void) {
    if (is_recorded() && __cxa_atexit(end_process, NULL, NULL)) end_process(NULL);
}

/* -- the calls in C -------------------------------------------------------------------------------------- */

/* The function that MPI_X jumps to, and the pointer to what comes next. */
#define NEXT(name) scalatrace_next_MPI_##name
#define ST_WRAPPER(name, ...)                                                                                          \
    ST_EXPORT int (*NEXT(name))(__VA_ARGS__) = PMPI_##name;                                                            \
    ST_EXPORT int scalatrace_MPI_##name(__VA_ARGS__)

/* The MPI library may call MPI_Init itself, from MPI_Init_thread or Fortran: depth tells. */
ST_WRAPPER(Init, int *argc, char ***argv) {
    if (st_thread.depth) return NEXT(Init)(argc, argv);
    st_thread.depth = 1;
    st_signals_before_init();
    int error = NEXT(Init)(argc, argv);
    st_thread.depth = 0;
    if (error == MPI_SUCCESS) start_tracing();
    return error;
}

ST_WRAPPER(Init_thread, int *argc, char ***argv, int required, int *provided) {
    if (st_thread.depth) return NEXT(Init_thread)(argc, argv, required, provided);
    st_thread.depth = 1;
    st_signals_before_init();
    int error = NEXT(Init_thread)(argc, argv, required, provided);
    st_thread.depth = 0;
    if (error == MPI_SUCCESS) start_tracing();
    return error;
}

#ifdef MPI_SESSION_NULL
/* -- sessions ---------------------------------------------------------------------------------------------- *
 *
 * A session opens and closes on each process by itself, so recording starts and ends without the others (gather.h).
 */

/* The first session, before MPI_Init. */
static void start_with_session(MPI_Session session) {
    MPI_Group world;
    start_process();
    if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS) return;
    PMPI_Group_rank(world, &st_shared.rank);
    PMPI_Group_size(world, &st_shared.nprocs);
    PMPI_Group_free(&world);
    st_shared.core = st_core_new(st_shared.rank, st_shared.nprocs);
    if (!st_shared.core) return;
    st_output_start();
    st_gather_start();
    st_save_start();
    start_recording();
    open_flat_log();
    st_comms_start();
    st_shared.active = st_shared.on = true;
    begin_events();
}

static void warn_after_finalize(void) {
    if (started && !st_shared.core && st_shared.rank == 0)
        st_warn_once("calls in sessions after MPI_Finalize are not recorded");
}

static void open_session(MPI_Session session) {
    bool was_busy;
    has_sessions = true;
    st_requests_of_sessions();
    warn_after_finalize();
    st_thread.depth = 1;
    if (!started && !st_shared.core) start_with_session(session);
    st_thread.depth = 0;
    if (!st_hold(&was_busy)) return;
    st_world_add(session);
    st_release(was_busy);
}

static void close_session(MPI_Session session) {
    bool was_busy;
    warn_after_finalize();
    if (!st_hold_to_save(&was_busy)) return;
    st_world_remove(session);
    st_release(was_busy);
}

ST_WRAPPER(Session_init, MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
    int error = NEXT(Session_init)(info, handler, session);
    if (error == MPI_SUCCESS && !st_thread.depth) open_session(*session);
    return error;
}

ST_WRAPPER(Session_finalize, MPI_Session *session) {
    if (!st_thread.depth) close_session(*session);
    return NEXT(Session_finalize)(session);
}
#endif

/* Is a call the program's own, while tracing? */
static bool is_ours_at(const void *frame) { return is_recorded() && (!st_thread.depth || st_was_left(frame)); }
#define is_ours() is_ours_at(__builtin_frame_address(0))

static void end_tracing(void) {
    if (is_recorded()) stop_tracing();
    st_arrival_end();
}

/* The MPI library never calls MPI_Finalize: also a thread that seems to be in a call is the program's. */
ST_WRAPPER(Finalize, void) {
    end_tracing();
    return NEXT(Finalize)();
}

/* PMPI_Abort may call _exit, which finds nothing to save any more. */
static void save_before_abort(void) {
    st_save_with_siblings();
    st_shared.active = false;
}

ST_WRAPPER(Abort, MPI_Comm comm, int code) {
    if (is_ours()) save_before_abort();
    return NEXT(Abort)(comm, code);
}

ST_WRAPPER(Pcontrol, const int level, ...) {
    if (level == ST_KERNEL_BEGINS) {
        va_list sizes;
        va_start(sizes, level);
        const char *kernel = va_arg(sizes, const char *);
        st_annotate_list(kernel, sizes, __builtin_return_address(0), __builtin_frame_address(0));
        va_end(sizes);
    } else if (level == ST_KERNEL_ENDS) {
        st_annotate(level, "", NULL, 0, __builtin_return_address(0), __builtin_frame_address(0));
    } else if (is_ours())
        st_enable_events(level != 0);
    return NEXT(Pcontrol)(level);
}

/* -- for Python, by ctypes ------------------------------------------------------------------------------- */

/* Switch events on or off. Return the state before, 1 or 0; -1 where nothing is traced. */
ST_EXPORT int scalatrace_tracing(int on) {
    if (!st_shared.active) return -1;
    int before = st_shared.on;
    st_enable_events(on != 0);
    return before;
}

/* Record that a kernel begins, or with NULL that it ends. */
ST_EXPORT void scalatrace_kernel(const char *kernel, const int64_t *sizes, int nsizes) {
    int level = kernel ? ST_KERNEL_BEGINS : ST_KERNEL_ENDS;
    st_annotate(level, kernel ? kernel : "", sizes, nsizes, __builtin_return_address(0), __builtin_frame_address(0));
}

/* -- Fortran ---------------------------------------------------------------------------------------------- *
 *
 * These bindings call PMPI_X, and so bypass the C wrappers: all of Open MPI's, those of MPICH's mpi_f08. */

#define FORTRAN_WRAPPER(symbol, ...)                                                                                   \
    ST_EXPORT void (*scalatrace_next_##symbol)(__VA_ARGS__);                                                           \
    ST_EXPORT void scalatrace_##symbol(__VA_ARGS__)

#define FORTRAN_INIT(symbol)                                                                                           \
    FORTRAN_WRAPPER(symbol, MPI_Fint *error) {                                                                         \
        int before = st_thread.depth++;                                                                                \
        st_signals_before_init();                                                                                      \
        scalatrace_next_##symbol(error);                                                                               \
        st_thread.depth = before;                                                                                      \
        if (!before && (!error || *error == MPI_SUCCESS)) start_tracing();                                             \
    }
#define FORTRAN_INIT_THREAD(symbol)                                                                                    \
    FORTRAN_WRAPPER(symbol, MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error) {                                 \
        int before = st_thread.depth++;                                                                                \
        st_signals_before_init();                                                                                      \
        scalatrace_next_##symbol(required, provided, error);                                                           \
        st_thread.depth = before;                                                                                      \
        if (!before && (!error || *error == MPI_SUCCESS)) start_tracing();                                             \
    }
#define FORTRAN_FINALIZE(symbol)                                                                                       \
    FORTRAN_WRAPPER(symbol, MPI_Fint *error) {                                                                         \
        end_tracing();                                                                                                 \
        scalatrace_next_##symbol(error);                                                                               \
    }
#define FORTRAN_ABORT(symbol)                                                                                          \
    FORTRAN_WRAPPER(symbol, MPI_Fint *comm, MPI_Fint *code, MPI_Fint *error) {                                         \
        if (is_ours()) save_before_abort();                                                                            \
        scalatrace_next_##symbol(comm, code, error);                                                                   \
    }
#define FORTRAN_PCONTROL(symbol)                                                                                       \
    FORTRAN_WRAPPER(symbol, MPI_Fint *level) {                                                                         \
        if (is_ours()) st_enable_events(*level != 0);                                                                  \
        scalatrace_next_##symbol(level);                                                                               \
    }
#define FORTRAN_SESSION_INIT(symbol)                                                                                   \
    FORTRAN_WRAPPER(symbol, MPI_Fint *info, MPI_Fint *handler, MPI_Fint *session, MPI_Fint *error) {                   \
        scalatrace_next_##symbol(info, handler, session, error);                                                       \
        if (!st_thread.depth && (!error || *error == MPI_SUCCESS)) open_session(PMPI_Session_f2c(*session));           \
    }
#define FORTRAN_SESSION_FINALIZE(symbol)                                                                               \
    FORTRAN_WRAPPER(symbol, MPI_Fint *session, MPI_Fint *error) {                                                      \
        if (!st_thread.depth) close_session(PMPI_Session_f2c(*session));                                               \
        scalatrace_next_##symbol(session, error);                                                                      \
    }
#ifdef OPEN_MPI
#define BOTH(macro, name) macro(name##_) macro(name##_f08_)
#elif defined(ST_STANDARD_ABI)
#define BOTH(macro, name)
#else
#define BOTH(macro, name) macro(name##_f08_)
#endif

BOTH(FORTRAN_INIT, mpi_init)
BOTH(FORTRAN_INIT_THREAD, mpi_init_thread)
BOTH(FORTRAN_FINALIZE, mpi_finalize)
BOTH(FORTRAN_ABORT, mpi_abort)
BOTH(FORTRAN_PCONTROL, mpi_pcontrol)
#ifdef MPI_SESSION_NULL
BOTH(FORTRAN_SESSION_INIT, mpi_session_init)
BOTH(FORTRAN_SESSION_FINALIZE, mpi_session_finalize)
#endif
