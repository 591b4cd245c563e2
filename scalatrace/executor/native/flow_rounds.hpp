/* flow_rounds.hpp - a collective call whose messages are flows: each member goes through the rounds by itself. */
#ifndef ST_SIM_FLOW_ROUNDS_HPP
#define ST_SIM_FLOW_ROUNDS_HPP

#include "clock.hpp"
#include "collectives.hpp"
#include "path.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sim {

struct RoundCall {
    using From = std::pair<int32_t, int32_t>; /* round and sender */

    struct Member {
        bool entered = false, begun = false; /* the call; the step `at` */
        bool sends = false;                  /* it waits for the end of its message */
        std::vector<st_sim_step> steps;
        size_t at = 0;
        Clock clock, step; /* now, and when the step began */
        int32_t request = -1;
        Origin origin;
        std::map<From, Clock> arrived; /* messages for it */
        std::map<From, Clock> offered; /* senders that wait until it begins their round */
    };

    Call call{};
    int32_t algorithm = -1;
    const int32_t *ranks = nullptr; /* world ranks of the members, or NULL */
    std::vector<Member> members;
    std::map<int32_t, int32_t> positions; /* of the requests' owners, where paths are followed */
    int32_t nleft = 0;                    /* members that have not left */
    int64_t last = 0;                     /* entry so far */

    int32_t world(int32_t i) const { return ranks ? ranks[i] : i; }
};

/* Whom the end of a flow concerns. */
struct FlowOwner {
    Clock start;
    int32_t dest = -1;    /* rank */
    int32_t message = -1; /* that no receive has matched */
    int32_t request = -1; /* its receive */
    int32_t send = -1;    /* request of the sender, if it waits */
    RoundCall *call = nullptr;
    RoundCall::From from;
    int32_t to = -1; /* member */
};

} // namespace sim
#endif
