/* failing_core.c - preloaded: allocations of the tracer fail on one rank, those of the program and of the MPI library
 * never do.
 *
 *     malloc <-- caller: an address in the library's text?  yes: count it, or fail
 *
 *     FAIL_RANK      the rank
 *     FAIL_LIBRARY   in the library's file name: libscalatrace_core, libscalatrace_mpi
 *     FAIL_BYTES     only allocations of at least so many bytes count
 *     FAIL_FIRST     number of the allocation that fails, from 0
 *     FAIL_ALL       all later ones fail, too
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t n);

static uintptr_t low, high; /* the library's text, once it is loaded */
static long first = -1, count;
static size_t min_bytes;
static const char *name, *first_number;
static int all, reported;

static int find_library(struct dl_phdr_info *library, size_t n, void *unused) {
    (void)n, (void)unused;
    if (!library->dlpi_name || !strstr(library->dlpi_name, name)) return 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        high = library->dlpi_addr + part->p_vaddr + part->p_memsz;
        low = library->dlpi_addr + part->p_vaddr;
    }
    return 1;
}

__attribute__((constructor)) static void start(void) {
    const char *number = getenv("FAIL_FIRST"), *wanted = getenv("FAIL_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (!number || !wanted || !rank || strcmp(rank, wanted)) return;
    all = getenv("FAIL_ALL") != NULL;
    name = getenv("FAIL_LIBRARY");
    min_bytes = strtoul(getenv("FAIL_BYTES"), NULL, 10);
    first_number = number;
}

/* The tracer is loaded at the program's first MPI call. */
void *dlopen(const char *path, int flags) {
    void *(*next)(const char *, int), *library;
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    library = next(path, flags);
    if (first_number && !low) dl_iterate_phdr(find_library, NULL);
    if (first_number && low && first < 0) first = atol(first_number);
    return library;
}

/* Does this allocation fail? A line says so once: a test sees that it happened. */
static int fails(size_t n, void *caller) {
    uintptr_t address = (uintptr_t)caller;
    if (first < 0 || n < min_bytes || address < low || address >= high) return 0;
    long number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (number != first && !(all && number > first)) return 0;
    static const char text[] = "failing_core: an allocation fails\n";
    if (!__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED) && write(2, text, sizeof text - 1) < 0) return 1;
    return 1;
}

void *malloc(size_t n) { return fails(n, __builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) {
    return fails(n * size, __builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}
void *realloc(void *old, size_t n) { return fails(n, __builtin_return_address(0)) ? NULL : __libc_realloc(old, n); }
