/* memory.h - where the buffers of a call lie: the parameter `memory` of calls that are given buffers.
 *
 *     "host"           memory of the process, also pinned
 *     "device"         of a GPU
 *     "managed"        moved between both by the driver
 *     "device+host"    of several buffers in their order, unless all lie in memory of one kind
 *
 * The driver's library (libcuda, libamdhip64) tells the kind of a pointer. It is sought among the loaded libraries, so
 * the tracer needs none. Events have the parameter where some rank has loaded a driver in MPI_Init, or runs on a machine
 * with a device: a driver is often loaded later.
 */
#ifndef ST_MEMORY_H
#define ST_MEMORY_H

#include <stdint.h>

/* In MPI_Init: set st_shared.has_memory. Every rank takes part. */
void st_memory_start(void);

/* Return the name of the parameter's value for the buffers of a call; MPI_IN_PLACE is none. The lock is held. */
uint64_t st_memory(const void *const *buffers, int n);
#define ST_MEMORY(...)                                                                                                 \
    st_memory((const void *const[]){__VA_ARGS__}, (int)(sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))

#endif
