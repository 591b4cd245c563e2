/* completion.h - the recorders of the calls that complete requests: what the wrapper calls after PMPI has returned.
 *
 * The wrapper has claimed the requests before the call (requests.h). Arguments are those of the MPI call, after its
 * result. From Fortran the arrays hold MPI_Fint, and indices count from 1 (call->fortran).
 */
#ifndef ST_COMPLETION_H
#define ST_COMPLETION_H

#include <mpi.h>

#include "events/call.h"

void st_post_Wait(struct st_call *, int error, MPI_Request *, MPI_Status *);
void st_post_Waitall(struct st_call *, int error, int n, MPI_Request *, MPI_Status *);
void st_post_Waitany(struct st_call *, int error, int n, MPI_Request *, int *index, MPI_Status *);
void st_post_Waitsome(struct st_call *, int error, int n, MPI_Request *, int *nout, int *indices, MPI_Status *);
void st_post_Test(struct st_call *, int error, MPI_Request *, int *flag, MPI_Status *);
void st_post_Testall(struct st_call *, int error, int n, MPI_Request *, int *flag, MPI_Status *);
void st_post_Testany(struct st_call *, int error, int n, MPI_Request *, int *index, int *flag, MPI_Status *);
void st_post_Testsome(struct st_call *, int error, int n, MPI_Request *, int *nout, int *indices, MPI_Status *);
void st_post_Request_free(struct st_call *, int error, MPI_Request *);

#endif
