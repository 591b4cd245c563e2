/* gil.c - the GIL, and the helper of gil.h. */
#define _GNU_SOURCE
#include "stacks/gil.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/options.h"
#include "base/state.h"
#include "base/wait.h"
#include "stacks/loader.h"

static struct {
    int (*ensure)(void);
    void (*release)(int);
    int (*check)(void);
    st_python_object *(*own_thread)(void);
    st_python_object *(*interpreter_of)(st_python_object *);
    st_python_object *(*first_thread)(st_python_object *);
    st_python_object *(*next_thread)(st_python_object *);
} python;

bool st_gil_start(void) {
    static const char *const names[] = {
        "PyGILState_Ensure",
        "PyGILState_Release",
        "PyGILState_Check",
        "PyGILState_GetThisThreadState",
        "PyThreadState_GetInterpreter",
        "PyInterpreterState_ThreadHead",
        "PyThreadState_Next",
    };
    void **slots = (void **)&python; /* the pointers are in the order of the names */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(slots[i] = dlsym(RTLD_DEFAULT, names[i]))) return false;
    return true;
}

st_python_object *st_gil_own_thread(void) { return python.own_thread(); }

/* New threads come first in the list: it has only this one if it is both first and last. */
static bool is_only_thread(st_python_object *thread) {
    return python.first_thread(python.interpreter_of(thread)) == thread && !python.next_thread(thread);
}

/* -- bindings ---------------------------------------------------------------------------------------------- */

bool st_is_binding(const char *path) {
    const char *name = st_file_name(path);
    if (!strncmp(name, "MPI.", 4)) return strstr(path, "/mpi4py/") != NULL;
    return !strncmp(name, "_ctypes.", 8) || !strncmp(name, "libffi.so", 9);
}

/* Is the address in a binding? The last module of each kind is remembered: [0] others, [1] bindings. */
static bool in_binding(const void *address) {
    static struct {
        atomic_uintptr_t low, high;
    } last[2];
    struct st_module module;
    uintptr_t at = (uintptr_t)address;
    for (int i = 0; i < 2; i++)
        if (atomic_load(&last[i].low) <= at && at < atomic_load(&last[i].high)) return i;
    if (!address || !st_module_find(address, &module)) return false;
    int kind = st_is_binding(module.path);
    atomic_store(&last[kind].high, 0); /* no thread sees a range of two modules */
    atomic_store(&last[kind].low, module.low);
    atomic_store(&last[kind].high, module.high);
    st_module_free(&module);
    return kind;
}

/* -- the helper -------------------------------------------------------------------------------------------- */

enum state { IDLE, ASKED, RUNNING, DONE };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    enum state state;
    uint64_t (*run)(st_python_object *, int);
    st_python_object *thread;
    int depth;
    uint64_t result;
} request;
static bool helper_runs, failed; /* failed: a wait was too long */

static void set_state(enum state state) {
    request.state = state;
    pthread_cond_broadcast(&changed);
}

/* Main function of the helper. It holds the GIL only while it runs a request: of the one for which it took the GIL
 * nobody may wait any more. The thread blocks all signals. */
static void *help(void *unused) {
    st_thread.busy = true, st_thread.depth = 1;
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (request.state != ASKED) pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
        int gil = python.ensure();
        pthread_mutex_lock(&mutex);
        bool wanted = request.state == ASKED;
        if (wanted) set_state(RUNNING);
        pthread_mutex_unlock(&mutex);
        uint64_t result = wanted && request.run ? request.run(request.thread, request.depth) : 0;
        python.release(gil);
        pthread_mutex_lock(&mutex);
        request.result = result;
        if (wanted) set_state(DONE);
    }
    return unused;
}

static bool start_helper(void) {
    sigset_t all, old;
    pthread_t helper;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    helper_runs = pthread_create(&helper, NULL, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (helper_runs) pthread_detach(helper);
    return helper_runs;
}

/* Wait until the state is `first` or `second`. The mutex is held. */
static bool wait_for(enum state first, enum state second, const struct timespec *until) {
    while (request.state != first && request.state != second)
        if (pthread_cond_timedwait(&changed, &mutex, until) == ETIMEDOUT) return false;
    return true;
}

/* Let the helper run `run`, NULL: only take the GIL. Return false where it does not get the GIL in time. A request that
 * runs already ends soon, since its own waits have limits. */
static bool ask(uint64_t (*run)(st_python_object *, int), st_python_object *thread, int depth, uint64_t *result) {
    struct timespec until = st_time_in(st_options.wait_limit);
    if (__atomic_load_n(&failed, __ATOMIC_RELAXED) || !st_try_mutex(&mutex)) return false;
    bool ok = !failed && (helper_runs || start_helper()) && wait_for(IDLE, IDLE, &until);
    if (ok) {
        request.run = run, request.thread = thread, request.depth = depth;
        set_state(ASKED);
        ok = wait_for(RUNNING, DONE, &until);
        while (ok && request.state == RUNNING) pthread_cond_wait(&changed, &mutex);
        *result = ok ? request.result : 0;
        set_state(IDLE);
    }
    if (!ok) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    if (!ok)
        st_warn_once("waited %d s for the GIL, whose holder waits, too: calls of this thread have no Python stack",
                     st_options.wait_limit);
    return ok;
}

/* Is the GIL this thread's, or will its holder not wait for this thread? */
static bool is_safe(st_python_object *thread, const void *caller) {
    return is_only_thread(thread) || in_binding(caller) || python.check();
}

bool st_gil_run(uint64_t (*run)(st_python_object *, int), int depth, const void *caller, uint64_t *result) {
    st_python_object *thread = python.own_thread();
    if (!is_safe(thread, caller)) return ask(run, thread, depth, result);
    int gil = python.ensure();
    *result = run(thread, depth);
    python.release(gil);
    return true;
}

bool st_gil_free(void) {
    uint64_t unused;
    return is_safe(python.own_thread(), NULL) || ask(NULL, NULL, 0, &unused);
}
