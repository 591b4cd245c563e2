/* unique_requests.h - a handle of its own for every live request.
 *
 * MPI libraries give all requests that are complete at once (small sends, calls on MPI_PROC_NULL) one predefined
 * handle. Then it is not known which of them a program waits for; and whether a send completes at once differs from
 * run to run. So where the predefined handle is live already, the program gets a substitute, a generalized request:
 * complete, with the status of the predefined request.
 *
 * A program that always waits on the variables that MPI stored its requests in needs no substitutes, since the
 * variable tells its requests apart (live.h), unless it is written again while its request is live. After many such
 * waits in a row (MAX_CLAIMS_WATCHED) variables are trusted.
 */
#ifndef ST_UNIQUE_REQUESTS_H
#define ST_UNIQUE_REQUESTS_H

#include <mpi.h>
#include <stdbool.h>

/* On the first communicator that there is: find out which handles are predefined. Later calls do nothing. */
void st_unique_start(MPI_Comm comm);
/* A request is waited for. `in_place`: in the variable that MPI stored it in. */
void st_unique_claimed(bool in_place);
/* Return a substitute for a predefined handle, else the handle itself. `overwrites`: the variable it was stored in has
 * another live request. */
MPI_Request st_unique_request(MPI_Request handle, bool overwrites);

#endif
