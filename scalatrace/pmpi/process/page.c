/* page.c - run `scalatrace report`, which page.h describes. */
#include "process/page.h"

#include <stdio.h>

#include "base/options.h"
#include "base/state.h"
#include "process/command.h"

#define LIMIT_S 300 /* of the command */

void st_page_write(const char *trace) {
    if (!st_options.report) return;
    char *const argv[] = {(char *)st_options.python, "-P", "-m", "scalatrace", "report", (char *)trace, "-o",
                          (char *)st_options.report, NULL};
    if (!st_command_run(argv, 0, LIMIT_S))
        st_warn_once("the page is not written; run scalatrace report %s -o %s", trace, st_options.report);
    else if (!st_options.quiet)
        fprintf(stderr, "scalatrace: wrote %s\n", st_options.report);
}
