/* names.c - run `scalatrace resolve`, which names.h describes. */
#include "process/names.h"

#include <stdio.h>

#include "base/options.h"
#include "base/state.h"
#include "process/command.h"

#define NONE_FOUND 1 /* status of `scalatrace resolve` where no call site has a name */

void st_names_store(const char *path) {
    if (!st_options.resolve) return;
    char seconds[16], *trace = (char *)path;
    snprintf(seconds, sizeof seconds, "%d", st_options.resolve_limit);
    char *const argv[] = {(char *)st_options.python,
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
    int limit_s = st_options.resolve_limit + st_options.wait_limit; /* the command has a limit of its own */
    if (!st_command_run(argv, NONE_FOUND, limit_s))
        st_warn_once("the names of call sites are not stored; run scalatrace resolve %s", path);
}
