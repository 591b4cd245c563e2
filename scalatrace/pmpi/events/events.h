/* events.h - the table of operations, counters of calls, and the last step of an event: into the core.
 *
 * The generated ops.h numbers the operations of the MPI library at hand (ST_OP_Send, ...; ST_NOPS in all). The core
 * numbers only those that occur; st_append_event translates. Calls that return an error are operations of their own.
 */
#ifndef ST_EVENTS_H
#define ST_EVENTS_H

#include <stdint.h>

#include "st_core.h"

/* How an operation is selected (selection.h); the same numbers as Role in parameter_rules.py. */
enum st_role { ST_SELECTABLE, ST_ALWAYS, ST_FOLLOWS };

/* Which fields of a call (call.h) its wrapper sets before it calls MPI; the same numbers as in emit.py. */
enum st_awaits {
    ST_AWAITS_COMM = 1,
    ST_AWAITS_SOURCE = 2, /* peer is a source */
    ST_AWAITS_DEST = 4,   /* peer is a destination */
    ST_AWAITS_BOTH = 8,   /* peer is a source, dest a destination */
    ST_AWAITS_TAG = 16
};

struct st_op {
    const char *name; /* without "MPI_" */
    int nparams;      /* recorded parameters: their names, and kinds as in enum st_kind */
    const char *const *names;
    const int *kinds;
    int role;         /* of enum st_role */
    int communicates; /* as in operations.py: 1 or 0 */
    int awaits;       /* of enum st_awaits */
    int lasting;      /* it creates a persistent request: 1 or 0 */
    int has_buffers;  /* a further parameter is recorded where st_shared.has_memory (memory.h): 1 or 0 */
    int collective;   /* as is_collective in operations.py: 1 or 0 */
    int overlaps;     /* as may_overlap in operations.py: 1 or 0 */
};
extern const struct st_op st_ops[]; /* generated: ops.c */

/* Calls that are counted only, by operation. */
extern uint64_t st_counts[];

static inline void st_count(int op) { __atomic_fetch_add(&st_counts[op], 1, __ATOMIC_RELAXED); }

/* Add the error as the event's last value, and count it. */
void st_add_error(struct st_event *event, int error, int outcome);
/* Append a complete event of this operation to the core. The lock is held. Errors become a warning. `outcome`: of enum
 * st_outcome (call.h), ST_SUCCEEDED or the kind of failure; the error is then the last value. */
void st_append_event(struct st_event *event, int op, int outcome);

/* Write the counters into the core's header entries. The lock is held. */
void st_publish_counts(void);

#endif
