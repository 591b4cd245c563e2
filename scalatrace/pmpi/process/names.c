/* names.c - run `scalatrace resolve`, which names.h describes. */
#define _GNU_SOURCE
#include "process/names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/state.h"

#define POLL_US 5000 /* between two looks for the end of the command */
#define NONE_FOUND 1 /* status of `scalatrace resolve` where no call site has a name */

/* Wait for the end of a process, and kill it some time after its own limit. Return false where it has no status. */
static bool wait_for(pid_t child, int *status) {
    int64_t until_ns = st_now() + (st_options.resolve_limit + st_options.wait_limit) * INT64_C(1000000000);
    for (pid_t ended = 0; ended != child;) {
        ended = waitpid(child, status, WNOHANG);
        if (ended < 0 && errno != EINTR) return false;
        if (ended == 0 && st_now() > until_ns) kill(child, SIGKILL);
        if (ended == 0) usleep(POLL_US);
    }
    return true;
}

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
    if (!wait_for(child, &status)) return errno == ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) <= NONE_FOUND;
}

void st_names_store(const char *path) {
    if (!st_options.resolver) return;
    char seconds[16], *trace = (char *)path;
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
    if (!run(argv)) st_warn_once("the names of call sites are not stored; run scalatrace resolve %s", path);
}
