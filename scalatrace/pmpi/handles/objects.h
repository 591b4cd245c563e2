/* objects.h - windows and files: named by the communicator they were created on and their ordinal on it.
 *
 * The lock is held in all functions but those that take it themselves: st_..._remove, st_..._restore, st_select_win,
 * st_select_file, st_follow_begin.
 */
#ifndef ST_OBJECTS_H
#define ST_OBJECTS_H

#include <mpi.h>
#include <stdint.h>

#include "events/call.h"

/* The call created a window (file): make its communicator the event's. Return its ordinal. */
int64_t st_win_created(struct st_call *call, MPI_Comm comm, MPI_Win win);
int64_t st_file_created(struct st_call *call, MPI_Comm comm, MPI_File file);

/* Copy the description to call->object and make its communicator the event's. Return the ordinal; ST_UNDEFINED for an
 * unknown window (file). */
int64_t st_set_win(struct st_call *call, MPI_Win win);
int64_t st_set_file(struct st_call *call, MPI_File file);

/* Before the call frees the window (file): copy its description to call->object and forget it. */
void st_win_remove(struct st_call *call, MPI_Win win);
void st_file_remove(struct st_call *call, MPI_File file);
/* After it, where it failed: know it again. */
void st_win_restore(struct st_call *call, MPI_Win win);
void st_file_restore(struct st_call *call, MPI_File file);
/* After it: make the communicator in call->object the event's. Return the ordinal. */
int64_t st_set_removed_object(struct st_call *call);

/* Skip the call unless the communicator of its window (file) is selected. */
void st_select_win(struct st_call *call, MPI_Win win);
void st_select_file(struct st_call *call, MPI_File file);

/* A split collective ends as it began; a file has at most one under way. Note whether its begin is recorded; skip its
 * end unless it is. */
void st_set_split_recorded(struct st_call *call, MPI_File file);
void st_follow_begin(struct st_call *call, MPI_File file);

#endif
