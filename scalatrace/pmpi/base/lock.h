/* lock.h - the tracer's lock, which guards the core and all tables of handles.
 *
 * Order of locks: Python's GIL before this lock, never the other way round.
 *
 * Two ways to take it:
 *   st_lock, st_unlock      where the thread is busy already: between st_leave and st_exit (record.h)
 *   st_hold, st_release     anywhere else; they also mark the thread as busy, so that a signal handler that interrupts
 *                           it does not wait for a lock that this very thread holds (signals.h)
 *
 * Each may fail (wait.h). Then the tracer has given up: nothing that the lock guards may be touched.
 */
#ifndef ST_LOCK_H
#define ST_LOCK_H

#include <stdbool.h>

#include "base/signals.h"
#include "base/state.h"

#define ST_MUST_CHECK __attribute__((warn_unused_result))

/* Take the lock. Return false once the tracer has given up. */
bool st_lock(void) ST_MUST_CHECK;
/* Take the lock to save what was recorded: also after the tracer gave up, and without giving up where it fails. */
bool st_lock_to_save(void) ST_MUST_CHECK;
void st_unlock(void);

/* The thread is not busy any more: handle a signal that arrived meanwhile. */
static inline void st_idle(bool was_busy) {
    st_thread.busy = was_busy;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(st_signal_waiting, 0) && !was_busy) st_signal_deliver();
}

/* Take the lock with `lock`. `*was_busy` is what st_release needs: whether the thread was busy before. */
static inline bool st_hold_by(bool (*lock)(void), bool *was_busy) {
    *was_busy = st_thread.busy;
    st_thread.busy = true;
    if (__builtin_expect(lock(), 1)) return true;
    st_idle(*was_busy);
    return false;
}

static inline ST_MUST_CHECK bool st_hold(bool *was_busy) { return st_hold_by(st_lock, was_busy); }
static inline ST_MUST_CHECK bool st_hold_to_save(bool *was_busy) { return st_hold_by(st_lock_to_save, was_busy); }

/* Release the lock. */
static inline void st_release(bool was_busy) {
    st_unlock();
    st_idle(was_busy);
}

#endif
