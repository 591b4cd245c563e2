/* plugins.h - stat plug-ins: samples of quantities other than time, taken where times are taken (section 5.2.5).
 *
 *     computation            MPI call               computation
 *   exit:start ... enter:end enter:start ... leave:end  exit:start ...
 *        `---- window "before" ----' `-- window "inside" --'
 *
 * record.h calls these functions only where a plug-in is active (st_shared.plugins_active). A window that begins first
 * ends last. Each thread has its own states of the plug-ins, and carries samples of windows without an event to the
 * next event.
 */
#ifndef ST_PLUGINS_H
#define ST_PLUGINS_H

#include <stdbool.h>

#include "st_core.h"

struct st_call;

/* Load the plug-ins and agree on them; collective over all ranks. */
void st_plugins_start(void);
/* Close this thread's states; no samples are taken any more. */
void st_plugins_stop(void);

/* A call begins, after t0 was taken: t0 and the thread's last exit are shifted by the plug-ins' own time. */
void st_plugins_enter(struct st_call *call, int op);
/* PMPI has returned, after t1 was taken. */
void st_plugins_leave(struct st_call *call);
/* The program continues, before its last exit is noted. NULL: recording begins here, and carried samples are
 * dropped. */
void st_plugins_exit(const struct st_call *call);

/* The call was an unsuccessful poll without an event: carry its samples. */
void st_plugins_poll(const struct st_call *call);
/* The call was skipped: carry its samples as samples of computation. */
void st_plugins_skip(const struct st_call *call);
/* Complete the samples of the call's event with the carried ones. `poll`: it is a successful poll, which also gets the
 * samples from inside the unsuccessful ones; for any other event these are dropped, since they are no computation. */
void st_plugins_complete(struct st_call *call, bool poll);
/* Two calls become one event: add the samples of the second. */
void st_plugins_join(struct st_event *event, const struct st_event *more);

#endif
