/* error_handlers.c - stubs of the program's error handlers, since MPI tells a handler nothing that would name it. */
#include "recording/error_handlers.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/state.h"
#include "events/call.h"

#define NSTUBS 32 /* different functions; those of an interpreter are few */

static st_error_function *_Atomic functions[NSTUBS];

/* Where the program called MPI again in a callback, the error may be of that call, which is no event. The tracer's own
 * calls, while it is busy, have no error handlers of the program's. */
static void note(int error) {
    if (st_thread.depth && !st_thread.busy && st_thread.call && st_thread.nested_t0 != st_thread.call->t0)
        st_thread.raised = error;
}

/* Further arguments are those of the MPI library: Open MPI has a text and NULL. */
#define STUB(i)                                                                                                        \
    static void stub##i(void *object, int *error, ...) {                                                               \
        va_list more;                                                                                                  \
        va_start(more, error);                                                                                         \
        void *first = va_arg(more, void *), *second = va_arg(more, void *);                                            \
        va_end(more);                                                                                                  \
        note(*error);                                                                                                  \
        functions[i](object, error, first, second);                                                                    \
    }
#define EIGHT(X, n) X(0##n##0) X(0##n##1) X(0##n##2) X(0##n##3) X(0##n##4) X(0##n##5) X(0##n##6) X(0##n##7)
#define EACH(X) EIGHT(X, 0) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) /* octal numbers */
#define NAME(i) stub##i,
EACH(STUB)
static st_error_function *const stubs[NSTUBS] = {EACH(NAME)};

st_error_function *st_error_stub(st_error_function *function) {
    for (int i = 0; function && i < NSTUBS; i++) {
        st_error_function *found = NULL;
        if (atomic_compare_exchange_strong(&functions[i], &found, function) || found == function) return stubs[i];
    }
    return function;
}
