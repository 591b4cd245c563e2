/* frames.c - register stack signatures in the core, and select them. */
#include "stacks/frames.h"

#include "base/lock.h"
#include "base/state.h"
#include "events/selection.h"

uint64_t st_define_frames(const char *const *frames, size_t n) {
    st_lock();
    uint64_t name = st_define_signature(st_shared.core, frames, n);
    if (ST_SELECTING) st_site_defined(name, frames, n);
    st_unlock();
    return name;
}
