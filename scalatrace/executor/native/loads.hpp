/* loads.hpp - how long links are busy with the messages that are under way together.
 *
 * A message takes at least as long as its busiest link needs for the bytes of all messages on it. Messages that wait for
 * each other anyway, at the interface of their sender or receiver, count as one: then it gets their share of that time.
 */
#ifndef ST_SIM_LOADS_HPP
#define ST_SIM_LOADS_HPP

#include "network.hpp"
#include "topology.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

class LinkLoads {
  public:
    explicit LinkLoads(const Topology &topology)
        : topology_(topology), bytes_(static_cast<size_t>(topology.nlinks())) {}

    void add(int32_t from_node, int32_t to_node, double nbytes);
    /* The longest time that a link of the route is busy, ps. */
    double busy_ps(int32_t from_node, int32_t to_node);
    void clear();
    const std::vector<int32_t> &used() const { return used_; }
    double bytes(int32_t link) const { return bytes_[link]; }

  private:
    const Topology &topology_;
    std::vector<double> bytes_; /* by link */
    std::vector<int32_t> used_, route_;
};

struct PairMessage { /* between ranks: the bytes of all messages of the pair, and of each */
    int32_t from, to;
    double nbytes, own;
};

/* The least time per byte (ps) of each message; 0: its links are not shared. */
void share_links(const Network &network, const std::vector<PairMessage> &messages, float *per_byte);

/* [member][message] ps that the messages of a call take over links, in their order. */
using FlowTimes = std::vector<std::vector<int64_t>>;

/* Times that links are busy in the rounds of collective calls, kept for calls that come again. */
class RoundLoads {
  public:
    static constexpr int64_t kMaxSteps = int64_t{1} << 16;    /* of a call that are run as flows ... */
    static constexpr int64_t kMaxAllSteps = int64_t{1} << 18; /* ... and of all such calls */
    static constexpr int64_t kMaxListed = int64_t{1} << 23;   /* of a call of which some rounds are run so */

    using Times = std::vector<int64_t>; /* [member] ps of its message; one for all; empty: 0 */
    struct Key {
        const int32_t *members;
        int32_t size, algorithm, root;
        int64_t nbytes;
        bool operator<(const Key &o) const;
    };

    struct Overlap {          /* of the rounds of a call */
        int64_t nsteps = 0;   /* of its run as flows; 0: it is not run so */
        double stretch = 1;   /* of the messages of a call with more steps, since its rounds overlap */
        bool in_step = false; /* members that begin together end each round together */
        std::map<std::vector<int64_t>, FlowTimes> times; /* by when members enter, ps after the first */
        const FlowTimes *last = nullptr;
    };

    explicit RoundLoads(const Topology &topology) : loads(topology) {}

    /* A call of `node` begins. */
    void begin(const Key &key);
    /* The round's bytes, those of `loads` or of the last round, count so often in the call. */
    void count(const Key &key, double times);
    void take_loads();
    /* The bytes of all rounds of the call are counted. */
    void end_counting() { is_first_ = false; }
    /* f(link, node, bytes) for all calls; calls: executions of each node. */
    void each_use(const st_sim_sum *calls, const std::function<void(int32_t, int32_t, double)> &f) const;

    /* Times of a round; nullptr: not known. */
    const Times *find(const Key &key, int32_t round) const;
    const Times *keep(const Key &key, int32_t round, Times &&times);

    LinkLoads loads;
    int32_t node = -1; /* of the current call */
    std::map<Key, Overlap> overlaps;
    int64_t nsteps_left = kMaxAllSteps;

  private:
    std::map<Key, std::map<int32_t, int64_t>> calls_;          /* by node */
    std::map<Key, std::unordered_map<int32_t, double>> bytes_; /* of one call, by link */
    std::vector<std::pair<int32_t, double>> round_;            /* bytes of the last round */
    bool is_first_ = false;                                    /* call of its key */

    std::map<Key, std::map<int32_t, Times>> kept_;
    std::size_t nkept_ = 0;
    Times last_;
};

} // namespace sim
#endif
