/* names.c - run `scalatrace resolve`, which names.h describes. */
#define _GNU_SOURCE
#include "process/names.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/state.h"

#define NONE_FOUND 1 /* status of `scalatrace resolve` where no call site has a name */

/* Return whether the command ended well. The time limit is the command's own. A program that ignores SIGCHLD has no
 * status of its children. */
static bool run(char *const argv[]) {
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = 0;
    if (posix_spawn_file_actions_init(&files)) return false;
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&child, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error) return false;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return errno == ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) <= NONE_FOUND;
}

void st_names_store(void) {
    if (!st_options.resolver) return;
    char seconds[16], *trace = (char *)st_options.output;
    snprintf(seconds, sizeof seconds, "%d", st_options.resolve_limit);
    char *const argv[] = {(char *)st_options.resolver,
                          "-P",
                          "-m",
                          "scalatrace",
                          "resolve",
                          trace,
                          "-o",
                          trace,
                          "--time-limit",
                          seconds,
                          NULL};
    if (!run(argv))
        st_warn_once("the names of call sites are not stored; run scalatrace resolve %s", st_options.output);
}
