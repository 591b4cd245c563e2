/* policy.c - what the user asked to be recorded otherwise than in full, told to the core before the first event. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

/* Call `take` for each of the entries "left=right" that a variable holds, separated by unit separators. */
void st_each_entry(const char *variable, void (*take)(const char *left, const char *right)) {
    const char *value = getenv(variable);
    char *all = value ? strdup(value) : NULL, *state = NULL;
    for (char *entry = all ? strtok_r(all, "\x1f", &state) : NULL; entry; entry = strtok_r(NULL, "\x1f", &state)) {
        char *equals = strrchr(entry, '=');
        if (!equals) continue;
        *equals = 0;
        take(entry, equals + 1);
    }
    free(all);
}

static void take_parameter(const char *name, const char *limit) {
    st_core_check(st_set_policy(st_shared.core, name, atoi(limit)));
}

static void take_option(const char *name, const char *value) {
    st_core_check(st_set_option(st_shared.core, name, atoll(value)));
}

static void take_range(const char *file, const char *lines) {
    char *end;
    unsigned long long low = strtoull(lines, &end, 0), high = *end == '-' ? strtoull(end + 1, NULL, 0) : low;
    st_core_check(st_add_site_range(st_shared.core, file, low, high));
}

void st_policy_start(void) {
    st_each_entry("SCALATRACE_PARAMETERS", take_parameter);
    st_each_entry("SCALATRACE_CORE_OPTIONS", take_option);
    st_each_entry("SCALATRACE_SITE_RANGES", take_range);
}
