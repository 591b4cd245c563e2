/* gather.h - the events of all ranks in a program that used sessions and never called MPI_Init.
 *
 * The tracer has no communicator then: to create one, all processes of mpi://WORLD would have to take part, and a program
 * may open sessions on some of them only. A later session may also follow the last one. So each rank saves its part
 * when its program ends, and rank 0 merges the parts:
 *
 *     rank 3   saves out.st.parts/rank-3.part, then creates rank-3.done with the number of the job, and ends
 *     rank 0   waits until all are done, merges the parts, writes out.st, deletes out.st.parts
 *
 * Where no rank is done for SCALATRACE_WAIT_LIMIT, rank 0 saves its own part and names the command that merges them.
 */
#ifndef ST_GATHER_H
#define ST_GATHER_H

#include <stdbool.h>

/* When this rank begins to record: delete its .done file of an earlier run. */
void st_gather_start(void);
/* Give this rank's events to rank 0. Return true on rank 0 where its core has the events of all ranks now. */
bool st_gather(void);
/* On rank 0, when the trace is written: delete all parts. */
void st_gather_discard(void);

#endif
