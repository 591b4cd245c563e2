/* stack.c - which stack of a call is taken. */
#include "shim.h"

uint64_t st_stack(struct st_call *call) {
    int stacks = st_options_stacks();
    if (stacks == ST_STACKS_PYTHON && !st_python_alive()) return 0;
    if (stacks == ST_STACKS_PYTHON && st_python_thread()) return st_stack_python(st_options.stack_depth);
    if (stacks != ST_STACKS_NONE) return st_stack_native(call->caller, call->slot, st_options.stack_depth);
    return 0;
}

uint64_t st_define_frames(const char *const *frames, size_t n) {
    st_lock();
    uint64_t name = st_define_signature(st_shared.core, frames, n);
    if (ST_SELECTING) st_site_defined(name, frames, n);
    st_unlock();
    return name;
}
