/* comms.h - communicators: a name for each that is equal on all of its ranks, if possible without a message.
 *
 *     world (1)
 *       |-- st_family(1, 0)     first call on world: all rows of its Comm_split are one family
 *       |     `-- st_family(st_family(1, 0), 0)
 *       `-- st_family(1, 1)     second call
 *
 * A call that is collective over the parent creates the family (parent, number of families before): all ranks count
 * alike. A call that is collective over the new group only (Comm_create_group, Intercomm_create) may occur more
 * often on some ranks of the parent than on others. For these the members of the group agree on a number that none
 * of them has used, by two reductions over the new communicator (st_comm_agree). A communicator that is created from
 * groups, without a parent, has a text (MPI_Comm_create_from_group): its members, the text, and the number of earlier
 * ones with both name it (st_comm_name_by_tag).
 *
 * The lock is held in all functions but those that take it themselves: st_comm_remove, st_comm_restore, st_comm_agree,
 * st_comm_agree_only, st_comm_name_by_tag.
 */
#ifndef ST_COMMS_H
#define ST_COMMS_H

#include <mpi.h>
#include <stdint.h>

#include "events/call.h"

/* In MPI_Init, or before it at the first session: define the predefined communicators. */
void st_comms_start(void);

/* Return the description of a communicator, never NULL; it is valid until the communicator is freed. A communicator of
 * unknown origin is named by its members. Out of memory: the description of MPI_COMM_NULL. */
struct st_comm *st_comm_of(MPI_Comm comm);
/* The same without asking MPI: in the helper thread. Unknown: that of MPI_COMM_NULL. */
const struct st_comm *st_comm_known(MPI_Comm comm);
/* Return the description of the communicator of a family, as long as it exists. */
const struct st_comm *st_comm_named(uint64_t name);
/* Return the world rank of a peer, ST_ANY_SOURCE, or ST_UNDEFINED: none, of another world, or not known. */
int64_t st_comm_world_rank(const struct st_comm *info, int peer);
/* Return the name of its family. */
uint64_t st_comm_name(MPI_Comm comm);
/* Make it the communicator of the event. */
void st_set_comm(struct st_call *call, MPI_Comm comm);
/* Ask for the numbers of neighbours (0 without a topology), unless they are known. */
void st_comm_degrees(struct st_comm *info, MPI_Comm comm);
/* Return the number of dimensions of a cartesian communicator. */
int st_comm_ndims(MPI_Comm comm);

/* The call created `comm` from `parent`: define it and return its name. The parent counts a family also where this rank
 * got MPI_COMM_NULL. */
uint64_t st_comm_created(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm comm);
/* The same for MPI_Comm_idup, whose communicator cannot be used yet: its members are the parent's. */
uint64_t st_comm_idup(struct st_call *call, const char *kind, MPI_Comm parent, MPI_Comm *newcomm);
/* Before the call: agree with all members of `comm` on its name. `parent`: what this rank created it from, which may
 * differ between the members. */
void st_comm_agree(struct st_call *call, MPI_Comm parent, MPI_Comm comm);
/* The same for a communicator that is created from groups with a text, without a message. */
void st_comm_name_by_tag(struct st_call *call, MPI_Comm comm, const char *tag);
/* st_comm_agree where the call is not recorded, since the tracer gave up or MPI or a callback made it: the other members wait
 * for this rank's part of the agreement. */
void st_comm_agree_only(MPI_Comm comm);
/* The call frees the communicator: copy its description to call->freed_comm and forget it. */
void st_comm_remove(struct st_call *call, MPI_Comm comm);
/* The call failed: know the communicator again. */
void st_comm_restore(struct st_call *call, MPI_Comm comm);

#endif
