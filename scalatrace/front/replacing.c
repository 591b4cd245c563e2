/* replacing.c - the exec functions, which replace the program without running destructors: save the events first.
 *
 * The C library's exec functions call each other inside the library, so each is wrapped. The lists of arguments become
 * arrays on the stack. A forked child replaces itself, not the rank: the shim compares process numbers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "front.h"

typedef int exec_function(const char *path, char *const argv[], char *const envp[]);

/* Save unless the program is known not to start; a name without a slash is looked up by the C library. */
static void save_before(const char *path) {
    if (!path || (strchr(path, '/') && access(path, X_OK))) return;
    if (front_hooks.save_before_exec) front_hooks.save_before_exec(path);
}

/* Looked up early: a child of vfork() may not call dlsym. */
static exec_function *next_execve, *next_execvpe;
static int (*next_fexecve)(int, char *const[], char *const[]);
__attribute__((constructor)) static void find_functions(void) {
    *(void **)&next_execve = dlsym(RTLD_NEXT, "execve");
    *(void **)&next_execvpe = dlsym(RTLD_NEXT, "execvpe");
    *(void **)&next_fexecve = dlsym(RTLD_NEXT, "fexecve");
}

static int replace(exec_function **next, const char *path, char *const argv[], char *const envp[]) {
    if (!*next) find_functions(); /* called by another library's constructor */
    save_before(path);
    return (*next)(path, argv, envp);
}

FRONT_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
    return replace(&next_execve, path, argv, envp);
}

FRONT_EXPORT int execv(const char *path, char *const argv[]) { return replace(&next_execve, path, argv, environ); }

FRONT_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
    return replace(&next_execvpe, file, argv, envp);
}

FRONT_EXPORT int execvp(const char *file, char *const argv[]) { return replace(&next_execvpe, file, argv, environ); }

FRONT_EXPORT int fexecve(int file, char *const argv[], char *const envp[]) {
    if (!next_fexecve) find_functions();
    if (front_hooks.save_before_exec) front_hooks.save_before_exec(argv && argv[0] ? argv[0] : "a file");
    return next_fexecve(file, argv, envp);
}

static int count(va_list arguments) {
    int n = 1;
    while (va_arg(arguments, const char *)) n++;
    return n;
}

/* Fill argv with the first argument and the others, up to the null pointer. */
static void collect(char **argv, const char *first, va_list *arguments) {
    *argv++ = (char *)first;
    while ((*argv++ = va_arg(*arguments, char *))) continue;
}

#define EXEC_LIST(next, path, first, environment)                                                                      \
    va_list arguments;                                                                                                 \
    va_start(arguments, first);                                                                                        \
    int n = first ? count(arguments) : 0;                                                                              \
    va_end(arguments);                                                                                                 \
    char *argv[n + 1];                                                                                                 \
    argv[0] = NULL;                                                                                                    \
    va_start(arguments, first);                                                                                        \
    if (first) collect(argv, first, &arguments);                                                                       \
    char *const *envp = environment;                                                                                   \
    va_end(arguments);                                                                                                 \
    return replace(next, path, argv, envp)

FRONT_EXPORT int execl(const char *path, const char *first, ...) { EXEC_LIST(&next_execve, path, first, environ); }

FRONT_EXPORT int execlp(const char *file, const char *first, ...) { EXEC_LIST(&next_execvpe, file, first, environ); }

FRONT_EXPORT int execle(const char *path, const char *first, ...) {
    EXEC_LIST(&next_execve, path, first, va_arg(arguments, char *const *));
}
