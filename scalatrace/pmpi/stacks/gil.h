/* gil.h - take Python's GIL, without waiting for a thread that waits for this one.
 *
 *     this thread                                        takes the GIL
 *     has it already                                     at once
 *     is the only thread of Python                       at once
 *     was called from a binding (mpi4py, ctypes)         itself: the binding takes the GIL after the call, too
 *     other: native code that released the GIL           by a helper thread, for which it waits st_options.wait_limit
 *
 * In the last case the holder of the GIL may wait for what this thread does after the MPI call. Python has no attempt
 * with a time limit. The helper waits instead, without limit, and reads the stack of this thread while it has the GIL:
 *
 *     this thread: blocked in MPI_X         helper: PyGILState_Ensure, run(thread state, depth), PyGILState_Release
 *
 * After a wait that was too long, no thread asks the helper again.
 */
#ifndef ST_GIL_H
#define ST_GIL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct st_python_object st_python_object; /* PyObject, or PyThreadState */

/* Look up the functions. Return false where some are missing. */
bool st_gil_start(void);
/* The state of this thread; NULL: Python does not know it. */
st_python_object *st_gil_own_thread(void);

/* Store run(state of this thread, depth), called with the GIL, in `*result`. Return false where the GIL is not to be
 * had. `caller`: the return address of the MPI call, or NULL. */
bool st_gil_run(uint64_t (*run)(st_python_object *thread, int depth), int depth, const void *caller, uint64_t *result);
/* Can this thread take the GIL before long? */
bool st_gil_free(void);

/* Does the library with this path only pass calls on from Python: mpi4py's binding of MPI, or ctypes? */
bool st_is_binding(const char *path);

#endif
