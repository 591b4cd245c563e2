/* stack.h - the stack signature of a call: of the Python frames, of the native ones, or of both. */
#ifndef ST_STACK_H
#define ST_STACK_H

#include <stdint.h>

#include "events/call.h"

/* In MPI_Init: look up what stacks need from the dynamic linker, whose lock may not be free later (loader.h). */
void st_stack_start(void);

/* Return the signature of the call's stack, of the kind that the options ask for; 0: none. "auto" is Python where an
 * interpreter runs, else native. The lock must not be held: this may wait for Python's GIL. */
uint64_t st_stack(const struct st_call *call);

#endif
