/* shim.c - find, build and load the shim for an MPI library.
 *
 *     SCALATRACE_SHIM_FOLDERS   folders separated by unit separators (0x1f); those that begin with ! hold what this user
 *                               stored: others must not be able to write to them
 *     SCALATRACE_SOURCES        key of the sources from which shims of this version are built
 *
 *     libscalatrace_mpi-<identity of the library>-<key>.so
 *
 * The identity is that of identify() in scalatrace/compilers/mpi.py: CRC of the file's beginning, and its size. So a shim that
 * was built on another node, or is shipped beside the package, serves the same library wherever that lies. Libraries of
 * the MPI-5 ABI share a shim: their identity is the ABI's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front.h"

#define MAX_READ (256 * 1024) /* bytes of a library that its identity depends on */
#define SEPARATOR "\x1f"

extern char **environ;

/* -- the name -------------------------------------------------------------------------------------------- */

static bool identify(char *text, size_t size, const char *path) {
    char real[PATH_MAX];
    if (!realpath(path, real)) return false;
    const char *abi = strstr(strrchr(real, '/'), "/libmpi_abi.so.");
    if (abi) {
        snprintf(text, size, "abi%d", atoi(abi + 15));
        return true;
    }
    struct stat info;
    int file = open(real, O_RDONLY | O_CLOEXEC);
    unsigned char *data = malloc(MAX_READ);
    ssize_t n = file >= 0 && data && !fstat(file, &info) ? read(file, data, MAX_READ) : -1;
    if (n > 0) snprintf(text, size, "%08x-%llx", front_crc32(data, (size_t)n), (unsigned long long)info.st_size);
    if (file >= 0) close(file);
    free(data);
    return n > 0;
}

/* -- the file -------------------------------------------------------------------------------------------- */

/* Does a file or folder belong to this user or root, and can nobody else write to it? */
static bool is_trusted(const char *path) {
    struct stat info;
    return !lstat(path, &info) && (info.st_uid == 0 || info.st_uid == geteuid()) && !(info.st_mode & 022);
}

static bool find_file(char *path, const char *name) {
    const char *folders = getenv("SCALATRACE_SHIM_FOLDERS");
    char *all = folders ? strdup(folders) : NULL, *state = NULL;
    bool exists = false;
    for (char *word = all ? strtok_r(all, SEPARATOR, &state) : NULL; word && !exists;
         word = strtok_r(NULL, SEPARATOR, &state)) {
        bool own = *word == '!';
        int n = snprintf(path, PATH_MAX, "%s/%s", word + own, name);
        exists = n < PATH_MAX && !access(path, R_OK) && (!own || (is_trusted(word + own) && is_trusted(path)));
    }
    free(all);
    return exists;
}

/* -- building -------------------------------------------------------------------------------------------- */

static bool is_preload(const char *entry) { return !strncmp(entry, "LD_PRELOAD=", 11); }

/* Start Python with a pipe for its standard output. */
static bool start_python(pid_t *child, char *library, const int *pipe_ends) {
    char *python = getenv("SCALATRACE_PYTHON");
    char *const argv[] = {python, "-P", "-m", "scalatrace.record.shim", library, NULL};
    posix_spawn_file_actions_t files;
    size_t n = 0, kept = 0;
    while (environ[n]) n++;
    char **variables = calloc(n + 1, sizeof *variables);
    if (!python || !variables || posix_spawn_file_actions_init(&files)) {
        free(variables);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!is_preload(environ[i])) variables[kept++] = environ[i];
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDOUT_FILENO);
    int error = posix_spawn(child, python, &files, NULL, argv, variables);
    posix_spawn_file_actions_destroy(&files);
    free(variables);
    return !error;
}

/* Let Python build the shim. Ranks that need it at the same moment wait for the one that builds. Python writes
 * the reason of a failure to standard output. Return false where Python does not start. */
static bool build(const char *library) {
    char reason[4096], *path = strdup(library);
    size_t n = 0;
    int ends[2], status = 0;
    pid_t child, ended;
    ssize_t got;
    if (!path || pipe2(ends, O_CLOEXEC)) {
        free(path);
        return false;
    }
    bool started = start_python(&child, path, ends);
    close(ends[1]);
    while (started && n < sizeof reason - 1 && (got = read(ends[0], reason + n, sizeof reason - 1 - n)) != 0)
        if (got > 0)
            n += (size_t)got;
        else if (errno != EINTR)
            break;
    close(ends[0]);
    free(path);
    if (!started) return false;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
    while (n && reason[n - 1] == '\n') n--;
    reason[n] = '\0';
    if (n) front_print("nothing is recorded: %s", reason);
    return ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 127; /* posix_spawn's way to say ENOENT */
}

/* -- loading --------------------------------------------------------------------------------------------- */

/* The shim is linked to an MPI library by name. Has the dynamic linker found the one that the program uses? */
static bool is_for(void *shim, const struct front_object *mpi) {
    uintptr_t init = (uintptr_t)front_next_dlsym(shim, "PMPI_Init");
    return init >= mpi->low && init < mpi->high;
}

void *front_load_shim(const struct front_object *mpi) {
    char identity[64], name[256], path[PATH_MAX];
    const char *sources = getenv("SCALATRACE_SOURCES");
    if (!sources || !identify(identity, sizeof identity, mpi->path)) return NULL;
    snprintf(name, sizeof name, "libscalatrace_mpi-%s-%s.so", identity, sources);
    if (!find_file(path, name)) {
        const char *python = getenv("SCALATRACE_PYTHON");
        if (!build(mpi->path))
            front_print("no tracer is built for %s, and %s does not start here to build it: nothing is recorded; run "
                        "scalatrace doctor --build where it does",
                        mpi->path, python ? python : "Python");
        if (!find_file(path, name)) return NULL;
    }
    void *shim = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!shim) {
        front_print("the tracer cannot be loaded, nothing is recorded: %s", dlerror());
    } else if (!is_for(shim, mpi)) {
        front_print("the tracer %s loads another MPI library than %s: nothing is recorded", path, mpi->path);
        shim = NULL;
    }
    return shim;
}
