/* streams.h - the streams of this rank: the calls of each thread are a sequence of their own.
 *
 *     stream   0   main thread: MPI_Init  ...                                      MPI_Finalize
 *              1          [ worker A ]      [ worker C ]     a thread takes the lowest free number, and returns
 *              2          [ worker B ]                       it when it ends: C continues the stream of A
 *
 * Below MPI_THREAD_MULTIPLE the program makes one call after the other, whichever threads make them: the rank has one
 * stream. Else threads take their numbers at their first calls, and those that were started together in the order in
 * which they were created (that of their ids in Linux), so that ranks agree on the numbers whichever thread is first.
 *
 * No name of a request or message depends on how streams interleave (handles/live.h). The time before a thread's first
 * call is not known.
 */
#ifndef ST_STREAMS_H
#define ST_STREAMS_H

#include <stdint.h>

#include "base/state.h"

/* In MPI_Init: this thread takes stream 0. */
void st_streams_start(void);
/* This thread takes a stream. The lock is held. */
void st_stream_take(void);
/* This thread makes its first event: return whether its stream had none. The lock is held. */
bool st_stream_count(void);
/* This thread ends. The lock is held. */
void st_stream_leave(void);

uint64_t *st_stream_first_polls(void);
/* By operation: unsuccessful polls of this thread's stream since the last successful one. */
static inline uint64_t *st_stream_polls(void) {
    return __builtin_expect(st_thread.polls != NULL, 1) ? st_thread.polls : st_stream_first_polls();
}

#endif
