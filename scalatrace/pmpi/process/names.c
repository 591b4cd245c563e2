/* names.c - run `scalatrace resolve`, which names.h describes. */
#include "process/names.h"

#include <stdio.h>

#include "base/options.h"
#include "base/state.h"
#include "process/command.h"

#define NONE_FOUND 1 /* status of `scalatrace resolve` where no call site has a name */

void st_names_store(void) {
    if (!st_options.resolve) return;
    char seconds[16], *trace = (char *)st_options.output;
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
    if (!st_command_run(argv, NONE_FOUND))
        st_warn_once("the names of call sites are not stored; run scalatrace resolve %s", st_options.output);
}
