/* messages.c - the table of matched messages. */
#include "handles/messages.h"

#include <stdbool.h>

#include "base/lock.h"
#include "events/selection.h"
#include "handles/live.h"

#define NO_PROCESS (-2) /* call->message of MPI_MESSAGE_NO_PROC, which is in no table */

static struct st_live messages;
static bool no_process_recorded; /* was the last probe that returned MPI_MESSAGE_NO_PROC recorded? */

void st_message_add(struct st_call *call, MPI_Message message) {
    if (message == MPI_MESSAGE_NO_PROC) no_process_recorded = !call->skipped;
    if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
    int slot = st_live_add(&messages, ST_KEY(message), NULL, st_thread.stream, call->on);
    if (call->skipped) st_live_hide(&messages, slot);
}

void st_message_claim(struct st_call *call, MPI_Message message) {
    bool was_busy;
    call->message = -1;
    if (!st_hold(&was_busy)) return;
    call->message = message == MPI_MESSAGE_NO_PROC ? NO_PROCESS : st_live_claim(&messages, ST_KEY(message), NULL);
    st_release(was_busy);
}

int64_t st_message_age(const struct st_call *call) {
    if (call->message == NO_PROCESS) return ST_PROC_NULL;
    return call->on ? st_live_name(&messages, call->message, st_thread.stream) : ST_UNDEFINED;
}

void st_message_drop(struct st_call *call) { st_live_drop(&messages, call->message, st_thread.stream); }

void st_message_restore(struct st_call *call) {
    if (call->message < 0 || !st_lock()) return;
    st_live_relink(&messages, call->message);
    st_unlock();
}

void st_follow_message(struct st_call *call) {
    int slot = call->message;
    if (!st_lock()) return;
    if (slot == NO_PROCESS ? !no_process_recorded : slot < 0 || messages.slots[slot].hidden) st_skip(call);
    st_unlock();
}
