/* page.c - run `scalatrace report`, which page.h describes. */
#include "process/page.h"

#include <stdio.h>

#include "base/options.h"
#include "base/state.h"
#include "process/command.h"

void st_page_write(void) {
    if (!st_options.report) return;
    char *const argv[] = {
        (char *)st_options.python, "-P", "-m", "scalatrace", "report", (char *)st_options.output, "-o",
        (char *)st_options.report, NULL};
    if (!st_command_run(argv, 0))
        st_warn_once("the page is not written; run scalatrace report %s -o %s", st_options.output, st_options.report);
    else if (!st_options.quiet)
        fprintf(stderr, "scalatrace: wrote %s\n", st_options.report);
}
