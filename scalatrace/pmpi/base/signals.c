/* signals.c - handlers of the signals that end a process.
 *
 * SIGTERM: our handler replaces any handler of the program, and calls it after saving.
 * Others:  our handler is installed only where the action before MPI_Init was the default, or UCX's handler, which is
 *          installed when UCX is loaded. Then the handler found after MPI_Init is the MPI library's. A handler that the
 *          program installs later replaces ours.
 * SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM: only where the action after MPI_Init is the default, too. A handler of the
 *          MPI library for one of these may let the program go on.
 * After saving, the former action is restored and the signal occurs again: a faulting instruction faults again; any
 * other signal is raised.
 */
#define _GNU_SOURCE
#include "base/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/state.h"

static const int numbers[] = {SIGTERM, SIGINT, SIGXCPU, SIGABRT, SIGSEGV, SIGBUS, SIGFPE,
                              SIGILL,  SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
#define N ((int)(sizeof numbers / sizeof *numbers))
#define FIRST_USED 8 /* index of the first signal that MPI libraries may use */

volatile int st_signal_waiting;
static struct {
    struct sigaction before; /* the action that our handler replaced */
    bool fatal;              /* the action before MPI_Init was the default or UCX's */
    bool ours;               /* our handler is installed */
} actions[N];
static volatile sig_atomic_t postponed; /* signal number, 0: none */
static void (*save_events)(void);

/* The C library's sigaction. UCX interposes its own, which ignores changes of the signals that UCX handles. */
static int (*set_action)(int, const struct sigaction *, struct sigaction *) = sigaction;

/* Index in `numbers` of a signal that is there. */
static int index_of(int number) {
    int i = 0;
    while (numbers[i] != number) i++;
    return i;
}

/* Was the signal caused by an instruction, which runs again after the handler? */
static bool is_fault(int number, const siginfo_t *info) {
    return (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL) && info->si_code > 0;
}

/* Do what would have happened without our handler. */
static void run_former_action(int number, siginfo_t *info, void *context) {
    const struct sigaction *before = &actions[index_of(number)].before;
    if (actions[index_of(number)].fatal) {
        set_action(number, before, NULL);
        if (!is_fault(number, info)) raise(number); /* pending until we return */
    } else if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    }
}

static void on_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    if (!st_thread.busy) {
        save_events();
        run_former_action(number, info, context);
    } else if (is_fault(number, info)) { /* in the tracer itself, whose state is half changed */
        run_former_action(number, info, context);
    } else {
        postponed = number;
        st_signal_waiting = 1;
    }
    errno = error;
}

void st_signal_deliver(void) {
    st_signal_waiting = 0;
    int number = postponed;
    postponed = 0;
    if (number) raise(number);
}

static void find_set_action(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *function = libc ? dlsym(libc, "sigaction") : NULL;
    if (function) memcpy(&set_action, &function, sizeof function);
    if (libc) dlclose(libc);
}

static bool is_ucx_handler(const struct sigaction *action) {
    Dl_info info;
    void *handler;
    memcpy(&handler, &action->sa_handler, sizeof handler); /* the same storage as sa_sigaction's */
    return dladdr(handler, &info) && info.dli_fname && strstr(info.dli_fname, "/libucs.so");
}

void st_signals_before_init(void) {
    struct sigaction now;
    find_set_action();
    for (int i = 0; i < N; i++) {
        if (set_action(numbers[i], NULL, &now)) continue;
        actions[i].fatal = (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL) || is_ucx_handler(&now);
    }
}

void st_signals_install(void (*save)(void)) {
    save_events = save;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    action.sa_sigaction = on_signal;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N; i++) {
        struct sigaction *before = &actions[i].before;
        if (set_action(numbers[i], NULL, before) || (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN))
            continue;
        if (i >= FIRST_USED && ((before->sa_flags & SA_SIGINFO) || before->sa_handler != SIG_DFL)) continue;
        if (actions[i].fatal || numbers[i] == SIGTERM) actions[i].ours = set_action(numbers[i], &action, NULL) == 0;
    }
}

void st_signals_restore(void) {
    struct sigaction now;
    for (int i = 0; i < N; i++) {
        if (actions[i].ours && !set_action(numbers[i], NULL, &now) && (now.sa_flags & SA_SIGINFO) &&
            now.sa_sigaction == on_signal)
            set_action(numbers[i], &actions[i].before, NULL);
        actions[i].ours = false;
    }
}
