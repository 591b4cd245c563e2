/* finish.h - the inter-node merge inside MPI_Finalize: a binary radix tree over the tracer's private communicator.
 *
 *     rank      0   1   2   3   4   5   6          round k: a rank whose bits below k are clear
 *     round 0   0<--1   2<--3   4<--5   6            receives from rank + 2^k, when its bit k is clear
 *     round 1   0<------2       4<------6            sends to rank - 2^k, when its bit k is set; then it is done
 *     round 2   0<--------------4
 *
 * So each rank merges its children lowest first, and rank 0 has all traces after ceil(log2(nprocs)) rounds.
 */
#ifndef ST_FINISH_H
#define ST_FINISH_H

#include <stdbool.h>

/* Merge the traces of all ranks and write the file on rank 0. Every rank takes part. When it is written, the parts that
 * some ranks may have saved are deleted. Return whether all messages were received. */
bool st_finish(void);
/* The same at the end of a program that never called MPI_Init (gather.h): no rank takes part in another one's call. */
void st_finish_without_mpi(void);

#endif
