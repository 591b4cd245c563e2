/* stack.c - choose the kind of stack signature. */
#include "stacks/stack.h"

#include "base/options.h"
#include "stacks/frames.h"
#include "stacks/stack_native.h"
#include "stacks/stack_python.h"

void st_stack_start(void) {
    st_stack_native_start();
    st_python_alive();
}

static enum st_stacks kind_here(void) {
    if (st_options.stacks != ST_STACKS_AUTO) return st_options.stacks;
    return st_python_alive() ? ST_STACKS_PYTHON : ST_STACKS_NATIVE;
}

/* The native frames that the interpreter called, then the Python frames. */
static uint64_t both(const struct st_call *call) {
    uint64_t native = st_stack_native(call->caller, call->slot, st_options.stack_depth);
    uint64_t python = 0;
    if (st_python_thread()) st_stack_python(st_options.stack_depth, call->caller, &python);
    return st_join_frames(native, python, st_options.stack_depth);
}

/* A thread without Python code, or without the GIL, gets its native stack, also where Python stacks are asked for. */
uint64_t st_stack(const struct st_call *call) {
    enum st_stacks kind = kind_here();
    if (kind == ST_STACKS_BOTH) return both(call);
    if (kind == ST_STACKS_NONE || (kind == ST_STACKS_PYTHON && !st_python_alive())) return 0;
    uint64_t name = 0;
    if (kind == ST_STACKS_PYTHON && st_python_thread() && st_stack_python(st_options.stack_depth, call->caller, &name))
        return name;
    return st_stack_native(call->caller, call->slot, st_options.stack_depth);
}
