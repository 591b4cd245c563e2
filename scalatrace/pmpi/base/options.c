/* options.c - read the options from the environment. */
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

struct st_options st_options;

/* NULL: not set, or empty. */
static const char *text_option(const char *name) {
    const char *value = getenv(name);
    return value && *value ? strdup(value) : NULL;
}

static int number_option(const char *name, int fallback) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : fallback;
}

static enum st_stacks stacks_option(void) {
    static const char *const names[] = {"none", "auto", "python", "native",
                                        "both"}; /* in the order of enum st_stacks */
    const char *value = getenv("SCALATRACE_STACKS");
    for (int i = 0; value && i < 5; i++)
        if (!strcmp(value, names[i])) return (enum st_stacks)i;
    return ST_STACKS_AUTO;
}

void st_read_options(void) {
    const char *output = text_option("SCALATRACE_OUTPUT");
    st_options.output = output ? output : "out.st";
    st_options.flat_log = text_option("SCALATRACE_FLAT_LOG");
    st_options.meta = text_option("SCALATRACE_META");
    st_options.python = text_option("SCALATRACE_PYTHON");
    st_options.resolve = number_option("SCALATRACE_RESOLVE", 0) != 0;
    st_options.report = text_option("SCALATRACE_REPORT");
    st_options.resolve_limit = number_option("SCALATRACE_RESOLVE_LIMIT", 60);
    st_options.wait_limit = number_option("SCALATRACE_WAIT_LIMIT", 30);
    st_options.rank_limit = number_option("SCALATRACE_RANK_LIMIT", 3600);
    st_options.stacks = stacks_option();
    st_options.stack_depth = number_option("SCALATRACE_STACK_DEPTH", 32);
    st_options.checkpoint = number_option("SCALATRACE_CHECKPOINT", 0);
    st_options.queries = number_option("SCALATRACE_RECORD_QUERIES", 0) != 0;
    st_options.quiet = number_option("SCALATRACE_QUIET", 0) != 0;
    st_options.json = number_option("SCALATRACE_JSON", 0) != 0;
    st_options.compress = number_option("SCALATRACE_COMPRESS", 1) != 0;
}

void st_option_each(const char *variable, void (*use)(const char *left, const char *right)) {
    const char *value = getenv(variable);
    char *all = value ? strdup(value) : NULL, *state = NULL;
    for (char *entry = all ? strtok_r(all, "\x1f", &state) : NULL; entry; entry = strtok_r(NULL, "\x1f", &state)) {
        char *equals = strrchr(entry, '='); /* the last one: the left side may be a path that contains another */
        if (!equals) continue;
        *equals = 0;
        use(entry, equals + 1);
    }
    free(all);
}
