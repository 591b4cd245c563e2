/* command.c - run a command and wait for it. */
#define _GNU_SOURCE
#include "process/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define POLL_US 5000 /* between two looks for the end of the command */

/* Return false where the process has no status. */
static bool wait_for(pid_t child, int limit_s, int *status) {
    int64_t until_ns = st_now() + limit_s * INT64_C(1000000000);
    for (pid_t ended = 0; ended != child;) {
        ended = waitpid(child, status, WNOHANG);
        if (ended < 0 && errno != EINTR) return false;
        if (ended == 0 && st_now() > until_ns) kill(child, SIGKILL);
        if (ended == 0) usleep(POLL_US);
    }
    return true;
}

bool st_command_run(char *const argv[], int most, int limit_s) {
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = 0;
    if (posix_spawn_file_actions_init(&files)) return false;
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&child, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error) return false;
    if (!wait_for(child, limit_s, &status)) return errno == ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) <= most;
}
