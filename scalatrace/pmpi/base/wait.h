/* wait.h - limits of the tracer's own waits.
 *
 *     the tracer waits for                          at most                 environment variable
 *     a lock, or the GIL                            st_options.wait_limit   SCALATRACE_WAIT_LIMIT (30 s)
 *     other ranks: in MPI_Init, new communicators   st_options.wait_limit
 *     other ranks: in MPI_Finalize                  st_options.rank_limit   SCALATRACE_RANK_LIMIT (3600 s)
 *
 * A thread of the program may hold what the tracer waits for, and wait itself for the thread that is in the tracer.
 * After the limit the tracer gives up: it prints one line, this rank records nothing more, and the program continues.
 */
#ifndef ST_WAIT_H
#define ST_WAIT_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* The time of CLOCK_REALTIME in so many seconds. */
struct timespec st_time_in(int seconds);

/* Lock a mutex. Return false where that takes longer than the limit, or where the mutex is locked after the tracer gave
 * up: then nothing waits any more. */
bool st_try_mutex(pthread_mutex_t *mutex);
/* The same, and the tracer gives up where it fails. `name`: of what the mutex guards. */
bool st_lock_mutex(pthread_mutex_t *mutex, const char *name);

/* Wait for a request without spinning: with more ranks than cores, waiting ranks would take time from others. `late` is
 * called once, after a second. Return false on an MPI error, and after `limit` seconds; then the request stays. */
bool st_wait_request(MPI_Request *request, int limit, void (*late)(void));

/* Record nothing more on this rank. Print the reason, once. */
void st_give_up(const char *reason);

#endif
