/* wait.h - limits of the tracer's own waits.
 *
 *     the tracer waits for                          at most                 environment variable
 *     a lock, or the GIL                            st_options.wait_limit   SCALATRACE_WAIT_LIMIT (30 s)
 *     other ranks: in MPI_Init                      st_start_limit()        the same, with more ranks than cores longer
 *     other ranks: of a new communicator            none
 *     other ranks: in MPI_Finalize                  st_options.rank_limit   SCALATRACE_RANK_LIMIT (3600 s)
 *     other ranks: at the end, sessions only        st_options.wait_limit   SCALATRACE_WAIT_LIMIT, from the last rank
 *     the end of a checkpoint (save.c)              st_options.wait_limit   SCALATRACE_WAIT_LIMIT
 *     names of call sites (names.c)                 resolve + wait limit    SCALATRACE_RESOLVE_LIMIT, and the above
 *
 * A thread of the program may hold what the tracer waits for, and wait itself for the thread that is in the tracer.
 * After the limit the tracer gives up: it prints one line, this rank records nothing more, and the program continues. A
 * checkpoint that goes on, and names that are not found in time, are a warning only.
 *
 * A limit that ends on each rank by itself would make ranks decide differently: some would wait for the others, which
 * wait for them in the program. So in MPI_Init rank 0 decides (process/arrival.h). After it all ranks have a tracer, and
 * also one that gave up answers the others, which need no limit. In MPI_Finalize no rank waits in the program any more.
 */
#ifndef ST_WAIT_H
#define ST_WAIT_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* The time of CLOCK_REALTIME in so many seconds. */
struct timespec st_time_in(int seconds);

/* Lock a mutex. Return false where that takes longer than the limit, or where the mutex is locked after the tracer gave
 * up: then nothing waits any more. */
bool st_try_mutex(pthread_mutex_t *mutex);
/* The same, and the tracer gives up where it fails. `name`: of what the mutex guards. */
bool st_lock_mutex(pthread_mutex_t *mutex, const char *name);

/* Seconds to wait for a rank in MPI_Init: many ranks on few cores start slowly. */
int st_start_limit(void);

/* Sleep between two looks for what other processes do: longer each time, to a tenth of a second. */
void st_sleep_longer(useconds_t *sleep_us);
#define ST_FIRST_SLEEP_US 1000

#define ST_NO_LIMIT (-1)

/* Wait for a request without spinning: with more ranks than cores, waiting ranks would take time from others. `late` is
 * called once, after a second. Return false on an MPI error, and after `limit` seconds; then the request stays. */
bool st_wait_request(MPI_Request *request, MPI_Status *status, int limit, void (*late)(void));

/* Record nothing more on this rank. Print the reason, once. */
void st_give_up(const char *reason);

#endif
