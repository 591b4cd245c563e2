/* program.hpp - nodes and fields as the engine reads them. */
#ifndef ST_SIM_PROGRAM_HPP
#define ST_SIM_PROGRAM_HPP

#include "st_sim.h"

#include <stdexcept>
#include <string>

namespace sim {

/* An error of the trace: the node at which it was found, and why. */
struct TraceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_short_vector(int32_t rank) {
    throw TraceError("a value vector ends before its node on rank " + std::to_string(rank));
}

/* The value of a field in the `count`-th execution of its node by a rank. */
inline int64_t value_of(const st_sim_field &f, int32_t rank, uint32_t count, int32_t nranks) {
    int64_t v;
    if (f.kind == ST_SIM_CONSTANT) {
        v = f.value;
    } else if (f.kind == ST_SIM_PER_RANK) {
        v = f.values[rank];
    } else {
        const int32_t c = f.class_of[rank];
        if (c < 0) return 0;
        const int64_t start = f.offsets[c], length = f.offsets[c + 1] - start;
        if (f.kind == ST_SIM_CYCLIC)
            count %= static_cast<uint32_t>(length);
        else if (length != 1 && count >= length)
            throw_short_vector(rank);
        v = f.pool[length == 1 ? start : start + count];
    }
    if (f.encoding == ST_SIM_AS_IS || v < ST_SIM_SPECIAL_MAX) return v;
    if (f.encoding == ST_SIM_RELATIVE) return v + rank;
    if (f.encoding == ST_SIM_XOR) return v ^ rank;
    const int64_t peer = (v + rank) % nranks;
    return peer < 0 ? peer + nranks : peer;
}

/* Messages match those of the same channel. */
inline int32_t channel_of(int64_t family, const st_sim_node &node) {
    return static_cast<int32_t>(2 * family + (node.flags & ST_SIM_PARTITIONED ? 1 : 0));
}

inline bool varies(const st_sim_field &f) { return f.kind >= ST_SIM_VARYING; }

} // namespace sim
#endif
