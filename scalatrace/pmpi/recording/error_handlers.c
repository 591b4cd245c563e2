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
#define EACH(X)                                                                                                        \
    X(0)                                                                                                               \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20)     \
        X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
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
