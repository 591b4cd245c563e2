/* signals.c - the signals by which a process dies: it saves first, and then dies as it would have.
 *
 * Of SIGTERM we take over whatever handler the program has. The others are taken only where their action was the default
 * before MPI_Init, or that of UCX, which comes when it is loaded: what is installed now is MPI's way to die of them, and a
 * handler that a program installs later replaces ours. After saving, the signal's former action is put back and the signal comes again: an instruction that failed fails
 * again, anything else is raised.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "shim.h"

static const int numbers[] = {SIGTERM, SIGINT, SIGXCPU, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define N ((int)(sizeof numbers / sizeof *numbers))

volatile int st_signal_waiting;
static struct {
    struct sigaction before; /* what we replaced */
    bool fatal;              /* default before MPI_Init, or UCX's */
    bool ours;
} taken[N];
static volatile sig_atomic_t dying;

/* libc's: UCX puts one of its own before it, which leaves alone the signals that UCX handles. */
static int (*set_action)(int, const struct sigaction *, struct sigaction *) = sigaction;

static int index_of(int number) {
    int i = 0;
    while (numbers[i] != number) i++;
    return i;
}

static bool is_fault(int number, const siginfo_t *info) {
    return (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL) && info->si_code > 0;
}

/* What would have happened without us. */
static void as_before(int number, siginfo_t *info, void *context) {
    const struct sigaction *before = &taken[index_of(number)].before;
    if (taken[index_of(number)].fatal) {
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
        st_save_from_handler();
        as_before(number, info, context);
    } else if (is_fault(number, info)) { /* in the tracer itself: what there is is half changed */
        as_before(number, info, context);
    } else {
        dying = number;
        st_signal_waiting = 1;
    }
    errno = error;
}

void st_signal_deliver(void) {
    int number = dying;
    dying = 0;
    if (number) raise(number);
}

static void find_set_action(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *found = libc ? dlsym(libc, "sigaction") : NULL;
    if (found) memcpy(&set_action, &found, sizeof found);
    if (libc) dlclose(libc);
}

static bool is_of_ucx(const struct sigaction *action) {
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
        taken[i].fatal = (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL) || is_of_ucx(&now);
    }
}

void st_signals_take(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    action.sa_sigaction = on_signal;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N; i++) {
        struct sigaction *before = &taken[i].before;
        if (set_action(numbers[i], NULL, before) || (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN))
            continue;
        if (taken[i].fatal || numbers[i] == SIGTERM) taken[i].ours = set_action(numbers[i], &action, NULL) == 0;
    }
}

void st_signals_return(void) {
    struct sigaction now;
    for (int i = 0; i < N; i++) {
        if (taken[i].ours && !set_action(numbers[i], NULL, &now) && (now.sa_flags & SA_SIGINFO) &&
            now.sa_sigaction == on_signal)
            set_action(numbers[i], &taken[i].before, NULL);
        taken[i].ours = false;
    }
}
