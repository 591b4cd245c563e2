/* path.cpp - see path.hpp. */
#include "path.hpp"

#include "st_sim.h"

#include <algorithm>

namespace sim {

void PathFinder::hop(int32_t rank, int64_t call, const Origin &origin) {
    std::vector<Hop> &hops = hops_[rank];
    if (!hops.empty() && hops.back().call == call)
        hops.back().origin = origin;
    else
        hops.push_back({call, origin});
}

void PathFinder::trace_back(int32_t rank, int64_t calls) {
    Origin at{rank, calls, INT64_MAX};
    for (;;) {
        std::vector<Hop> &hops = hops_[at.rank];
        /* A call sends and posts before it waits, so the path entered the rank in an earlier call. */
        auto hop = std::lower_bound(hops.begin(), hops.end(), at.call,
                                    [](const Hop &h, int64_t call) { return h.call < call; });
        if (hop == hops.begin()) {
            stretches_[at.rank].push_back({-1, at.call, 0, at.at});
            break;
        }
        --hop;
        stretches_[at.rank].push_back({hop->call, at.call, hop->origin.at, at.at});
        const Origin next = hop->origin;
        hops.erase(hop, hops.end()); /* the path only goes back in time */
        at = next;
    }
    found_ = true;
    for (auto &hops : hops_) std::vector<Hop>().swap(hops);
}

void PathFinder::write_causes(const int64_t *at, int64_t *causes) const {
    for (size_t rank = 0; rank < hops_.size(); ++rank) {
        for (const Hop &hop : hops_[rank]) {
            const int64_t place = at[rank] + hop.call;
            if (place >= at[rank + 1]) break;
            causes[4 * place + 1] = hop.origin.rank;
            causes[4 * place + 2] = hop.origin.call;
            causes[4 * place + 3] = hop.origin.at;
        }
    }
}

void PathFinder::add(int32_t rank, int64_t call, int32_t node, int64_t began, int64_t computed, int64_t ended,
                     int64_t *by_node) {
    std::vector<Stretch> &stretches = stretches_[rank];
    while (!stretches.empty() && stretches.back().last < call) stretches.pop_back();
    if (stretches.empty()) return;
    int64_t *parts = by_node + static_cast<int64_t>(node) * ST_SIM_PARTS;
    /* One stretch may end in a call before it waits, and the next one begin with that wait. */
    for (size_t i = stretches.size(); i-- > 0 && stretches[i].first <= call;) {
        const Stretch &s = stretches[i];
        if (call == s.first) {
            parts[ST_SIM_TRANSFER] += ended - s.from;
        } else {
            const int64_t until = call == s.last ? std::min(s.until, ended) : ended;
            parts[ST_SIM_COMPUTE] += std::min(computed, until) - began;
            parts[ST_SIM_TRANSFER] += until - std::min(computed, until);
        }
        if (call < s.last) break;
    }
}

} // namespace sim
