/* loader.h - modules and symbols of addresses, without the lock of the dynamic linker.
 *
 * dladdr and dlsym take the lock that dlopen holds while it runs constructors. A constructor may wait for a thread that
 * calls MPI, and that thread would wait for the lock. dl_iterate_phdr takes another lock, which is held only while the
 * list of modules changes. So this file reads the modules' tables of dynamic symbols itself:
 *
 *     dl_iterate_phdr --> segments that hold the address --> dynamic section --> DT_GNU_HASH or DT_HASH: number of symbols
 *                                                                            `-> DT_SYMTAB, DT_STRTAB: the symbol
 */
#ifndef ST_LOADER_H
#define ST_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#define ST_MAX_BUILD_ID 64 /* bytes */

/* A loaded program or library. */
struct st_module {
    char *path;          /* as it was opened, the program's as it was called; allocated */
    char *symbol;        /* of the function at the address, NULL: none; allocated */
    uintptr_t load;      /* difference between addresses in memory and in the file */
    uintptr_t low, high; /* first address, and the first one after it */
    bool is_program;
    char build_id[2 * ST_MAX_BUILD_ID + 1]; /* hexadecimal digits, or "" */
};

/* Find the module that holds an address. Return false when there is none, or no memory. */
bool st_module_find(const void *address, struct st_module *module);
/* Return the number of libraries loaded so far: it changes with each that is loaded. */
unsigned long long st_loader_count(void);
/* Return a function of a loaded library whose file name begins so; NULL: there is none. */
void *st_loader_function(const char *library, const char *function);
/* Around a fork: wait until no thread searches. The child of a fork during a search would have the linker's lock for
 * ever, and wait for it in dlclose, which some libraries call at exit. */
void st_loader_before_fork(void);
void st_loader_after_fork(void);
/* Free what st_module_find allocated. */
void st_module_free(struct st_module *module);

/* The last part of a path. */
const char *st_file_name(const char *path);

#endif
