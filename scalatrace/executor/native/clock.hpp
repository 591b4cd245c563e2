/* clock.hpp - a point in simulated time, with the parts of the longest path that leads to it. */
#ifndef ST_SIM_CLOCK_HPP
#define ST_SIM_CLOCK_HPP

#include "sums.hpp"

#include <cstdint>

namespace sim {

/* t = compute + latency + bandwidth + overheads, along the path of calls and messages that ended last. The derivative
 * of t by a factor on all latencies is `latency`, and so on: max() keeps the parts of its larger argument. No part is
 * larger than t, so only t is checked. */
struct Clock {
    int64_t t = 0; /* ps */
    int64_t compute = 0;
    int64_t latency = 0;
    int64_t bandwidth = 0;
    int64_t messages = 0; /* latencies on the path */
    int32_t rank = -1;    /* that the path came from last */

    void add_compute(int64_t ps) {
        t = plus(t, ps);
        compute += ps;
    }
    void add_overhead(int64_t ps) { t = plus(t, ps); }
    void add_latency(int64_t ps) {
        t = plus(t, ps);
        latency += ps;
        ++messages;
    }
    void add_bandwidth(int64_t ps) {
        t = plus(t, ps);
        bandwidth += ps;
    }
};

/* The first where both are equal: a rank's own clock, which needs no other rank. */
inline const Clock &later(const Clock &own, const Clock &other) { return other.t > own.t ? other : own; }

} // namespace sim
#endif
