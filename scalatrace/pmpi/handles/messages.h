/* messages.h - matched messages (MPI_Mprobe to MPI_Mrecv), named by their age as requests are. */
#ifndef ST_MESSAGES_H
#define ST_MESSAGES_H

#include <mpi.h>
#include <stdint.h>

#include "events/call.h"

/* The call returned a matched message. The lock is held. */
void st_message_add(struct st_call *call, MPI_Message message);
/* Before the call receives a message: take it out of the table. Takes the lock. */
void st_message_claim(struct st_call *call, MPI_Message message);
/* Return the age of the claimed message: ST_PROC_NULL for MPI_MESSAGE_NO_PROC, ST_UNDEFINED for an unknown one. */
int64_t st_message_age(const struct st_call *call);
/* The claimed message was received. The lock is held. */
void st_message_drop(struct st_call *call);
/* The call failed: the claimed message lives on. Takes the lock. */
void st_message_restore(struct st_call *call);
/* Skip the call unless the probe that matched its message is recorded. Takes the lock. */
void st_follow_message(struct st_call *call);

#endif
