/* state.c - the variables of state.h, and warnings. */
#include "base/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/options.h"

#define MAX_WARNINGS 8 /* different warnings of st_warn_once that a process prints */

__thread struct st_thread st_thread __attribute__((tls_model("initial-exec")));
struct st_shared st_shared = {.private_comm = MPI_COMM_NULL};

static void print_warning(const char *format, va_list arguments) {
    char text[1024];
    if (st_options.quiet) return;
    vsnprintf(text, sizeof text, format, arguments);
    dprintf(STDERR_FILENO, "scalatrace: rank %d: %s\n", st_shared.rank, text); /* stderr may be locked (flockfile) */
}

void st_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_warning(format, arguments);
    va_end(arguments);
}

/* Is it the first warning of this format? Threads may warn at the same time: whoever stores its format in a free entry
 * prints it. */
static bool is_first(const char *format) {
    static const char *printed[MAX_WARNINGS];
    for (int i = 0;; i++) {
        const char *unused = NULL;
        if (i == MAX_WARNINGS || __atomic_load_n(&printed[i], __ATOMIC_RELAXED) == format) return false;
        if (__atomic_compare_exchange_n(&printed[i], &unused, format, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
        if (unused == format) return false;
    }
}

void st_warn_once(const char *format, ...) {
    va_list arguments;
    if (!is_first(format)) return;
    va_start(arguments, format);
    print_warning(format, arguments);
    va_end(arguments);
}

void st_core_warn(int error, const char *format, ...) {
    va_list arguments;
    if (error == ST_E_MEMORY)
        st_warn_once("the tracer is out of memory; events are missing from the trace, or it is not written. The "
                     "program is not affected");
    if (error == ST_E_MEMORY || !is_first(format)) return;
    va_start(arguments, format);
    print_warning(format, arguments);
    va_end(arguments);
}

void st_core_check(int error) {
    if (__builtin_expect(error >= 0, 1)) return;
    st_core_warn(error, "%s; events may be missing from the trace", st_core_error(st_shared.core));
    if (error == ST_E_MEMORY) st_shared.on = st_shared.paused = false;
}
