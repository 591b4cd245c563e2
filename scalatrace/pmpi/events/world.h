/* world.h - the processes of the trace, whose ranks name all others: those of MPI_COMM_WORLD, or, while MPI_Init was not
 * called, those of the process set mpi://WORLD of a session.
 *
 *     MPI_Session_init ---> open sessions ---> group of the world, taken from one of them when it is needed
 *     MPI_Session_finalize: the group of this session is freed, the next use takes it from another one
 *     MPI_Init -----------> group of MPI_COMM_WORLD, from the next use on
 *
 * The lock is held in all functions.
 */
#ifndef ST_WORLD_H
#define ST_WORLD_H

#include <mpi.h>

/* Return the group of all processes of the world; MPI_GROUP_NULL where no session is open. */
MPI_Group st_world_group(void);
/* In MPI_Init: MPI_COMM_WORLD exists. In MPI_Finalize: free what belongs to MPI. */
void st_world_start(void);
void st_world_stop(void);

#ifdef MPI_SESSION_NULL
/* A session is open. */
void st_world_add(MPI_Session session);
/* A session will be closed. */
void st_world_remove(MPI_Session session);
/* The number of open sessions. */
int st_world_sessions(void);
#endif

#endif
