/* stack_python.h - the Python stack, read through the public frame API.
 *
 * The functions of Python are found by dlsym, so that the tracer needs no libpython. A signature is found by the code
 * object and instruction offset of each frame:
 *
 *     hash(steps) -> { steps: [(code, offset), (code, offset), ...], name }
 *
 * File, line and function are looked up only when these steps occur for the first time. The cache keeps references to
 * the code objects, so that their addresses stay theirs. The GIL guards all of it.
 */
#ifndef ST_STACK_PYTHON_H
#define ST_STACK_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/* Is there a Python interpreter in the process that can be called? */
bool st_python_alive(void);
/* Is there one, and does this thread have a Python thread state? A thread that Python does not know runs no Python
 * code. It must not wait for the GIL either: the thread that holds it may wait for this one (a library called by
 * ctypes.PyDLL that joins its own threads). */
bool st_python_thread(void);
/* Is this an address in the code of the interpreter? */
bool st_python_code(const void *address);
/* Store the name of the signature of this thread's Python stack, up to `depth` frames; 0: no frame of the program. Only
 * where st_python_thread() is true. Return false where the GIL is not to be had (gil.h). `caller`: of the MPI call. */
bool st_stack_python(int depth, const void *caller, uint64_t *name);

#endif
