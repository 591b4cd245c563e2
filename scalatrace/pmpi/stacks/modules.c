/* modules.c - the modules of native frames, described in modules.h. */
#define _GNU_SOURCE
#include "stacks/modules.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/state.h"

#define MAX_MODULES 256 /* more are not remembered */

static uintptr_t seen[MAX_MODULES]; /* first addresses */
static char *lines[MAX_MODULES];
static int nmodules;

void st_module_seen(const struct st_module *module) {
    for (int i = 0; i < nmodules; i++)
        if (seen[i] == module->low) return;
    if (nmodules == MAX_MODULES) return;
    char program[PATH_MAX] = "", *absolute = NULL;
    const char *path = module->is_program ? program : module->path;
    if (path == program && readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return;
    if (*path != '/') path = absolute = realpath(path, NULL);
    if (path && !strchr(path, '\n')) {
        size_t n = strlen(path) + sizeof module->build_id + 3;
        char *line = malloc(n);
        if (line) {
            snprintf(line, n, "%s %s\n", *module->build_id ? module->build_id : "-", path);
            seen[nmodules] = module->low, lines[nmodules++] = line;
        }
    }
    free(absolute);
}

void st_modules_publish(void) {
    size_t n = 1;
    for (int i = 0; i < nmodules; i++) n += strlen(lines[i]);
    char *all = nmodules ? malloc(n) : NULL;
    if (!all) return;
    *all = 0;
    for (int i = 0; i < nmodules; i++) strcat(all, lines[i]);
    st_core_check(st_set_meta(st_shared.core, "modules", all));
    free(all);
}
