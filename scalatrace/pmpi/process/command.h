/* command.h - run a command of scalatrace from within the program, after the trace is written. */
#ifndef ST_COMMAND_H
#define ST_COMMAND_H

#include <stdbool.h>

/* Run a program without input, its output dropped, and wait for its end; kill it after `limit_s` seconds. Return whether
 * its exit status is at most `most`. A program that ignores SIGCHLD has no status of its children, which counts as
 * well. */
bool st_command_run(char *const argv[], int most, int limit_s);

#endif
