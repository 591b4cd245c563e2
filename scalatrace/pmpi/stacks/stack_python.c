/* stack_python.c - read the Python stack, and the cache described in stack_python.h. */
#define _GNU_SOURCE
#include "stacks/stack_python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacks/frames.h"
#include "stacks/gil.h"
#include "stacks/loader.h"

#define MAX_DEPTH 128 /* frames of a stack */

typedef st_python_object object;

/* Functions of Python's C API, by what they do. */
static struct {
    int (*is_initialized)(void);
    int (*is_finalizing)(void);
    object *(*thread_frame)(object *);
    object *(*frame_back)(object *);
    object *(*frame_code)(object *);
    int (*frame_lasti)(object *);
    int (*frame_line)(object *);
    object *(*attribute)(object *, const char *);
    const char *(*utf8)(object *);
    void (*clear_error)(void);
    void (*release)(object *);
} python;

/* A frame, as far as it tells signatures apart. */
struct step {
    object *code;
    int64_t lasti;
};
/* An entry of the cache: open addressing by hash, at most half full; free entries have no steps. */
struct signature {
    uint64_t hash, name;
    int n;
    struct step *steps;
};
static struct signature *table;
static size_t capacity, used;

static void *symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }

static atomic_int state; /* of `python`, 0: not looked for yet, 1: complete, 2: not complete */

static uintptr_t low, high; /* of the interpreter's code */

static void find_functions(void) {
    struct st_module module;
    *(void **)&python.is_initialized = symbol("Py_IsInitialized");
    *(void **)&python.is_finalizing = symbol("Py_IsFinalizing");
    if (!python.is_finalizing) *(void **)&python.is_finalizing = symbol("_Py_IsFinalizing");
    *(void **)&python.thread_frame = symbol("PyThreadState_GetFrame");
    *(void **)&python.frame_back = symbol("PyFrame_GetBack");
    *(void **)&python.frame_code = symbol("PyFrame_GetCode");
    *(void **)&python.frame_lasti = symbol("PyFrame_GetLasti");
    *(void **)&python.frame_line = symbol("PyFrame_GetLineNumber");
    *(void **)&python.attribute = symbol("PyObject_GetAttrString");
    *(void **)&python.utf8 = symbol("PyUnicode_AsUTF8");
    *(void **)&python.clear_error = symbol("PyErr_Clear");
    *(void **)&python.release = symbol("Py_DecRef");
    bool complete = st_gil_start() && python.is_initialized && python.thread_frame && python.frame_back &&
                    python.frame_code && python.frame_lasti && python.frame_line && python.attribute && python.utf8 &&
                    python.clear_error && python.release;
    if (complete && st_module_find(*(void **)&python.attribute, &module)) {
        low = module.low, high = module.high;
        st_module_free(&module);
    }
    state = complete ? 1 : 2;
}

/* Find the functions in MPI_Init, or at the first call, which several threads may make. Return whether all are there. */
static bool load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!atomic_load_explicit(&state, memory_order_acquire)) pthread_once(&once, find_functions);
    return atomic_load_explicit(&state, memory_order_relaxed) == 1;
}

bool st_python_alive(void) {
    return load() && python.is_initialized() && !(python.is_finalizing && python.is_finalizing());
}

bool st_python_thread(void) { return st_python_alive() && st_gil_own_thread(); }

bool st_python_code(const void *address) { return load() && low <= (uintptr_t)address && (uintptr_t)address < high; }

/* Is the file one of those that start programs, or between a program and MPI? */
static bool is_launcher_file(const char *file) {
    return !strncmp(file, "<frozen ", 8) || strstr(file, "/mpi4py/") || strstr(file, "/scalatrace/record/") ||
           strstr(file, "/runpy.py");
}

/* An attribute of a code object as text, valid while `*owner` is held; "?" when there is none. */
static const char *text_of(object *code, const char *attribute, object **owner) {
    *owner = python.attribute(code, attribute);
    const char *text = *owner ? python.utf8(*owner) : NULL;
    if (!text) python.clear_error();
    return text ? text : "?";
}

/* Text of a frame, allocated; NULL: not the program's, or out of memory. */
static char *describe(object *frame, object *code) {
    object *file_owner, *name_owner;
    const char *file = text_of(code, "co_filename", &file_owner), *name = text_of(code, "co_name", &name_owner);
    size_t n = strlen(file) + strlen(name) + 24;
    char *text = is_launcher_file(file) ? NULL : malloc(n);
    if (text) snprintf(text, n, "%s:%d:%s", file, python.frame_line(frame), name);
    if (file_owner) python.release(file_owner);
    if (name_owner) python.release(name_owner);
    return text;
}

/* Double the table. Return false when out of memory. */
static bool grow(void) {
    size_t bigger = capacity ? 2 * capacity : 256;
    struct signature *fresh = calloc(bigger, sizeof *fresh);
    if (!fresh) return false;
    for (size_t i = 0; i < capacity; i++) {
        if (!table[i].steps) continue;
        size_t at = table[i].hash & (bigger - 1);
        while (fresh[at].steps) at = (at + 1) & (bigger - 1);
        fresh[at] = table[i];
    }
    free(table);
    table = fresh, capacity = bigger;
    return true;
}

/* The signature with these steps; NULL: it is new. */
static const struct signature *find(uint64_t hash, const struct step *steps, int n) {
    for (size_t at = hash & (capacity - 1); capacity && table[at].steps; at = (at + 1) & (capacity - 1))
        if (table[at].hash == hash && table[at].n == n && !memcmp(table[at].steps, steps, (size_t)n * sizeof *steps))
            return &table[at];
    return NULL;
}

/* Insert a signature, which then owns the references to its code objects. Return false when out of memory. */
static bool keep(uint64_t hash, uint64_t name, const struct step *steps, int n) {
    if (2 * (used + 1) > capacity && !grow()) return false;
    struct step *copy = malloc((size_t)n * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, steps, (size_t)n * sizeof *copy);
    size_t at = hash & (capacity - 1);
    while (table[at].steps) at = (at + 1) & (capacity - 1);
    table[at] = (struct signature){.hash = hash, .name = name, .n = n, .steps = copy};
    used++;
    return true;
}

/* Define the signature of the frames from `top` on. */
static uint64_t name_of(object *top, int depth) {
    char *texts[MAX_DEPTH];
    int n = 0;
    object *frame = top;
    for (int i = 0; frame && i < depth; i++) {
        object *code = python.frame_code(frame);
        char *text = describe(frame, code);
        if (text) texts[n++] = text;
        python.release(code);
        object *back = python.frame_back(frame);
        if (frame != top) python.release(frame);
        frame = back;
    }
    if (frame && frame != top) python.release(frame);
    uint64_t name = n ? st_define_frames((const char *const *)texts, (size_t)n) : 0;
    while (n) free(texts[--n]);
    return name;
}

/* Look up the signature of a thread's stack; the GIL is held. The thread is this one, or waits. */
static uint64_t walk(object *thread, int depth) {
    struct step steps[MAX_DEPTH];
    int n = 0;
    uint64_t hash = 1469598103934665603u;
    object *top = python.thread_frame(thread), *frame = top;
    while (frame && n < depth) {
        object *code = python.frame_code(frame);
        int lasti = python.frame_lasti(frame);
        steps[n++] = (struct step){.code = code, .lasti = lasti};
        hash = (hash ^ (uintptr_t)code ^ ((uint64_t)(uint32_t)lasti << 40)) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
        object *back = python.frame_back(frame);
        if (frame != top) python.release(frame);
        frame = back;
    }
    if (frame && frame != top) python.release(frame);
    const struct signature *known = find(hash, steps, n);
    uint64_t name = known ? known->name : 0; /* 0: only frames of launchers */
    bool kept = false;
    if (n && !known) {
        name = name_of(top, depth);
        kept = keep(hash, name, steps, n);
    }
    for (int i = 0; i < n && !kept; i++) python.release(steps[i].code);
    if (top) python.release(top);
    return name;
}

bool st_stack_python(int depth, const void *caller, uint64_t *name) {
    return st_gil_run(walk, depth < MAX_DEPTH ? depth : MAX_DEPTH, caller, name);
}
