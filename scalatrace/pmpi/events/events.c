/* events.c - append events to the core, under the core's numbers of operations. */
#include "events/events.h"

#include "base/state.h"
#include "ops.h"

uint64_t st_counts[ST_NOPS];

static int core_numbers[ST_NOPS]; /* the core's number of an operation, plus one; 0: not registered yet */

static int core_number(int op) {
    const struct st_op *schema = &st_ops[op];
    if (!core_numbers[op]) {
        int nparams = schema->nparams + (schema->has_buffers && st_shared.has_memory);
        int number = st_define_op(st_shared.core, schema->name, nparams, schema->names, schema->kinds);
        if (number >= 0 && schema->communicates) st_core_check(st_set_communicating(st_shared.core, number));
        if (number >= 0 && schema->collective) st_core_check(st_set_collective(st_shared.core, number));
        core_numbers[op] = 1 + number;
    }
    return core_numbers[op] - 1;
}

void st_append_event(struct st_event *event, int op) {
    int number = core_number(op);
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
}
