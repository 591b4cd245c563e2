/* lock.h - the tracer's lock, which guards the core and all tables of handles.
 *
 * Order of locks: Python's GIL before this lock, never the other way round.
 *
 * Two ways to take it:
 *   st_lock, st_unlock      where the thread is busy already: between st_leave and st_exit (record.h)
 *   st_hold, st_release     anywhere else; they also mark the thread as busy, so that a signal handler that interrupts
 *                           it does not wait for a lock that this very thread holds (signals.h)
 */
#ifndef ST_LOCK_H
#define ST_LOCK_H

#include <stdbool.h>

#include "base/signals.h"
#include "base/state.h"

void st_lock(void);
void st_unlock(void);

/* Take the lock. Return what st_release needs: whether the thread was busy before. */
static inline bool st_hold(void) {
    bool was_busy = st_thread.busy;
    st_thread.busy = true;
    st_lock();
    return was_busy;
}

/* Release the lock, and handle a signal that arrived meanwhile. */
static inline void st_release(bool was_busy) {
    st_unlock();
    st_thread.busy = was_busy;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(st_signal_waiting, 0) && !was_busy) st_signal_deliver();
}

#endif
