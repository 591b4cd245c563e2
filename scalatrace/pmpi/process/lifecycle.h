/* lifecycle.h - the calls that start and end tracing: MPI_Init to MPI_Finalize. */
#ifndef ST_LIFECYCLE_H
#define ST_LIFECYCLE_H

#include <stdbool.h>

/* Has the program called MPI_Init or MPI_Session_init? */
bool scalatrace_started(void);

/* The process ends: save the events of this node's ranks, unless MPI_Finalize has done so. Safe in signal handlers and
 * in forked children. */
void scalatrace_save_unfinished(void);
/* This process will be replaced by another program: save this rank's events. They are recorded further where it is not. */
void scalatrace_save_before_exec(const char *program);

#endif
