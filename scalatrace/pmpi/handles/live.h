/* live.h - things named by their age among those alive (requests, matched messages): 0 is the newest one.
 *
 * Each stream (recording/streams.h) has an order of its own, so that no name depends on how threads interleave:
 *
 *     a thing of the calling stream     its age: the number of newer things of the stream that are alive for the stream.
 *                                       One that another stream ended still counts: the stream does not know of its end
 *     a thing of another stream         which of the recorded things of that stream it is, relative to the one behind
 *                                       the last thing of that stream that this stream named (st_live_name)
 *
 * Ages make the events of loop iterations equal, which handles do not. Every thing has a position in the order of
 * creation. A Fenwick tree over the positions counts those alive, so an age costs O(log n):
 *
 *     position   0    1    2    3    4    5        age of D = number alive behind it = 1
 *     at         A    -1   C    D    -1   F        when positions run out, the living are renumbered: A C D F
 *     counted    1    0    1    1    0    1
 *
 * A position where n things were ended by other streams has -1 - n in `at`, and counts n. Such things next to each other
 * get one position when the living are renumbered; behind none that is alive they are dropped.
 *
 * A hidden thing (created by a call that is not selected) has no age and does not count in the ages of others.
 *
 * MPI may give several live things one handle (sends that completed at once). The slots of one handle form two chains,
 * each in the order in which they were linked; `by_address` has the newest slot stored in each variable of the program:
 *
 *     map[0]: handle -> slot <-> slot        the variable still holds the handle
 *     map[1]: handle -> slot <-> slot        a newer handle was stored in the variable: the program can reach this
 *                                            thing only through a copy of the handle
 *
 * A handle is looked up in its own variable first; then the oldest slot of map[0] is used, then the oldest of map[1].
 */
#ifndef ST_LIVE_H
#define ST_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct st_slot {
    uint64_t handle;
    int64_t ordinal;      /* number of recorded things that its stream created before; -1: it is not recorded */
    int stream;           /* that created it */
    const void *where;    /* the program's variable that it was stored in, or NULL */
    int position;         /* in the order of creation */
    int prev, next;       /* slots of the chain, -1: none */
    bool overwritten;     /* the variable holds a newer handle: the slot is in map[1] */
    bool linked;          /* it is in a chain; not while a completion call has claimed it */
    bool persistent : 1;  /* a persistent request: lives until it is freed */
    bool any_source : 1;  /* a receive from MPI_ANY_SOURCE */
    bool hidden : 1;      /* created by a call that is not selected */
    bool started_off : 1; /* the last start of the persistent request is not recorded: events were off */
    bool described : 1;   /* is the call that created it known, with the fields of call.h? */
    short op;
    int peer, tag;
    uint64_t comm; /* name of the communicator */
};

/* The things of one stream. */
struct st_order {
    int *tree;                /* Fenwick tree: counts of living, not hidden things over positions */
    int *at;                  /* position -> slot; -1: dead; -1 - n: n things that other streams ended */
    int npositions, capacity; /* positions used, and room for: a power of two */
    int nlive;                /* slots in `at` */
    int64_t ncreated;         /* recorded things so far */
    int64_t *next;            /* by stream: ordinal behind the thing of that stream that this one named last ... */
    int nnext;                /* ... and the length of this array; streams without an entry have 0 */
};

/* All zero is an empty table. */
struct st_live {
    struct st_slot *slots;
    int *free_slots; /* stack of unused slots */
    int nslots, nfree, slots_capacity;
    struct st_order first;  /* of stream 0 */
    struct st_order *later; /* of streams 1, 2, ... */
    int nlater;
    struct st_map map[2];     /* handle -> first and last slot of a chain */
    struct st_map by_address; /* variable -> newest slot stored in it */
};

/* Add a thing of a stream, whose handle was stored in `where` (or NULL). `recorded`: by an event of the stream.
 * Return its slot; -1: out of memory. */
int st_live_add(struct st_live *live, uint64_t handle, const void *where, int stream, bool recorded);
/* Hide a thing; -1 has no effect. */
void st_live_hide(struct st_live *live, int slot);
/* Is any thing alive and linked that has this handle? */
bool st_live_has(const struct st_live *live, uint64_t handle);
/* Is the thing that was last stored in this variable alive and linked? */
bool st_live_is_stored(const struct st_live *live, const void *where);
/* Return the slot of a handle that the program passed from the variable `where`; -1: unknown. */
int st_live_find(const struct st_live *live, uint64_t handle, const void *where);
/* The same, and unlink it: later look-ups do not find it, but it keeps its age. */
int st_live_claim(struct st_live *live, uint64_t handle, const void *where);
/* Link a claimed thing again, which did not complete. */
void st_live_relink(struct st_live *live, int slot);
/* An event of this stream ended the thing; -1 has no effect. */
void st_live_drop(struct st_live *live, int slot, int stream);
/* Return the name of a thing in an event of a stream; ST_UNDEFINED for slot -1 and for a hidden thing. Where it is of
 * another stream, the stream's next names depend on it: call this once for each value, in the order of the values. */
int64_t st_live_name(struct st_live *live, int slot, int stream);
/* The name of another stream's thing, given by that stream and its ordinal. */
int64_t st_live_foreign_name(struct st_live *live, int creator, int64_t ordinal, int stream);

/* The name of a thing of another stream: (its stream + 1) * ST_OF_STREAM + ST_OF_STREAM / 2 + difference of ordinals. */
#define ST_OF_STREAM (INT64_C(1) << 40)

#endif
