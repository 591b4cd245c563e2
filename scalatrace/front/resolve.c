/* resolve.c - choose the MPI at the first call of an MPI function, and fill the table of stubs.S.
 *
 * The MPI is the library that the call would have reached without this one. It is sought where the dynamic linker would
 * have: behind this library in the global scope; in what the caller's file needs (an extension module of Python is
 * loaded with a scope of its own); where the program looked the function up by dlsym; in any loaded library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front.h"

#define names front_names
const char *const names[] = {
#define FRONT_NAME(name) #name,
#include "names.def"
};
#define N ((int)(sizeof names / sizeof *names))
_Static_assert(sizeof names / sizeof *names <= FRONT_MAX_NAMES, "FRONT_MAX_NAMES is too small");
const int front_nnames = N;
#define MAX_NAME 80 /* bytes of a name with its prefix */

extern void *front_table[] __attribute__((visibility("hidden")));
void *(*front_next_dlsym)(void *, const char *);
void *front_find_dlsym(void) __attribute__((visibility("hidden")));
void *front_resolve(int number, void *caller) __attribute__((visibility("hidden")));
void *front_dlsym(void *handle, const char *name) __attribute__((visibility("hidden")));

static pthread_mutex_t resolving = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static bool used;                 /* the MPI is chosen */
static struct front_object front; /* this library */
static struct front_object mpi;   /* the chosen library; handle NULL: it is not known */
static void *shim;                /* NULL: nothing is recorded */
struct front_hooks front_hooks;
static void *scope;    /* of the object that called MPI first */
static void *asked[N]; /* what the program got by dlsym on a handle: the stub stands for this function */

/* -- objects --------------------------------------------------------------------------------------------- */

void *front_find_dlsym(void) {
    void *next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
#ifdef __x86_64__
    if (!next) next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
#else
    if (!next) next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
#endif
    memcpy(&front_next_dlsym, &next, sizeof next);
    return next;
}

static void *look_up(void *handle, const char *name) {
    if (!front_next_dlsym) front_find_dlsym();
    return handle ? front_next_dlsym(handle, name) : NULL;
}

bool front_contains(const struct dl_phdr_info *info, uintptr_t address) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && start <= address && address - start < part->p_memsz) return true;
    }
    return false;
}

/* Called for each object: set low and high where it holds the address `low`. */
static int measure(struct dl_phdr_info *info, size_t size, void *argument) {
    struct front_object *object = argument;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)size;
    if (!front_contains(info, object->low)) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD) continue;
        if (start < low) low = start;
        if (start + part->p_memsz > high) high = start + part->p_memsz;
    }
    object->low = low, object->high = high;
    return 1;
}

static bool holds(const struct front_object *object, const void *address) {
    return (uintptr_t)address >= object->low && (uintptr_t)address < object->high;
}

/* Find the object of an address; without a path where there is none. The handle of the main program is NULL: all that
 * it needs is in the global scope. */
static struct front_object object_at(const void *address) {
    struct front_object object = {.low = (uintptr_t)address};
    struct link_map *map = NULL;
    Dl_info info;
    if (!address || !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return (struct front_object){0};
    dl_iterate_phdr(measure, &object);
    object.path = map->l_name;
    if (*map->l_name) object.handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    return object;
}

/* -- the real functions ---------------------------------------------------------------------------------- */

/* Called for each object: stop at one that is an MPI library, and return its handle. */
static int look_for_mpi(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)size;
    if (!info->dlpi_name || !*info->dlpi_name) return 0;
    void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    void *init = look_up(handle, "PMPI_Init");
    if (init && object_at(init).handle == handle) {
        *(void **)argument = handle;
        return 1;
    }
    if (handle) dlclose(handle);
    return 0;
}

/* Find the function that a call would reach without this library; NULL: none. `near`: an address in the object that
 * calls, or NULL. */
static void *find_next(const char *name, const void *near) {
    void *next = dlsym(RTLD_NEXT, name), *handle = NULL;
    if (!next && near) next = look_up(object_at(near).handle, name);
    if (!next) next = look_up(scope, name);
    if (!next) next = look_up(mpi.handle, name);
    if (!next && !used && dl_iterate_phdr(look_for_mpi, &handle)) next = look_up(handle, name);
    return next && !holds(&front, next) ? next : NULL;
}

/* Functions for Python, which do nothing without a shim. */
static int no_tracer(void) { return -1; }
bool front_is_own(int number) { return !strncmp(names[number], "scalatrace_", 11); }

/* Let a stub jump to the shim's wrapper, and that go on to the next function in line. The shim's default is PMPI_X. */
static void *set(int number, void *next) {
    char name[MAX_NAME];
    snprintf(name, sizeof name, "scalatrace_%s", names[number]);
    void *wrapper = look_up(shim, name);
    snprintf(name, sizeof name, "scalatrace_next_%s", names[number]);
    void **slot = wrapper ? look_up(shim, name) : NULL;
    if (slot && (!*slot || !holds(&mpi, next))) *slot = next;
    void *target = wrapper ? wrapper : next;
    __atomic_store_n(&front_table[number], target, __ATOMIC_RELEASE);
    return target;
}

/* -- the choice ------------------------------------------------------------------------------------------ */

/* Find this library. The constructors of others run before its own, and may call MPI: libmpi_cxx.so of Open MPI 4 does. */
static void find_front(void) {
    if (!front.path) front = object_at(&front);
}

bool front_is_active(void) {
    const char *path = getenv("SCALATRACE_FRONT");
    find_front();
    return path && front.path && !strcmp(path, front.path);
}

bool front_was_bypassed(void) {
    void *handle = NULL;
    int (*initialized)(int *), flag = 0;
    if (used) handle = mpi.handle;
    if (handle || dl_iterate_phdr(look_for_mpi, &handle)) {
        *(void **)&initialized = look_up(handle, "PMPI_Initialized");
        if (initialized) initialized(&flag);
    }
    return flag;
}

bool front_has_started(void) { return used && (!shim || front_hooks.started()); }

/* Remove this library from LD_PRELOAD: what starts programs before it uses MPI is a launcher, which the tracer follows;
 * programs that a rank starts are no ranks. */
static void leave_environment(void) {
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !front.path) return;
    char *old = strdup(preload), *others = calloc(1, strlen(preload) + 1), *state = NULL;
    if (old && others) {
        for (char *word = strtok_r(old, ": ", &state); word; word = strtok_r(NULL, ": ", &state)) {
            if (!strcmp(word, front.path)) continue;
            if (*others) strcat(others, ":");
            strcat(others, word);
        }
        if (*others)
            setenv("LD_PRELOAD", others, 1);
        else
            unsetenv("LD_PRELOAD");
    }
    free(old), free(others);
}

/* Set the MPI library and its shim. All stubs whose functions exist are set at once: dlsym takes the lock that dlopen
 * holds while it runs constructors, and one of these may wait for a thread that calls MPI. */
static void choose(const void *next, const void *caller) {
    void *init = dlsym(RTLD_NEXT, "PMPI_Init");
    struct front_object of_caller = object_at(caller), of_next = object_at(next);
    if (!init) init = look_up(of_caller.handle, "PMPI_Init");
    if (!init) init = look_up(of_next.handle, "PMPI_Init");
    scope = of_caller.handle;
    mpi = object_at(init);
    used = true;
    if (!front_is_active()) return;
    leave_environment();
    if (!mpi.handle)
        front_print("the MPI functions of %s are of no MPI library that is known: nothing is recorded",
                    of_next.path ? of_next.path : "this program");
    else
        shim = front_load_shim(&mpi);
    if (shim) {
        *(void **)&front_hooks.started = look_up(shim, "scalatrace_started");
        *(void **)&front_hooks.save_unfinished = look_up(shim, "scalatrace_save_unfinished");
        *(void **)&front_hooks.save_before_exec = look_up(shim, "scalatrace_save_before_exec");
    }
    for (int i = 0; i < N; i++) {
        void *function = front_is_own(i) ? look_up(shim, names[i]) : find_next(names[i], NULL);
        if (function && front_is_own(i))
            __atomic_store_n(&front_table[i], function, __ATOMIC_RELEASE);
        else if (function)
            set(i, function);
    }
}

/* Return where a stub has to jump. */
void *front_resolve(int number, void *caller) {
    const char *name = names[number];
    int error = errno;
    pthread_mutex_lock(&resolving);
    find_front();
    void *target = front_is_own(number) ? look_up(shim, name) : NULL;
    if (front_is_own(number)) {
        if (!target) *(int (**)(void))&target = no_tracer;
    } else {
        void *next = find_next(name, caller);
        if (!next) next = asked[number];
        if (!used && next) choose(next, caller);
        if (next) target = set(number, next);
    }
    pthread_mutex_unlock(&resolving);
    errno = error;
    if (target) return target;
    dprintf(STDERR_FILENO, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name, name);
    _exit(127);
}

/* -- dlsym ----------------------------------------------------------------------------------------------- */

static int compare(const void *key, const void *element) { return strcmp(key, names[*(const int *)element]); }

static int compare_numbers(const void *a, const void *b) {
    return strcmp(names[*(const int *)a], names[*(const int *)b]);
}

int front_number(const char *name) {
    static int by_name[N];
    static bool sorted;
    pthread_mutex_lock(&resolving);
    for (int i = 0; !sorted && i < N; i++) by_name[i] = i;
    if (!sorted) qsort(by_name, N, sizeof *by_name, compare_numbers);
    sorted = true;
    pthread_mutex_unlock(&resolving);
    const int *number = bsearch(name, by_name, N, sizeof *by_name, compare);
    return number ? *number : -1;
}

/* Is it a function of the MPI that is chosen, or may be chosen? */
static bool is_of_mpi(const void *function) {
    if (used) return holds(&mpi, function);
    struct front_object object = object_at(function);
    void *init = look_up(object.handle, "PMPI_Init");
    return init && object_at(init).handle == object.handle;
}

/* dlsym for names that begin as MPI's: a program that looks MPI's functions up gets the stubs. Of a handle whose scope
 * holds this library, the function exists only where it does behind this library, too. */
void *front_dlsym(void *handle, const char *name) {
    void *caller = __builtin_return_address(0), *function = look_up(handle, name);
    int number = front_number(name);
    if (!front_next_dlsym) front_find_dlsym();
    if (handle == RTLD_DEFAULT) function = front_next_dlsym(handle, name);
    if (number < 0) return function;
    if (!function || (holds(&front, function) && !find_next(name, caller)))
        return front_next_dlsym(RTLD_NEXT, name); /* sets dlerror() */
    if (holds(&front, function)) return function;
    if (!front_is_active() || !is_of_mpi(function)) return function;
    asked[number] = function;
    return front_next_dlsym(front.handle, name);
}

__attribute__((constructor)) static void start(void) {
    find_front();
    front_find_dlsym();
    front_make_conditional();
}
