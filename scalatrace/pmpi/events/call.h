/* call.h - one MPI call on its way through a wrapper, and what the tracer knows of the handles it uses.
 *
 * A wrapper has a `struct st_call` on its stack. st_enter (record.h) initialises the fields that every call needs; the
 * others are set by the part of the tracer that uses them, and hold garbage before.
 */
#ifndef ST_CALL_H
#define ST_CALL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fortran.h"
#include "st_core.h"

/* Key of an MPI handle in a map: handles are pointers in Open MPI, integers in MPICH. */
#define ST_KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* Statistics of every event, by index in st_event.stats; plug-ins follow. Times in ns. */
enum st_stat { ST_STAT_COMPUTE, ST_STAT_COMM, ST_STAT_SOURCE, ST_STAT_POLLS };

/* A communicator. */
struct st_comm {
    uint64_t name;          /* of its family: the communicators that one collective call created */
    uint64_t children;      /* number of families created from it */
    int64_t windows, files; /* numbers of windows and files created on it */
    int self;               /* this process's rank in it */
    int local_size;         /* number of processes in the local group */
    int size;               /* number of processes that peers are ranks of: the remote group of an intercommunicator */
    int indegree;           /* neighbours, -1: not asked yet */
    int outdegree;
    bool inter;             /* is it an intercommunicator? */
    bool all;               /* are its ranks those of MPI_COMM_WORLD, in the same order? */
    int64_t *peers;         /* world ranks of those that peers are ranks of; NULL: `all`, or not known */
    const char *kind;       /* "split", "cart", ...; NULL: MPI_COMM_NULL */
    bool selected;          /* was it selected by the user's patterns when it had ... */
    uint64_t selected_name; /* ... the name with this hash? 0: not checked yet */
};

/* A window or a file. */
struct st_object {
    struct st_comm comm; /* a copy of the communicator it was created on */
    int64_t ordinal;     /* number of windows (files) created on this communicator before */
    bool split_recorded; /* is the split collective that has begun on the file recorded? */
};

#define ST_MAX_INLINE_CLAIMS 16 /* requests of a completion call for which no memory is allocated */

/* What becomes of a call. */
enum st_outcome {
    ST_NO_EVENT,
    ST_SUCCEEDED,
    ST_WITH_ERROR, /* it did something, and returned an error: operation X_error, the parameters of X and the error */
    ST_FAILED      /* it did nothing, and returned an error: operation X_failed, the error as only parameter */
};

struct st_call {
    int64_t t0, t1; /* when the program called, and when PMPI returned, in ns */
    void *caller;   /* return address of the wrapper, and the stack slot that holds it */
    void **slot;
    unsigned char on; /* enum st_outcome: this call becomes an event; else only the tracer's tables are updated */
    bool skipped;     /* the call is not selected: `on` is ST_NO_EVENT although events are wanted */
    bool at_once;     /* the program continues at t1 */
    bool fortran;     /* arrays hold MPI_Fint handles, indices count from 1 */
    bool all_null;    /* the completion call had no active request */
    bool claims_late; /* `handles` has the requests of the completion call, which are claimed after it */
    int nclaimed;     /* requests of the completion call */
    int n_any_source; /* of these, receives from MPI_ANY_SOURCE; at most, until they are claimed */
    int *claimed;     /* their slots (live.h), -1: no request; points to inline_claims or allocated memory */
    int inline_claims[ST_MAX_INLINE_CLAIMS];
    MPI_Request handles[ST_MAX_INLINE_CLAIMS]; /* as they were before the call */
    int op;                                    /* operation number */
    int error;                                 /* what MPI returned, where `on` says that this is an error */
    MPI_Comm handle;                           /* what the call waits for, where st_ops[op].awaits says so */
    MPI_Fint f_handle;                         /* ... the communicator in Fortran */
    int peer, dest, tag;                       /* peer: the source, or the destination where there is none */
    int message;                               /* slot of the matched message that the call receives; see messages.c */
    MPI_Status *statuses;      /* the tracer's statuses where the program ignores them, or NULL; allocated */
    struct st_comm *comm;      /* communicator of the event */
    struct st_comm freed_comm; /* copy of a communicator that the call frees */
    struct st_object object;   /* copy of the event's window or file */
    MPI_Group base_group;      /* group arguments are recorded as ranks of this group */
    uint64_t agreed_family;    /* name that the members of the new communicator agreed on; 0: none */
    struct st_event event;     /* what is appended to the core */
};

#endif
