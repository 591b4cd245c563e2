/* signals.h - the signals that end a process: save its events first, then let it end as it would have without a
 * tracer.
 *
 *     signal arrives --> thread busy? --no--> save() --> former action (default: raise it again, and die)
 *                             |
 *                            yes: the tracer's state is half changed
 *                             |
 *                             `--> st_signal_waiting = 1 --> the thread leaves the tracer --> st_signal_deliver()
 *
 * A fault (SIGSEGV, ...) inside the tracer itself saves nothing.
 */
#ifndef ST_SIGNALS_H
#define ST_SIGNALS_H

/* Is there a signal that a busy thread postponed? */
extern volatile int st_signal_waiting;

/* Note the signals' actions before the MPI library installs its own handlers. */
void st_signals_before_init(void);
/* Install our handlers; `save` runs in them. */
void st_signals_install(void (*save)(void));
/* Put the former actions back where our handlers are still installed. */
void st_signals_restore(void);
/* Raise the postponed signal again, now that this thread is not busy. */
void st_signal_deliver(void);

#endif
