/* current.h - the calls that the threads of this rank are in, for parts: a program that hangs shows where.
 *
 *     thread list --> st_thread --> st_call on the stack of its wrapper: op, t0, communicator, peer, tag, requests
 *
 * The thread that saves a part reads the calls of others. It holds the lock, so that a call whose MPI function returns
 * meanwhile goes on after it; polls do not need the lock and are left out. A call is described only if it is still the
 * thread's call afterwards.
 *
 * Header entry "in-call RANK" of the part, JSON; `from`, `to` and `ranks` are world ranks:
 *
 *     [{"op": "Recv", "seconds": 7.1, "from": 1, "tag": 99, "comm": "1", "ranks": "0-2"},
 *      {"op": "Waitall", "seconds": 7.1, "requests": [{"op": "Irecv", "from": 3, "tag": 5}]}]
 *
 * "op" is empty where the thread is outside MPI.
 */
#ifndef ST_CURRENT_H
#define ST_CURRENT_H

/* Add this thread to the list. The lock is held. */
void st_current_add_thread(void);
/* The program has called MPI_Finalize. */
void st_current_finalize(void);
/* The program ends: no thread is in a call any more. */
void st_current_end(void);
/* Write the calls into the header entry. The lock is held. */
void st_current_publish(void);
/* Remove the header entry: the trace is complete. The lock is held. */
void st_current_remove(void);

#endif
