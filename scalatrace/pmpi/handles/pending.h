/* pending.h - consecutive Waitsome (Testsome) calls on one array from one call site become one event.
 *
 * How many requests such a call completes depends on timing. The joined event lists all requests that the calls
 * completed, oldest first, so that it is the same in every run. Each stream (recording/streams.h) has its own:
 *
 *     Waitsome -> {3}     Waitsome -> {0, 2}     Waitsome -> {1}        any other event
 *     `------------------ one pending event {3, 2, 1, 0} -----------'   st_pending_flush
 *
 * Completed requests stay in the table until the event is written, so that all ages are of the same moment. The lock is
 * held in all functions.
 */
#ifndef ST_PENDING_H
#define ST_PENDING_H

#include <mpi.h>
#include <stdbool.h>

#include "base/state.h"
#include "events/call.h"

/* Write the pending event of this thread's stream, if there is one; those of all streams. */
void st_pending_write(void);
void st_pending_flush_all(void);
static inline void st_pending_flush(void) {
    if (__builtin_expect(st_shared.npending, 0)) st_pending_write();
}
/* Would this call's event join the pending one? */
bool st_pending_joins(const struct st_call *call, int op, const MPI_Request *requests);
/* Start a pending event with this call's times, or add them to the one it joins. */
void st_pending_join(struct st_call *call, int op, const MPI_Request *requests);
/* Reserve room for n more requests. Return false when out of memory: they cannot be added. */
bool st_pending_reserve(int n);
/* Add the i-th claimed request, which the call completed, unless it is not selected. */
void st_pending_add(struct st_call *call, const MPI_Request *requests, int i);

#endif
