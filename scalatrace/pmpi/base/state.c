/* state.c - the variables of state.h, and warnings. */
#include "base/state.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/options.h"

#define MAX_WARNINGS 8 /* different warnings of st_warn_once that a process prints */

__thread struct st_thread st_thread __attribute__((tls_model("initial-exec")));
struct st_shared st_shared = {.private_comm = MPI_COMM_NULL};

static void print_warning(const char *format, va_list arguments) {
    char text[1024];
    if (st_options.quiet) return;
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "scalatrace: rank %d: %s\n", st_shared.rank, text);
}

void st_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_warning(format, arguments);
    va_end(arguments);
}

/* Threads may warn at the same time: whoever stores its format in a free entry prints it. */
void st_warn_once(const char *format, ...) {
    static const char *printed[MAX_WARNINGS];
    for (int i = 0;; i++) {
        const char *unused = NULL;
        if (i == MAX_WARNINGS || printed[i] == format) return;
        if (__atomic_compare_exchange_n(&printed[i], &unused, format, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
        if (printed[i] == format) return;
    }
    va_list arguments;
    va_start(arguments, format);
    print_warning(format, arguments);
    va_end(arguments);
}

void st_core_check(int error) {
    if (__builtin_expect(error >= 0, 1)) return;
    st_warn_once("%s; events may be missing from the trace", st_core_error(st_shared.core));
    if (error == ST_E_MEMORY) st_shared.on = false;
}
