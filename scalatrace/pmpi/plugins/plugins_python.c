/* plugins_python.c - plug-ins that are Python classes; scalatrace.record.python_stats is their other half.
 *
 * Python's C API is found by dlsym, as in stack_python.c. Nothing is called once the interpreter is about to end; under
 * mpi4py MPI_Finalize comes after that. An exception that a signal handler of the program raises while a plug-in runs
 * (KeyboardInterrupt) belongs to the program: it is raised there again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/state.h"
#include "plugins/plugin_kinds.h"
#include "stacks/stack_python.h"

typedef struct object object; /* PyObject */

/* Functions of Python's C API, in the order of the names in load_symbols. */
static struct {
    int (*gil_ensure)(void);
    void (*gil_release)(int);
    object *(*import)(const char *);
    object *(*call_method)(object *, const char *, const char *, ...);
    object *(*call)(object *, const char *, ...);
    int (*parse_tuple)(object *, const char *, ...);
    const char *(*utf8)(object *);
    double (*to_double)(object *);
    object *(*error)(void);
    void (*clear_error)(void);
    void (*fetch_error)(object **, object **, object **);
    void (*restore_error)(object *, object *, object *);
    int (*add_pending)(int (*)(void *), void *);
    void (*release)(object *);
} python;

/* An instance of the class, for one thread. */
struct instance {
    struct st_plugin_entry *entry;
    object *window; /* callable: (operation, inside, ends) -> float, or str: why it failed */
};

static bool load_symbols(void) {
    static const char *const names[] = {
        "PyGILState_Ensure",     "PyGILState_Release", "PyImport_ImportModule", "PyObject_CallMethod",
        "PyObject_CallFunction", "PyArg_ParseTuple",   "PyUnicode_AsUTF8",      "PyFloat_AsDouble",
        "PyErr_Occurred",        "PyErr_Clear",        "PyErr_Fetch",           "PyErr_Restore",
        "Py_AddPendingCall",     "Py_DecRef",
    };
    void **slots = (void **)&python; /* the pointers are in the order of the names */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(slots[i] = dlsym(RTLD_DEFAULT, names[i]))) return false;
    return true;
}

/* -- exceptions of the program's signal handlers ------------------------------------------------------------- */

static int restore_error_later(void *own) {
    object **error = own;
    python.restore_error(error[0], error[1], error[2]);
    free(error);
    return -1;
}

/* Clear the current error, and raise it in the program's main thread. */
static void raise_in_main_thread(void) {
    object **error = calloc(3, sizeof *error);
    if (!error) {
        python.clear_error();
        return;
    }
    python.fetch_error(&error[0], &error[1], &error[2]);
    if (python.add_pending(restore_error_later, error)) free(error);
}

/* -- the plug-in ------------------------------------------------------------------------------------------- */

/* Switch a plug-in off after a failure; threads may fail at the same time. */
static void failed(struct st_plugin_entry *entry, const char *why) {
    if (__atomic_exchange_n(&entry->off, true, __ATOMIC_RELAXED)) return;
    st_warn("the stat %s is not measured any more: %s", entry->name, why);
}

/* The float that a window returned. Text is the reason of a failure: NaN, and the plug-in is not called any more. */
static double sample_of(struct st_plugin_entry *entry, object *answer) {
    double value = answer ? python.to_double(answer) : NAN;
    if (!answer) {
        raise_in_main_thread();
    } else if (python.error()) {
        python.clear_error();
        value = NAN;
        const char *why = python.utf8(answer);
        if (!why) python.clear_error();
        failed(entry, why ? why : "a strange answer");
    }
    if (answer) python.release(answer);
    return value;
}

static double call(void *state, const struct st_plugin_call *info, bool ends) {
    struct instance *instance = state;
    int gil = python.gil_ensure();
    object *answer = python.call(instance->window, "sii", info->operation, info->window == ST_IN_CALL, (int)ends);
    double value = sample_of(instance->entry, answer);
    python.gil_release(gil);
    return value;
}

static void python_start(void *state, const struct st_plugin_call *info) { call(state, info, false); }
static double python_end(void *state, const struct st_plugin_call *info) { return call(state, info, true); }

/* `*state` is the plug-in's entry at first; it becomes the thread's instance. */
static int python_open(void **state) {
    struct st_plugin_entry *entry = *state;
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance) return -1;
    int gil = python.gil_ensure();
    object *window = python.call(entry->factory, "()");
    const char *why = window ? python.utf8(window) : NULL;
    if (why) {
        snprintf(entry->why, sizeof entry->why, "%s", why);
        python.release(window);
        window = NULL;
    } else if (window) {
        python.clear_error(); /* no text but a callable: utf8() has set an error */
    } else {
        raise_in_main_thread();
    }
    python.gil_release(gil);
    *instance = (struct instance){entry, window};
    *state = instance;
    if (window) return 0;
    free(instance);
    return -1;
}

/* Load the class. There is no close(): when a thread ends, the interpreter may have ended, too. */
static bool load(struct st_plugin_entry *entry, int *level, const char *which) {
    const char *why = "the program's Python cannot import scalatrace";
    object *module = python.import("scalatrace.record.python_stats");
    object *answer = module ? python.call_method(module, "load", "s", which) : NULL;
    if (module && !answer) {
        raise_in_main_thread();
        why = "it was interrupted";
    }
    if (answer &&
        !python.parse_tuple(answer, "ssdiO", &why, &entry->own.name, &entry->own.resolution, level, &entry->factory))
        why = "a strange answer";
    if (python.error()) python.clear_error();
    snprintf(entry->why, sizeof entry->why, "%s", why);
    return !*why; /* the answer is never released: it owns the name and the factory */
}

bool st_python_plugin(struct st_plugin_entry *entry, const char *which) {
    int level = 0;
    bool alive = st_python_alive();
    if (!alive || !load_symbols()) {
        snprintf(entry->why, sizeof entry->why, alive ? "this Python cannot be called" : "the program is not Python");
        return false;
    }
    int gil = python.gil_ensure();
    bool done = load(entry, &level, which);
    python.gil_release(gil);
    entry->own.version = ST_PLUGIN_VERSION;
    entry->own.flags = level ? ST_PLUGIN_LEVEL : 0;
    entry->own.open = python_open;
    entry->own.start = python_start;
    entry->own.end = python_end;
    return done;
}
