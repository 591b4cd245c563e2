/* events.c - append events to the core, under the core's numbers of operations. */
#include "events/events.h"

#include <stdio.h>

#include "base/state.h"
#include "events/call.h"
#include "events/values.h"
#include "ops.h"

uint64_t st_counts[ST_NOPS];

/* The core's number of an operation by its outcome, plus one; 0: not registered yet. */
static int core_numbers[ST_FAILED + 1][ST_NOPS];
static uint64_t nfailed[ST_FAILED + 1]; /* calls that returned an error, by outcome */

static int define(int op, int outcome) {
    static const char *const endings[] = {"", "", "_error", "_failed"};
    const struct st_op *schema = &st_ops[op];
    const char *names[ST_MAX_VALUES];
    int kinds[ST_MAX_VALUES], nparams = schema->nparams + (schema->has_buffers && st_shared.has_memory);
    char name[64];
    if (outcome == ST_FAILED) nparams = 0;
    for (int i = 0; i < nparams; i++) names[i] = schema->names[i], kinds[i] = schema->kinds[i];
    if (outcome != ST_SUCCEEDED) names[nparams] = "error", kinds[nparams++] = ST_STRING;
    snprintf(name, sizeof name, "%s%s", schema->name, endings[outcome]);
    int number = st_define_op(st_shared.core, name, nparams, names, kinds);
    if (number >= 0 && schema->communicates && outcome != ST_FAILED)
        st_core_check(st_set_communicating(st_shared.core, number));
    if (number >= 0 && schema->collective && outcome != ST_FAILED)
        st_core_check(st_set_collective(st_shared.core, number));
    if (number >= 0 && schema->overlaps) st_core_check(st_set_overlapping(st_shared.core, number));
    return number;
}

static int core_number(int op, int outcome) {
    int *number = &core_numbers[outcome][op];
    if (!*number) *number = 1 + define(op, outcome);
    return *number - 1;
}

void st_add_error(struct st_event *event, int error, int outcome) {
    event->values[event->nvalues++] = (int64_t)st_error_name(error);
    nfailed[outcome]++;
}

void st_append_event(struct st_event *event, int op, int outcome) {
    int number = core_number(op, outcome);
    if (number < 0) {
        st_core_check(number);
        return;
    }
    event->op = (uint32_t)number;
    st_core_check(st_core_append(st_shared.core, event));
}

void st_publish_counts(void) {
    for (int op = 0; op < ST_NOPS; op++) {
        uint64_t ncalls = __atomic_load_n(&st_counts[op], __ATOMIC_RELAXED);
        if (ncalls) st_core_check(st_set_count(st_shared.core, st_ops[op].name, ncalls));
    }
    if (nfailed[ST_WITH_ERROR]) st_core_check(st_set_count(st_shared.core, "with errors", nfailed[ST_WITH_ERROR]));
    if (nfailed[ST_FAILED]) st_core_check(st_set_count(st_shared.core, "failed", nfailed[ST_FAILED]));
}
