/* plugins_python.c - plug-ins that are Python classes; scalatrace.record.python_stats is their other half.
 *
 * Python's C API is found by dlsym, as in stack_python.c. Nothing is called once the interpreter is about to end (MPI_Finalize
 * comes after that under mpi4py). What a signal handler of the program raises while a plug-in runs (KeyboardInterrupt) is
 * the program's: it is raised there again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugins.h"

typedef struct object object; /* PyObject */

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
    struct st_plug *plug;
    object *window; /* callable: (operation, inside, ends) -> float, or str: why it failed */
};

static bool load_symbols(void) {
    static const char *const names[] = {
        "PyGILState_Ensure",     "PyGILState_Release", "PyImport_ImportModule", "PyObject_CallMethod",
        "PyObject_CallFunction", "PyArg_ParseTuple",   "PyUnicode_AsUTF8",      "PyFloat_AsDouble",
        "PyErr_Occurred",        "PyErr_Clear",        "PyErr_Fetch",           "PyErr_Restore",
        "Py_AddPendingCall",     "Py_DecRef",
    };
    void **slots = (void **)&python; /* pointers to functions, in the order of the names */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(slots[i] = dlsym(RTLD_DEFAULT, names[i]))) return false;
    return true;
}

/* -- what is raised in the midst of a plug-in ---------------------------------------------------------------- */

static int raise_again(void *own) {
    object **error = own;
    python.restore_error(error[0], error[1], error[2]);
    free(error);
    return -1;
}

/* Hand the error that is set to the program's main thread, as if nothing had been between. */
static void hand_over(void) {
    object **error = calloc(3, sizeof *error);
    if (!error) {
        python.clear_error();
        return;
    }
    python.fetch_error(&error[0], &error[1], &error[2]);
    if (python.add_pending(raise_again, error)) free(error);
}

/* -- the plug-in ------------------------------------------------------------------------------------------- */

static void failed(struct st_plug *plug, const char *why) {
    if (__atomic_exchange_n(&plug->off, true, __ATOMIC_RELAXED)) return;
    st_tell("the stat %s is not measured any more: %s", plug->name, why);
}

/* The float that came, or NaN for anything else. */
static double taken(struct st_plug *plug, object *answer) {
    double value = answer ? python.to_double(answer) : NAN;
    if (!answer) {
        hand_over();
    } else if (python.error()) {
        python.clear_error();
        value = NAN;
        const char *why = python.utf8(answer);
        if (!why) python.clear_error();
        failed(plug, why ? why : "a strange answer");
    }
    if (answer) python.release(answer);
    return value;
}

static double call(void *state, const struct st_plugin_call *info, bool ends) {
    struct instance *instance = state;
    int gil = python.gil_ensure();
    object *answer = python.call(instance->window, "sii", info->operation, info->window == ST_IN_CALL, (int)ends);
    double value = taken(instance->plug, answer);
    python.gil_release(gil);
    return value;
}

static void python_start(void *state, const struct st_plugin_call *info) { call(state, info, false); }
static double python_end(void *state, const struct st_plugin_call *info) { return call(state, info, true); }

/* The state is the plug-in's `struct st_plug` before, and the thread's instance then. */
static int python_open(void **state) {
    struct st_plug *plug = *state;
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance) return -1;
    int gil = python.gil_ensure();
    object *window = python.call(plug->make, "()");
    const char *why = window ? python.utf8(window) : NULL;
    if (why) {
        snprintf(plug->why, sizeof plug->why, "%s", why);
        python.release(window);
        window = NULL;
    } else if (window) {
        python.clear_error(); /* no text: a callable, as it should be */
    } else {
        hand_over();
    }
    python.gil_release(gil);
    *instance = (struct instance){plug, window};
    *state = instance;
    if (window) return 0;
    free(instance);
    return -1;
}

/* Instances are left to Python's end: a thread that ends may not have a Python any more to call. */
static bool load(struct st_plug *plug, int *level, const char *which) {
    const char *why = "the program's Python cannot import scalatrace";
    object *module = python.import("scalatrace.record.python_stats");
    object *answer = module ? python.call_method(module, "load", "s", which) : NULL;
    if (module && !answer) {
        hand_over();
        why = "it was interrupted";
    }
    if (answer &&
        !python.parse_tuple(answer, "ssdiO", &why, &plug->own.name, &plug->own.resolution, level, &plug->make))
        why = "a strange answer";
    if (python.error()) python.clear_error();
    snprintf(plug->why, sizeof plug->why, "%s", why);
    return !*why; /* the answer is kept, and with it all that it holds */
}

bool st_python_plugin(struct st_plug *plug, const char *which) {
    int level = 0;
    bool alive = st_python_alive();
    if (!alive || !load_symbols()) {
        snprintf(plug->why, sizeof plug->why, alive ? "this Python cannot be called" : "the program is not Python");
        return false;
    }
    int gil = python.gil_ensure();
    bool done = load(plug, &level, which);
    python.gil_release(gil);
    plug->own.version = ST_PLUGIN_VERSION;
    plug->own.flags = level ? ST_PLUGIN_LEVEL : 0;
    plug->own.open = python_open;
    plug->own.start = python_start;
    plug->own.end = python_end;
    return done;
}
