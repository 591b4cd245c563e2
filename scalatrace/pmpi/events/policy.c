/* policy.c - hand the user's settings of the core to it. */
#include "events/policy.h"

#include <stdlib.h>

#include "base/options.h"
#include "base/state.h"

static void set_parameter_limit(const char *name, const char *limit) {
    st_core_check(st_set_policy(st_shared.core, name, atoi(limit)));
}

static void set_option(const char *name, const char *value) {
    st_core_check(st_set_option(st_shared.core, name, atoll(value)));
}

/* "low-high" or one number, of lines or offsets. */
static void add_site_range(const char *file, const char *lines) {
    char *end;
    unsigned long long low = strtoull(lines, &end, 0), high = *end == '-' ? strtoull(end + 1, NULL, 0) : low;
    st_core_check(st_add_site_range(st_shared.core, file, low, high));
}

void st_policy_start(void) {
    st_option_each("SCALATRACE_PARAMETERS", set_parameter_limit);
    st_option_each("SCALATRACE_CORE_OPTIONS", set_option);
    st_option_each("SCALATRACE_SITE_RANGES", add_site_range);
}
