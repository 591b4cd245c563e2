/* arrival.h - agree at the end of MPI_Init whether this run is recorded: all ranks decide the same.
 *
 * Some ranks may be late, or have no tracer. Rank 0 decides; the messages are point to point on MPI_COMM_WORLD, with a
 * tag of their own, since a collective call, also a nonblocking one, would need the ranks without a tracer, too.
 *
 *     rank r                                              rank 0
 *     --HELLO------------------------------------------>  from each rank
 *     waits st_start_limit() for                      <--HERE--
 *     --WAITS------------------------------------------>  from each rank: it goes on only after the decision
 *     waits without limit for                         <--GO, STOP--
 *
 *   - Rank r hears nothing in time: it sends WITHDRAWN in place of WAITS, and is not recorded. Rank 0 decides STOP.
 *   - Rank 0 decides GO when all ranks wait, STOP when one has withdrawn or none arrives within the limit, which counts
 *     from the last arrival.
 *
 * The program never receives one of these messages, also not from MPI_ANY_SOURCE with MPI_ANY_TAG:
 *   - A rank with a tracer posts their receives before the program continues. They stay until MPI_Finalize.
 *   - A rank without a tracer gets none. Where all ranks are on one host, rank r says HELLO after it has seen a sign of
 *     rank 0's tracer: a socket without a file, which exists until the decision. On several hosts, rank 0 without a
 *     tracer gets HELLO and WITHDRAWN from the others.
 */
#ifndef ST_ARRIVAL_H
#define ST_ARRIVAL_H

#include <stdbool.h>

/* Return true on all ranks of MPI_COMM_WORLD, or false on all that have a tracer; then a line says why. */
bool st_arrive(void);
/* Before MPI_Finalize: cancel the receives that are left of an arrival without success. */
void st_arrival_end(void);

#endif
