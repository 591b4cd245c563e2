/* network.hpp - costs of messages by size and place of the two ranks (LogGOPS). */
#ifndef ST_SIM_NETWORK_HPP
#define ST_SIM_NETWORK_HPP

#include "random.hpp"
#include "st_sim.h"
#include "sums.hpp"
#include "topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace sim {

/* Of one message, in ps. */
struct Cost {
    int64_t nbytes = -1;
    int64_t send = 0; /* overhead of the sender */
    int64_t recv = 0; /* overhead of the receiver */
    int64_t latency = 0;
    int64_t transfer = 0; /* n G */
    int64_t gap = 0;      /* the interface is busy at least so long */
    bool eager = true;
    int64_t handshake = 0;
    const st_sim_segment *segment = nullptr;
};

/* Costs of messages between nodes, or within one. Sizes repeat, so the last ones are kept. */
class MessageCosts {
  public:
    explicit MessageCosts(const st_sim_network &n) : n_(n) {}

    const Cost &cost(int64_t nbytes) {
        Cost &kept = kept_[static_cast<uint64_t>(nbytes) * 0x9E3779B97F4A7C15ull >> 58];
        if (kept.nbytes != nbytes) kept = computed(nbytes);
        return kept;
    }

  private:
    Cost computed(int64_t nbytes) const {
        const st_sim_segment *s = n_.segments;
        for (int32_t i = 1; i < n_.nsegments && n_.segments[i].from_bytes <= nbytes; ++i) s = n_.segments + i;
        const double n = static_cast<double>(nbytes);
        Cost c;
        c.nbytes = nbytes;
        c.send = rounded(s->send_overhead + n * s->send_per_byte);
        c.recv = rounded(s->recv_overhead + n * s->recv_per_byte);
        c.latency = rounded(s->latency);
        c.transfer = rounded(n * s->per_byte);
        c.gap = rounded(s->gap);
        c.eager = n_.rendezvous_above < 0 || nbytes <= n_.rendezvous_above;
        c.handshake = rounded(n_.rendezvous_latency);
        c.segment = s;
        return c;
    }

    st_sim_network n_;
    std::array<Cost, 64> kept_;
};

/* All messages of a platform. */
class Network {
  public:
    explicit Network(const st_sim_platform &p)
        : platform(p), between_(p.network), within_(p.has_memory ? p.memory : p.network),
          topology_(p.links ? &p.links->topology : nullptr) {}

    const Cost &cost(int32_t from, int32_t to, int64_t nbytes) {
        return same_node(from, to) ? within_.cost(nbytes) : between_.cost(nbytes);
    }
    /* The cost of a message that is sent now. Where durations are drawn, one of its segment's factors lengthens the whole
     * message. Overheads stay, so latency and transfer take the difference; they keep kLeastFactor. Valid until the next message. */
    const Cost &message(int32_t from, int32_t to, int64_t nbytes) {
        const Cost &c = cost(from, to, nbytes);
        const int32_t nfactors = platform.noisy ? c.segment->nfactors : 0;
        const double in_network = static_cast<double>(c.latency) + static_cast<double>(c.transfer);
        if (!nfactors || in_network <= 0) return c;
        const double overheads = static_cast<double>(c.send) + static_cast<double>(c.recv);
        const double excess = c.segment->factors[static_cast<int32_t>(draw() * nfactors)] - 1;
        const double factor = std::max(1 + excess * (in_network + overheads) / in_network, kLeastFactor);
        drawn_ = c;
        drawn_.latency = rounded(factor * static_cast<double>(c.latency));
        drawn_.transfer = rounded(factor * static_cast<double>(c.transfer));
        return drawn_;
    }
    int64_t least_latency(int32_t from, int32_t to) {
        const int64_t latency = cost(from, to, 0).latency;
        return platform.noisy ? rounded(kLeastFactor * static_cast<double>(latency)) : latency;
    }
    /* What the route between two ranks adds to the latency. */
    int64_t route_latency(int32_t from, int32_t to) const {
        return topology_ ? topology_->latency_ps(node_of(from), node_of(to)) : 0;
    }
    /* Whether a message goes over links of the topology. */
    bool uses_links(int32_t from, int32_t to, int64_t nbytes) const {
        return topology_ && nbytes > 0 && from != to && node_of(from) != node_of(to);
    }
    /* Whether messages of one size cost the same between any two ranks below `nranks`. */
    bool uniform(int32_t nranks) const {
        return !topology_ &&
               (!platform.has_memory ||
                (!platform.node_of &&
                 (platform.ranks_per_node == 0 || nranks <= platform.ranks_per_node || platform.ranks_per_node == 1)));
    }
    /* nullptr: no links are shared. */
    const Topology *topology() const { return topology_; }
    int32_t node_of(int32_t rank) const {
        if (platform.node_of) return platform.node_of[rank];
        return platform.ranks_per_node ? rank / platform.ranks_per_node : 0;
    }

    const st_sim_platform &platform;

  private:
    static constexpr double kLeastFactor = 0.25;

    double draw() { return unit(mixed(platform.noise_seed) + draws_++); }
    bool same_node(int32_t a, int32_t b) const {
        if (platform.node_of) return platform.node_of[a] == platform.node_of[b];
        const int32_t n = platform.ranks_per_node;
        return n == 0 || (n > 1 && a / n == b / n);
    }

    MessageCosts between_, within_;
    const Topology *topology_;
    uint64_t draws_ = 0;
    Cost drawn_;
};

} // namespace sim
#endif
