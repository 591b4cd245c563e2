/* stack_native.c - unwind the native stack, and the cache drawn in stack_native.h. */
#define _GNU_SOURCE
#include "stacks/stack_native.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "base/map.h"
#include "base/options.h"
#include "base/wait.h"
#include "stacks/frames.h"
#include "stacks/gil.h"
#include "stacks/loader.h"
#include "stacks/modules.h"
#include "stacks/stack_python.h"

#define MAX_DEPTH 128 /* frames of a stack */
#define WAYS 4        /* entries with one cache index, replaced in turn */
#define SETS 4096

/* A stack in the cache; `slots` and `values` as drawn in stack_native.h. */
struct entry {
    void *caller;
    void **slot;
    uint64_t name;
    int n;
    void ***slots;
    void **values;
};
/* A stack while it is unwound, innermost frame first. */
struct walk {
    void *addresses[MAX_DEPTH];
    void **slots[MAX_DEPTH];
    void *caller;
    int n, depth;
    bool started;     /* the program's first frame has been reached */
    bool slots_known; /* each slot holds its frame's return address */
};

static struct entry *cache[SETS][WAYS];
static unsigned next_way;
static struct st_map names; /* hash of the return addresses -> name of the signature */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The stack slot that holds the frame's return address; NULL: not known on this processor. */
static void **slot_of(struct _Unwind_Context *context) {
#if defined(__x86_64__)
    return (void **)_Unwind_GetCFA(context) - 1;
#else
    (void)context;
    return NULL;
#endif
}

/* Called by the unwinder for each frame. */
static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument) {
    struct walk *walk = argument;
    void *address = (void *)_Unwind_GetIP(context);
    if (address == walk->caller) walk->started = true; /* frames before are the tracer's */
    if (!walk->started) return _URC_NO_REASON;
    if (!address || walk->n == walk->depth) return _URC_END_OF_STACK;
    if (st_options.stacks == ST_STACKS_BOTH && st_python_code((char *)address - 1)) return _URC_END_OF_STACK;
    void **slot = slot_of(context);
    if (!slot || *slot != address) walk->slots_known = false;
    walk->addresses[walk->n] = address;
    walk->slots[walk->n++] = slot;
    return _URC_NO_REASON;
}

enum module { PROGRAM, C_LIBRARY, MPI_LIBRARY, TRACER };

typedef char *demangle_function(const char *, char *, size_t *, int *);
static demangle_function *demangle; /* NULL: the process has no C++ library */

void st_stack_native_start(void) { *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle"); }

/* The demangled name of a C++ function without its arguments, allocated; the name itself where it is no C++ name. */
static char *demangled(const char *symbol) {
    int status = -1;
    char *name = demangle && symbol[0] == '_' ? demangle(symbol, NULL, NULL, &status) : NULL;
    if (!name || status) return strdup(symbol);
    int depth = 0; /* of template arguments: the function's parentheses are outside of them */
    for (char *at = name; *at; at++) {
        depth += (*at == '<') - (*at == '>');
        if (*at == '(' && depth == 0 && at > name && strncmp(at, "(anonymous", 10)) {
            *at = 0;
            break;
        }
    }
    return name;
}

static enum module kind_of(const char *path) {
    const char *name = st_file_name(path);
    if (!strncmp(name, "libscalatrace_", 14)) return TRACER;
    if (st_options.stacks == ST_STACKS_BOTH && st_is_binding(path)) return MPI_LIBRARY;
    if (!strncmp(name, "libmpi", 6)) return MPI_LIBRARY; /* as scalatrace/compilers/libraries.py */
    if (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5)) return C_LIBRARY;
    return PROGRAM;
}

/* Text of a frame, allocated: "module+0xoffset" of the call, with ":symbol" where one is known. addr2line accepts the
 * offset. NULL: out of memory. */
static char *describe(void *address, enum module *kind) {
    struct st_module module;
    char *call = (char *)address - 1;
    *kind = PROGRAM;
    if (!st_module_find(call, &module)) return strdup("?+0x0");
    *kind = kind_of(module.path);
    if (*kind == PROGRAM) st_module_seen(&module);
    const char *name = st_file_name(module.path);
    char *symbol = module.symbol ? demangled(module.symbol) : NULL;
    size_t n = strlen(name) + (symbol ? strlen(symbol) : 0) + 32, offset = (uintptr_t)call - module.load;
    char *text = malloc(n);
    if (text) snprintf(text, n, symbol ? "%s+0x%zx:%s" : "%s+0x%zx", name, offset, symbol);
    free(symbol);
    st_module_free(&module);
    return text;
}

/* Define the signature of the program's frames. */
static uint64_t define(const struct walk *walk) {
    char *texts[MAX_DEPTH];
    int n = 0;
    bool started_by_libc = false;
    enum module kind = PROGRAM;
    for (int i = 0; i < walk->n; i++) {
        char *text = describe(walk->addresses[i], &kind);
        started_by_libc |= kind == C_LIBRARY;
        if (kind == PROGRAM && text)
            texts[n++] = text;
        else
            free(text); /* bindings of MPI, wrappers around a callback; C library functions that call one (qsort) */
    }
    if (started_by_libc && kind == PROGRAM && n > 1)
        free(texts[--n]); /* _start, which called the C library's start function */
    uint64_t name = n ? st_define_frames((const char *const *)texts, (size_t)n) : 0;
    while (n) free(texts[--n]);
    return name;
}

/* Name of the signature with these return addresses. */
static uint64_t name_of(const struct walk *walk) {
    uint64_t hash = (uint64_t)walk->n;
    for (int i = 0; i < walk->n; i++) hash = (hash ^ (uintptr_t)walk->addresses[i]) * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t *known = st_map_find(&names, hash);
    if (known) return *known;
    uint64_t name = define(walk);
    st_map_put(&names, hash, name);
    return name;
}

/* Is the stack still the one of the entry? */
static bool is_valid(const struct entry *entry) {
    for (int i = 0; i < entry->n; i++)
        if (*entry->slots[i] != entry->values[i]) return false;
    return true;
}

static void free_entry(struct entry *entry) {
    if (!entry) return;
    free(entry->slots), free(entry->values), free(entry);
}

/* Insert a stack into the cache; out of memory: leave it out. */
static void cache_stack(struct entry **ways, const struct walk *walk, void **slot, uint64_t name) {
    struct entry *entry = malloc(sizeof *entry);
    if (!entry) return;
    size_t n = (size_t)walk->n;
    *entry = (struct entry){.caller = walk->caller, .slot = slot, .name = name, .n = walk->n};
    entry->slots = malloc((n + 1) * sizeof *entry->slots);
    entry->values = malloc((n + 1) * sizeof *entry->values);
    if (!entry->slots || !entry->values) {
        free_entry(entry);
        return;
    }
    memcpy(entry->slots, walk->slots, n * sizeof *entry->slots);
    memcpy(entry->values, walk->addresses, n * sizeof *entry->values);
    unsigned way = next_way++ % WAYS;
    free_entry(ways[way]);
    ways[way] = entry;
}

/* Unwind the stack, and cache it where its slots are known. */
static uint64_t unwind(struct entry **ways, void *caller, void **slot, int depth) {
    struct walk walk = {.caller = caller, .depth = depth < MAX_DEPTH ? depth : MAX_DEPTH, .slots_known = true};
    _Unwind_Backtrace(step, &walk);
    uint64_t name = name_of(&walk);
    if (walk.slots_known && walk.n) cache_stack(ways, &walk, slot, name);
    return name;
}

uint64_t st_stack_native(void *caller, void **slot, int depth) {
    uint64_t key =
        ((uintptr_t)caller * UINT64_C(0x9E3779B97F4A7C15)) ^ ((uintptr_t)slot * UINT64_C(0xC2B2AE3D27D4EB4F));
    struct entry **ways = cache[(key >> 40) % SETS];
    uint64_t name = 0;
    if (!st_lock_mutex(&mutex, "native stacks")) return 0;
    for (int i = 0; i < WAYS && !name; i++)
        if (ways[i] && ways[i]->caller == caller && ways[i]->slot == slot && is_valid(ways[i])) name = ways[i]->name;
    if (!name) name = unwind(ways, caller, slot, depth);
    pthread_mutex_unlock(&mutex);
    return name;
}
