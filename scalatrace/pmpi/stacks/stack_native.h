/* stack_native.h - the native stack, with a cache in front of the unwinder.
 *
 *     high addresses   |  return address into _start  |  <- slots[2], values[2]
 *                      |  frame of main               |
 *                      |  return address into main    |  <- slots[1], values[1]
 *                      |  frame of step               |
 *                      |  return address into step    |  <- slots[0] = the wrapper's slot, values[0] = its caller
 *     low addresses    |  frame of MPI_Send (ours)    |
 *
 * Unwinding takes microseconds. A cache entry is found by the wrapper's return address and the slot that holds it. The
 * entry remembers the slot of every frame's return address and the value there: it is valid when all slots still hold
 * these values. On x86-64 the slot lies just below the canonical frame address; on other processors the slots are not
 * known, and the stack is unwound for each call.
 */
#ifndef ST_STACK_NATIVE_H
#define ST_STACK_NATIVE_H

#include <stdint.h>

/* In MPI_Init: look up functions that unwinding needs. */
void st_stack_native_start(void);

/* Return the name of the stack signature of up to `depth` frames; 0: no frame of the program. `caller`: the wrapper's
 * return address, `slot`: where it lies on the stack. */
uint64_t st_stack_native(void *caller, void **slot, int depth);

#endif
