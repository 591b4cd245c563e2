/* requests.h - the table of live requests, and how a completion call takes requests out of it.
 *
 *     before the call   st_claim         all requests of the call are unlinked, because MPI may give their handles to
 *                                        new requests of other threads before the call returns
 *     after the call    ages             of all claimed requests, for the event
 *                       st_settle...     completed ones die, the others are linked again
 *
 * Below MPI_THREAD_MULTIPLE no other thread makes requests meanwhile. Then a call with few requests claims them late:
 *
 *     before the call   st_claim         keeps their handles, without the lock
 *     after the call    st_claim_late    claims them, unless it was a poll that found nothing
 *
 * The lock is held, except in st_claim and st_follow_..., which take it.
 */
#ifndef ST_REQUESTS_H
#define ST_REQUESTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "events/call.h"
#include "handles/live.h"

/* The call returned a request: give it an age, and a handle that no other live request has. */
void st_request_add(struct st_call *call, MPI_Request *request, bool persistent, bool any_source);

/* Return the name of a request in the call's event (live.h), which is its age where the call's thread created it: the
 * i-th of an array, or one passed by value. ST_UNDEFINED: null or unknown, or the call makes no event. */
int64_t st_request(struct st_call *call, const MPI_Request *requests, int i);
int64_t st_request_value(const struct st_call *call, MPI_Request request);
/* Return the name of the array of ages of n requests. */
uint64_t st_requests(struct st_call *call, const MPI_Request *requests, int64_t n);

/* In MPI_Init of a program without sessions: find out whether claims may be late. */
void st_requests_start(void);
/* A session, which may have a higher thread level, is initialised: no claims are late any more. */
void st_requests_of_sessions(void);
/* Claim the n requests of a completion call, now or late. Out of memory: recording ends with a warning. */
void st_claim(struct st_call *call, const MPI_Request *requests, int n);
/* After the call: claim what st_claim left for now. */
void st_claim_late(struct st_call *call, const MPI_Request *requests);
/* Did the call with late claims leave all its requests as they were? */
bool st_claims_untouched(const struct st_call *call, const MPI_Request *requests);
/* Is the i-th claimed request recorded, that is known and not hidden? */
bool st_claimed_recorded(const struct st_call *call, int i);
/* Copy the first slots of the requests that another thread's completion call waits for. Return their number. */
int st_claimed_slots(const struct st_call *call, struct st_slot *slots, int max);
/* Return the age of the i-th claimed request; the name of the array of all ages (0 when the call makes no event). */
int64_t st_claimed_age(const struct st_call *call, int i);
int64_t st_claimed_ages(struct st_call *call);
/* Did the i-th claimed request die in the call: it is not persistent and its handle is null now? */
bool st_claimed_died(const struct st_call *call, const MPI_Request *requests, int i);
/* After the call: link the claimed requests that live on, drop the others. */
void st_settle_claims(struct st_call *call, const MPI_Request *requests);
/* The same for one request: the call did not change it, or freed it even if it is persistent. */
void st_relink_claim(struct st_call *call, int i);
void st_drop_claim(struct st_call *call, int i);
/* Drop a request whose slot left its call's claims (pending.h), and that an event of this stream completed. */
void st_request_drop(int slot, int stream);
/* The call's event names a request: where it is persistent, threads use it in an order (st_core_use). The functions that
 * return names call this. */
void st_request_use(const struct st_call *call, int slot);
/* For pending.h: the slot (NULL for -1), and the name of another stream's request in an event of a stream. */
const struct st_slot *st_request_slot(int slot);
int64_t st_request_foreign_name(int creator, int64_t ordinal, int stream);

/* Was the i-th claimed request a receive from MPI_ANY_SOURCE, and is this status set? Then record the source that
 * matched. `status_index`: in the array of statuses. */
void st_set_claim_source(struct st_call *call, int i, const MPI_Status *statuses, int status_index);
/* Record the source in a status, unless it is none. */
void st_set_source(struct st_call *call, const MPI_Status *statuses, int status_index);
/* Return n statuses for a call whose program ignores them; the call frees them. NULL: out of memory. */
MPI_Status *st_own_statuses(struct st_call *call, int n);

/* Skip the call unless (one of) its requests is recorded. */
void st_follow_requests(struct st_call *call, const MPI_Request *requests, int64_t n);
void st_follow_request(struct st_call *call, MPI_Request request);

#endif
