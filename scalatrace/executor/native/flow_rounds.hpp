/* flow_rounds.hpp - a collective call whose messages are flows: each member goes through the rounds by itself.
 *
 * Collective calls of the engine are run so if all messages are flows. Where links are shared by loads, such a run of one
 * call gives the times of its messages (flow_times), if its rounds overlap.
 */
#ifndef ST_SIM_FLOW_ROUNDS_HPP
#define ST_SIM_FLOW_ROUNDS_HPP

#include "clock.hpp"
#include "collectives.hpp"
#include "path.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace sim {

struct RoundCall {                            /* under way */
    using From = std::pair<int32_t, int32_t>; /* round and sender */

    struct Member {
        bool entered = false; /* the call */
        size_t begun = 0;     /* steps */
        int32_t nsending = 0; /* messages for whose end it waits */
        size_t nexpected = 0; /* messages of the round that it has begun */
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
    int64_t reply = 0;    /* ps: latency of an acknowledgement */
    RoundCall *call = nullptr;
    RoundCall::From from;
    int32_t to = -1; /* member */
};

struct RoundMessage {
    int64_t nbytes, alone_ps;
};

class FlowRounds {
  public:
    using Start = std::function<void(const FlowOwner &, const RoundMessage &)>; /* of a flow */
    using Leave = std::function<void(RoundCall &, int32_t)>;                    /* member */

    /* draws: durations of messages are drawn, if those of the network are. */
    FlowRounds(Network &network, bool draws, Start start, Leave leave)
        : network_(network), draws_(draws), start_(std::move(start)), leave_(std::move(leave)) {}

    /* A member, whose steps and clock are set, enters its call. */
    void enter(RoundCall &call, int32_t i);
    /* The flow of a message of a call has ended. */
    void arrive(const FlowOwner &owner, const Clock &at);

  private:
    void run();
    void run_steps(RoundCall &call, int32_t i);
    bool receive_round(RoundCall &call, int32_t i);
    void begin_step(RoundCall &call, int32_t i, const st_sim_step &step);
    void send_part(RoundCall &call, int32_t i, int32_t to, int32_t round, int64_t nbytes, Clock start, bool waits);
    void arrive(RoundCall &call, int32_t to, const RoundCall::From &from, const Clock &at, bool sends);

    Network &network_;
    bool draws_;
    Start start_;
    Leave leave_;
    std::deque<std::pair<RoundCall *, int32_t>> waiting_; /* members that may go on */
};

/* Links of flows are those of the topology, then up and down those of the ranks' interfaces, if these are limited. */
int32_t nflow_links(const Network &network, int32_t nranks);
double flow_per_byte(const Network &network, int32_t link);
void find_flow_links(const Network &network, int32_t from, int32_t to, std::vector<int32_t> &links);

/* Run one call, which the members enter at these times, ps. Empty: it has more than `most` steps. */
FlowTimes flow_times(Network &network, const RoundLoads::Key &key, const std::vector<int64_t> &entries, int64_t most);

/* How long some successive rounds of a call take, which all members begin at the same time. */
int64_t flow_rounds_ps(Network &network, const RoundLoads::Key &key, int32_t first, int32_t end);

} // namespace sim
#endif
