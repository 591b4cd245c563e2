/* selection.h - which calls are recorded, where the user selected some or the program switched events off.
 *
 *   st_enter   by operation and time: st_select_early
 *   rec_X      by communicator, then by size, before the stack is unwound: st_select_comm, ..., st_select_size
 *   st_begin   by call site: st_site_skipped
 *
 * Three roles of operations (enum st_role):
 *   ST_SELECTABLE  the conditions above decide
 *   ST_ALWAYS      calls that create or free what later events refer to: always recorded
 *   ST_FOLLOWS     calls on requests, matched messages and split collectives: recorded when the call is that created
 *                  these (requests.h, messages.h, objects.h)
 *
 * While the program has events switched off (MPI_Pcontrol), no selectable call is recorded, but those that create
 * persistent requests are; their starts are skipped, and what completes such a start.
 *
 * A call that is not selected is skipped: it is only counted, and its time belongs to the computation before the next
 * event.
 */
#ifndef ST_SELECTION_H
#define ST_SELECTION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/call.h"

struct st_selection {
    bool active; /* is there any condition, or were events ever off? And which kinds: */
    bool by_op, by_window, by_comm, by_size, by_site;
    int64_t min_bytes, max_bytes; /* bounds of the size condition */
    uint64_t nskipped;            /* calls that were not selected */
    uint64_t npaused;             /* calls that were skipped while events were off (MPI_Pcontrol) */
};
extern struct st_selection st_selection;
#define ST_SELECTING __builtin_expect(st_selection.active, 0)

/* Read the conditions. */
void st_selection_start(void);
/* MPI_Init ends at this moment: time windows count from it. */
void st_selection_set_start(int64_t now);

/* Skip this call, unless no event is wanted anyway. */
void st_skip(struct st_call *call);
/* Count a call that is skipped. */
void st_count_skipped(int op);

/* Each skips the call unless its condition holds. */
void st_select_early(struct st_call *call, int op);
void st_select_comm(struct st_call *call, MPI_Comm comm);
void st_select_size(struct st_call *call, int64_t nbytes);
static inline bool st_by_comm(const struct st_call *call) { return st_selection.by_comm && call->on; }
static inline bool st_by_size(const struct st_call *call) { return st_selection.by_size && call->on; }

/* Does some pattern match the communicator's kind or current name? `info` caches the answer. */
bool st_comm_selected(struct st_comm *info, MPI_Comm comm);
/* Return the size of `count` elements in bytes; 0 when it is not known. */
int64_t st_transfer_bytes(int64_t count, MPI_Datatype type);

/* Decide once about a call site, when its stack signature is defined. */
void st_site_defined(uint64_t signature, const char *const *frames, size_t n);
/* Is the call's site not selected? The lock is held in both. */
bool st_site_skipped(const struct st_call *call);

#endif
