/* values.h - recorded parameter values, in a form that is the same for every MPI library.
 *
 * The libraries number their constants differently, so special ranks and tags become the core's constants; reduction
 * operations, lock types, access modes and the like become strings; arrays become names of arrays in the core.
 * Functions that return uint64_t return such a name; the lock is held.
 */
#ifndef ST_VALUES_H
#define ST_VALUES_H

#include <mpi.h>
#include <stdint.h>

#include "events/call.h"
#include "st_core.h"

static inline int64_t st_rank(int rank) {
    if (__builtin_expect(rank >= 0, 1)) return rank;
    if (rank == MPI_PROC_NULL) return ST_PROC_NULL;
    if (rank == MPI_ANY_SOURCE) return ST_ANY_SOURCE;
    if (rank == MPI_ROOT) return ST_ROOT;
    return rank == MPI_UNDEFINED ? ST_UNDEFINED : rank;
}
static inline int64_t st_tag(int tag) { return tag == MPI_ANY_TAG ? ST_ANY_TAG : tag; }
static inline int64_t st_int(int64_t value) { return value == MPI_UNDEFINED ? ST_UNDEFINED : value; }

/* Return the source that a receive or probe was called with. While a replay issues a call with the recorded source for
 * one that had MPI_ANY_SOURCE (scalatrace_as_any_source), this is MPI_ANY_SOURCE. */
int st_requested_source(int source);

/* Strings: text as it is, names of constants ("MPI_SUM"; "A|B" for flags). */
uint64_t st_text(const char *text);
uint64_t st_op_name(MPI_Op op); /* "user" for an operation of the program */
uint64_t st_lock_name(int lock);
uint64_t st_whence_name(int whence);
uint64_t st_amode_name(int amode);
uint64_t st_assert_name(int assertion);
uint64_t st_split_name(int split);
uint64_t st_error_name(int error); /* of the error's class */

/* Arrays of `n` values; the empty array where there are none, or no memory. */
uint64_t st_no_array(void);
uint64_t st_ints(const int *values, int64_t n);
uint64_t st_counts_array(const MPI_Count *values, int64_t n);
uint64_t st_aints(const MPI_Aint *values, int64_t n);
uint64_t st_ranks(const int *ranks, int64_t n);
/* Weights; MPI_UNWEIGHTED: the empty array; a weighted graph's side without edges: the array [UNDEFINED]. */
uint64_t st_weights(const int *weights, int64_t n);
uint64_t st_group(struct st_call *call, MPI_Group group); /* as ranks of call->base_group */

int64_t st_sum(const int *values, int64_t n);
int64_t st_sum_counts(const MPI_Count *values, int64_t n);

#endif
