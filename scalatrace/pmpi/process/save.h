/* save.h - save the parts of this node's ranks before they die without MPI_Finalize.
 *
 *     signal handler --wakes--> helper thread: saves this rank's part
 *          |                          |
 *          `---- waits (3 s) <--------'  then asks the other ranks of the node (siblings) to save, and waits (1 s)
 *
 * A signal handler may call next to nothing, so a helper thread saves. It takes the tracer's lock; a thread interrupted
 * inside the tracer must not wait for it, and handles the signal when it leaves the tracer (signals.h).
 *
 * When one rank dies or calls MPI_Abort, the launcher kills the others, some launchers with SIGKILL. So the rank asks
 * its siblings first, by semaphores in shared memory, and looks for new part files.
 */
#ifndef ST_SAVE_H
#define ST_SAVE_H

#include <stdbool.h>

/* Delete stale parts, find the siblings, start the helper thread and install the handlers; collective. */
void st_save_start(void);
/* Stop the helper thread and remove the handlers. Return false where it still saves after the limit: it needs the core. */
bool st_save_stop(void);
/* In a forked child, which has no helper thread: remove the handlers. */
void st_save_in_child(void);
/* Save this rank's part, then those of the siblings. */
void st_save_with_siblings(void);
/* The same at exit(). */
void st_save_at_exit(void);

#endif
