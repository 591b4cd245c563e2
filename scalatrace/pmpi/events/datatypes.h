/* datatypes.h - datatypes, named by a description of their structure (docs/reference/format.md), which is equal on all ranks.
 *
 *     MPI_Type_vector(3, 1, 4, MPI_INT)   ->   "vector(3,1,4,MPI_INT)"
 *
 * MPI_Type_get_envelope and MPI_Type_get_contents give the structure, level by level. A datatype that cannot be
 * described is "opaque(size,extent)". Handles that were described are kept in a map until they are freed.
 */
#ifndef ST_DATATYPES_H
#define ST_DATATYPES_H

#include <mpi.h>
#include <stdint.h>

#include "events/call.h"

/* Return the name of a datatype in the core. The lock is held. */
uint64_t st_type(MPI_Datatype type);
/* Return the name of an array of datatypes, which is recorded as one: struct([1,...],[0,...],[types]). */
uint64_t st_types(struct st_call *call, const MPI_Datatype *types, int64_t n);
/* Forget a datatype before it is freed: MPI may use its handle again. Takes the lock. */
void st_type_forget(MPI_Datatype type);

#endif
