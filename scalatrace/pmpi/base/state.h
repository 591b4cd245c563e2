/* state.h - the state of the tracer: of each thread, and of the process. Also its warnings.
 *
 *     program code        MPI_X (ours)                    PMPI_X        MPI_X (ours)          program code
 *     depth 0             depth 1                         depth 1       depth 1, busy         depth 0
 *     ------------------> entry ------------------------> ... --------> return ------> exit ----------->
 *                         t0                                            t1             last_exit
 */
#ifndef ST_STATE_H
#define ST_STATE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "st_core.h"

/* A function that the program's calls reach; everything else in the library is hidden. */
#define ST_EXPORT __attribute__((visibility("default")))

struct st_plugin_thread;
struct st_call;

/* State of one thread of the program. Only its own thread changes it. */
struct st_thread {
    int depth;                        /* above 0 inside a wrapper: the MPI library's own calls are not the program's */
    void **frame;                     /* of the wrapper that set depth, NULL: none; its return address is at [1] */
    void *caller;                     /* ... and this address */
    const struct st_call *call;       /* of the wrapper that set depth */
    int raised;                       /* the error that it gave to an error handler of the program, or MPI_SUCCESS */
    int64_t nested_t0;                /* t0 of the last call in which the program called MPI again */
    struct st_thread *next;           /* in the list of current.c */
    bool busy;                        /* inside the tracer: a signal handler must not wait for this thread */
    int64_t last_exit;                /* when the program last got control back from a wrapper, in ns; 0: never */
    int64_t poll_ns;                  /* time in unsuccessful polls since the last event */
    int64_t before_ns;                /* computation time before and between these polls */
    bool counted;                     /* is the thread included in st_shared.threads? */
    bool has_stream;                  /* has it taken a stream (recording/streams.h), ... */
    int stream;                       /* ... with this number? 0 before, and where the rank has one stream */
    uint64_t *polls;                  /* of the stream, by operation: unsuccessful ones since the last successful one */
    struct st_plugin_thread *plugins; /* this thread's plug-in states, or NULL; see plugins.c */
};
extern __thread struct st_thread st_thread __attribute__((tls_model("initial-exec")));

/* State of the process. Threads read what is atomic without the lock. */
struct st_shared {
    atomic_bool active;    /* between MPI_Init and MPI_Finalize, and tracing works */
    atomic_bool on;        /* events are recorded */
    atomic_bool paused;    /* not `on`, since the program switched events off (MPI_Pcontrol) */
    atomic_bool gave_up;   /* a wait was too long: this rank records nothing more (wait.h) */
    bool plugins_active;   /* some plug-in measures something besides time */
    atomic_bool streams;   /* each thread is a stream of its own: the thread level is MPI_THREAD_MULTIPLE */
    bool has_memory;       /* events tell where buffers lie (recording/memory.h); constant after MPI_Init */
    st_core *core;         /* this rank's compressor; under the lock (lock.h) */
    int rank, nprocs;      /* in MPI_COMM_WORLD */
    int npending;          /* pending events of all streams (handles/pending.h); under the lock */
    int threads;           /* number of threads that made events; under the lock */
    atomic_llong start_ns; /* when the first computation began, later by the time without events (MPI_Pcontrol) */
    atomic_llong end_ns;   /* when the last call of an event ended; under the lock */
    MPI_Comm private_comm; /* a duplicate of MPI_COMM_WORLD for the tracer's own messages */
};
extern struct st_shared st_shared;

/* Print a warning to stderr, with the rank, unless --quiet. */
void st_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, once for each format string. */
void st_warn_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Check the result of a function of the core: warn once about an error. Out of memory also switches events off. */
void st_core_check(int error);
/* Warn of an error of the core like st_warn_once. Out of memory has one message, whichever calls it makes fail. */
void st_core_warn(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
