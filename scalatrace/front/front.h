/* front.h - the library that `scalatrace record` preloads. It is linked to no MPI: the program chooses that.
 *
 *     program            front (this library)               shim (built for one MPI)         MPI library
 *     MPI_Send --------> stubs.S: jump through a table ---> scalatrace_MPI_Send -----------> PMPI_Send
 *                             | first call: resolve.c            ^                `--------> MPI_Send of another tool
 *                             |   which MPI would it reach?      |
 *                             `-> shim.c: find or build, dlopen -´
 *     _exit, exec* ----> leaving.c, replacing.c -----------> save the events
 *
 * Where there is no shim, the table holds the MPI library's functions, and nothing is recorded.
 */
#ifndef FRONT_H
#define FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRONT_EXPORT __attribute__((visibility("default")))

/* A loaded program or library. */
struct front_object {
    void *handle;        /* of dlopen */
    const char *path;    /* as the dynamic linker has it */
    uintptr_t low, high; /* first address, and the first one after it */
};

/* -- resolve.c */

/* Does a loaded object contain an address? */
struct dl_phdr_info;
bool front_contains(const struct dl_phdr_info *info, uintptr_t address);

/* The names of names.def. */
enum { FRONT_MAX_NAMES = 2048 };
extern const char *const front_names[];
extern const int front_nnames;
/* The number of a name; -1: there is none. */
int front_number(const char *name);
/* Is it a function of the tracer, not of MPI? */
bool front_is_own(int number);

/* Is this front the one that `scalatrace record` started last, and no other tracer's? */
bool front_is_active(void);
/* Is there nothing to say about a program in which nothing is recorded: has it started MPI, or was a reason printed? */
bool front_has_started(void);
/* Has the program called MPI_Init without reaching a stub? */
bool front_was_bypassed(void);
/* The C library's dlsym. */
extern void *(*front_next_dlsym)(void *handle, const char *name);

/* Functions of the shim (process/lifecycle.h); NULL: none is loaded. */
extern struct front_hooks {
    bool (*started)(void);
    void (*save_unfinished)(void);
    void (*save_before_exec)(const char *program);
} front_hooks;

/* -- messages.c */

/* Is this process the first rank, as launchers number them? True without a launcher. */
bool front_is_first_rank(void);
/* Print a line on standard error, once for the ranks of a node, unless --quiet. */
void front_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The CRC of zlib.crc32. */
uint32_t front_crc32(const void *data, size_t n);

/* -- symbols.c */

/* Before main(): from now on, a stub's symbol exists only where the function does that it stands for. */
void front_make_conditional(void);

/* -- shim.c */

/* Load the shim for an MPI library; build it if it is missing. NULL: that fails, and the reason is printed. */
void *front_load_shim(const struct front_object *mpi);

#endif
