/* collectives.cpp - algorithms of collective operations, round by round.
 *
 * Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005);
 * Bruck et al. (1997) for alltoall and allgather; Hensgen, Finkel, Manber (1988) for the dissemination barrier.
 */
#include "collectives.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr int32_t kMaxRounds = 4096; /* rounds of all members that are simulated one by one */

struct Step { /* of one member in one round; -1: none */
    int32_t to = -1, from = -1;
    int64_t nbytes = 0; /* that it sends */
    bool reduces = false;
};

class Rounds {
  public:
    Rounds(Network &network, const int32_t *members, std::vector<Clock> &clocks)
        : network_(network), members_(members), now_(clocks), p_(static_cast<int32_t>(clocks.size())) {
        free_.resize(clocks.size());
        for (size_t i = 0; i < clocks.size(); ++i) free_[i] = clocks[i];
        int32_t highest = p_ - 1;
        for (int32_t i = 0; members_ && i < p_; ++i) highest = std::max(highest, members_[i]);
        uniform_ = network_.uniform(highest + 1);
    }

    int32_t size() const { return p_; }

    /* Run a round in which member i does step(i). Messages of a round are sent before any is received. */
    template <class F> void round(F &&step) {
        sent_.resize(now_.size());
        steps_.resize(now_.size());
        for (int32_t i = 0; i < p_; ++i) {
            const Step s = steps_[i] = step(i);
            if (s.to < 0) continue;
            const Cost &c = network_.cost(world(i), world(s.to), s.nbytes);
            Clock start = now_[i];
            start.add_overhead(c.send);
            if (!c.eager && s.to != i) { /* the receiver enters the round when it is ready for it */
                start = later(start, now_[s.to]);
                if (c.handshake) start.add_latency(c.handshake);
            }
            if (network_.platform.serializes) start = later(start, free_[i]);
            Clock &busy = sent_[i].busy;
            busy = start;
            busy.add_bandwidth(std::max(c.transfer, c.gap));
            Clock &arrival = sent_[i].arrival;
            arrival = start;
            arrival.add_latency(c.latency);
            arrival.add_bandwidth(c.transfer);
            sent_[i].recv = c.recv;
            sent_[i].send = c.send;
            sent_[i].eager = c.eager;
        }
        for (int32_t i = 0; i < p_; ++i) {
            const Step &s = steps_[i];
            if (s.to >= 0) {
                free_[i] = sent_[i].busy;
                if (sent_[i].eager)
                    now_[i].add_overhead(sent_[i].send);
                else
                    now_[i] = later(now_[i], sent_[i].arrival);
            }
        }
        for (int32_t i = 0; i < p_; ++i) {
            const Step &s = steps_[i];
            if (s.from < 0) continue;
            const Sent &m = sent_[s.from];
            now_[i] = later(now_[i], m.arrival);
            now_[i].add_overhead(m.recv);
            if (s.reduces)
                now_[i].add_compute(
                    rounded(network_.platform.reduce_per_byte * static_cast<double>(steps_[s.from].nbytes)));
        }
    }

    /* Run `n` rounds in which every member sends and receives. Once all clocks are equal on a uniform network, each
     * further round adds the same. More than kMaxRounds are not run one by one: all members then start with the last,
     * and each round takes as long as the middle one, which is an upper bound. */
    template <class F> void rounds(int32_t n, F &&step) {
        if (n > kMaxRounds) {
            synchronize();
            const Clock before = now_[0];
            round([&](int32_t i) { return step(n / 2, i); });
            const Clock after = latest();
            finish(before, after, n - 1);
            return;
        }
        for (int32_t r = 0; r < n; ++r) {
            const bool steady = uniform_ && equal();
            const Clock before = now_[0];
            round([&](int32_t i) { return step(r, i); });
            if (steady && equal()) {
                finish(before, now_[0], n - r - 1);
                return;
            }
        }
    }

    const Clock &latest() const {
        return *std::max_element(now_.begin(), now_.end(), [](const Clock &a, const Clock &b) { return a.t < b.t; });
    }

  private:
    struct Sent {
        Clock busy, arrival;
        int64_t recv = 0, send = 0;
        bool eager = true;
    };

    int32_t world(int32_t i) const { return members_ ? members_[i] : i; }
    bool equal() const {
        return std::all_of(now_.begin(), now_.end(), [&](const Clock &c) { return c.t == now_[0].t; }) &&
               std::all_of(free_.begin(), free_.end(), [&](const Clock &c) { return c.t <= now_[0].t; });
    }
    void synchronize() {
        const Clock last = latest();
        std::fill(now_.begin(), now_.end(), last);
        std::fill(free_.begin(), free_.end(), last);
    }
    /* All members end `rounds` rounds after `b`, each as long as from a to b. */
    void finish(const Clock &a, const Clock &b, int64_t rounds) {
        Clock end = b;
        end.t = extended(end.t, rounds, b.t - a.t);
        end.compute = extended(end.compute, rounds, b.compute - a.compute);
        end.latency = extended(end.latency, rounds, b.latency - a.latency);
        end.bandwidth = extended(end.bandwidth, rounds, b.bandwidth - a.bandwidth);
        end.messages += rounds * (b.messages - a.messages);
        std::fill(now_.begin(), now_.end(), end);
        std::fill(free_.begin(), free_.end(), end);
    }

    Network &network_;
    const int32_t *members_;
    std::vector<Clock> &now_;
    int32_t p_;
    bool uniform_;
    std::vector<Clock> free_; /* when each member's interface is free */
    std::vector<Sent> sent_;
    std::vector<Step> steps_;
};

int32_t power_below(int32_t p) { /* the largest power of two that is at most p */
    int32_t n = 1;
    while (n <= p / 2) n *= 2;
    return n;
}

/* Ranks beyond the largest power of two give their part to a neighbour, and get the result from it. */
class Folded {
  public:
    Folded(Rounds &r) : r_(r), half_(power_below(r.size())), rest_(r.size() - half_) {}

    int32_t size() const { return half_; }
    int32_t member(int32_t f) const { return f < rest_ ? 2 * f + 1 : f + rest_; }
    int32_t index(int32_t i) const { return i < 2 * rest_ ? (i % 2 ? i / 2 : -1) : i - rest_; }

    void in(int64_t nbytes, bool reduces = true) {
        if (rest_) r_.round([&](int32_t i) { return pair(i, nbytes, 0, reduces); });
    }
    void out(int64_t nbytes) {
        if (rest_) r_.round([&](int32_t i) { return pair(i, nbytes, 1, false); });
    }
    /* Exchange with the member whose index differs in a bit. */
    void exchange(int32_t mask, int64_t nbytes, bool reduces) {
        r_.round([&](int32_t i) {
            const int32_t f = index(i);
            if (f < 0) return Step{};
            const int32_t other = member(f ^ mask);
            return Step{other, other, nbytes, reduces};
        });
    }

  private:
    Step pair(int32_t i, int64_t nbytes, int32_t sender, bool reduces) const {
        if (i >= 2 * rest_) return {};
        return i % 2 == sender ? Step{i ^ 1, -1, nbytes, false} : Step{-1, i ^ 1, 0, reduces};
    }

    Rounds &r_;
    int32_t half_, rest_;
};

int64_t part(int64_t nbytes, int64_t p) { return nbytes / p + (nbytes % p != 0); }

void dissemination(Rounds &r) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; k *= 2) r.round([&](int32_t i) { return Step{(i + k) % p, (i + p - k) % p, 0, false}; });
}

/* From the root to all; `blocks`: a member gets what its subtree needs, else the whole. */
void down(Rounds &r, int32_t root, int64_t nbytes, bool blocks) {
    const int32_t p = r.size();
    for (int32_t mask = power_below(p) < p ? power_below(p) : p / 2; mask > 0; mask /= 2)
        r.round([&](int32_t i) {
            const int32_t v = (i + p - root) % p;
            const int32_t low = v % (2 * mask);
            if (low == 0 && v + mask < p)
                return Step{(v + mask + root) % p, -1, blocks ? product(nbytes, std::min(mask, p - v - mask)) : nbytes,
                            false};
            if (low == mask) return Step{-1, (v - mask + root) % p, 0, false};
            return Step{};
        });
}

void up(Rounds &r, int32_t root, int64_t nbytes, bool blocks) {
    const int32_t p = r.size();
    for (int32_t mask = 1; mask < p; mask *= 2)
        r.round([&](int32_t i) {
            const int32_t v = (i + p - root) % p;
            const int32_t low = v % (2 * mask);
            if (low == mask)
                return Step{(v - mask + root) % p, -1, blocks ? product(nbytes, std::min(mask, p - v)) : nbytes, false};
            if (low == 0 && v + mask < p) return Step{-1, (v + mask + root) % p, 0, !blocks};
            return Step{};
        });
}

void from_root(Rounds &r, int32_t root, int64_t nbytes) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; ++k)
        r.round([&](int32_t i) {
            const int32_t other = (root + k) % p;
            return i == root ? Step{other, -1, nbytes, false} : i == other ? Step{-1, root, 0, false} : Step{};
        });
}

void to_root(Rounds &r, int32_t root, int64_t nbytes, bool reduces) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; ++k)
        r.round([&](int32_t i) {
            const int32_t other = (root + k) % p;
            return i == root ? Step{-1, other, 0, reduces} : i == other ? Step{root, -1, nbytes, false} : Step{};
        });
}

void ring(Rounds &r, int64_t nbytes, bool reduces) {
    const int32_t p = r.size();
    r.rounds(p - 1, [&](int32_t, int32_t i) { return Step{(i + 1) % p, (i + p - 1) % p, nbytes, reduces}; });
}

void pairwise(Rounds &r, int64_t nbytes, bool reduces) {
    const int32_t p = r.size();
    const bool power = power_below(p) == p;
    r.rounds(p - 1, [&](int32_t k, int32_t i) {
        const int32_t d = k + 1;
        return power ? Step{i ^ d, i ^ d, nbytes, reduces} : Step{(i + d) % p, (i + p - d) % p, nbytes, reduces};
    });
}

void bruck(Rounds &r, int64_t nbytes, bool alltoall) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; k *= 2) {
        int64_t blocks = std::min(k, p - k);
        if (alltoall) { /* blocks whose distance has this bit */
            blocks = p / (2 * k) * k + std::max(0, p % (2 * k) - k);
        }
        r.round([&](int32_t i) { return Step{(i + p - k) % p, (i + k) % p, product(nbytes, blocks), false}; });
    }
}

void doubling(Rounds &r, int64_t nbytes, bool reduces, bool growing) {
    Folded f(r);
    f.in(nbytes, reduces);
    int64_t n = nbytes;
    for (int32_t mask = 1; mask < f.size(); mask *= 2) {
        f.exchange(mask, n, reduces);
        n = growing ? product(n, 2) : n;
    }
    f.out(growing ? product(nbytes, r.size()) : nbytes);
}

void halving(Folded &f, int64_t nbytes) {
    int64_t n = nbytes;
    for (int32_t mask = f.size() / 2; mask > 0; mask /= 2) f.exchange(mask, n = part(n, 2), true);
}

void rabenseifner_allreduce(Rounds &r, int64_t nbytes) {
    Folded f(r);
    f.in(nbytes);
    halving(f, nbytes);
    for (int32_t mask = 1; mask < f.size(); mask *= 2) f.exchange(mask, part(nbytes, f.size() / mask), false);
    f.out(nbytes);
}

void rabenseifner_reduce(Rounds &r, int32_t root, int64_t nbytes) {
    Folded f(r);
    f.in(nbytes);
    halving(f, nbytes);
    const int32_t at = std::max(f.index(root), 0); /* a root without part gets the result at last */
    for (int32_t mask = 1; mask < f.size(); mask *= 2)
        r.round([&](int32_t i) {
            const int32_t own = f.index(i);
            if (own < 0) return Step{};
            const int32_t v = own ^ at, low = v % (2 * mask);
            if (low == mask) return Step{f.member(own ^ mask), -1, part(nbytes, f.size() / mask), false};
            return low == 0 ? Step{-1, f.member(own ^ mask), 0, false} : Step{};
        });
    if (f.index(root) < 0)
        r.round([&](int32_t i) {
            const int32_t from = f.member(at);
            return i == from ? Step{root, -1, nbytes, false} : i == root ? Step{-1, from, 0, false} : Step{};
        });
}

void chain(Rounds &r, int32_t root, int64_t nbytes, bool reduces) {
    const int32_t p = r.size();
    for (int32_t k = 0; k + 1 < p; ++k)
        r.round([&](int32_t i) {
            const int32_t v = (i + p - root) % p;
            return v == k       ? Step{(i + 1) % p, -1, nbytes, false}
                   : v == k + 1 ? Step{-1, (i + p - 1) % p, 0, reduces}
                                : Step{};
        });
}

void scan(Rounds &r, int64_t nbytes) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; k *= 2)
        r.round([&](int32_t i) {
            const int32_t other = i ^ k;
            return other < p ? Step{other, other, nbytes, true} : Step{};
        });
}

void scatter_allgather(Rounds &r, int32_t root, int64_t nbytes) {
    down(r, root, part(nbytes, r.size()), true);
    ring(r, part(nbytes, r.size()), false);
}

int32_t chosen(const st_sim_platform &p, const Call &call, int32_t size) {
    for (int32_t i = 0; i < p.nrules; ++i) {
        const st_sim_rule &rule = p.rules[i];
        if (rule.collective == call.collective && (rule.max_bytes < 0 || call.nbytes <= rule.max_bytes) &&
            (rule.max_ranks < 0 || size <= rule.max_ranks))
            return rule.algorithm;
    }
    return kLinear;
}

} // namespace

void run_algorithm(Network &network, const Call &call, int32_t algorithm, const int32_t *members,
                   std::vector<Clock> &clocks) {
    if (clocks.size() < 2) return;
    Rounds r(network, members, clocks);
    const int32_t p = r.size(), root = call.root;
    const int64_t n = call.nbytes;
    switch (call.collective) {
    case ST_SIM_BARRIER:
        if (algorithm == kDissemination)
            dissemination(r);
        else if (algorithm == kRecursiveDoubling)
            doubling(r, 0, false, false);
        else if (algorithm == kTree)
            up(r, 0, 0, true), down(r, 0, 0, true);
        else
            to_root(r, 0, 0, false), from_root(r, 0, 0);
        break;
    case ST_SIM_BCAST:
        if (algorithm == kBinomial)
            down(r, root, n, false);
        else if (algorithm == kScatterAllgather)
            scatter_allgather(r, root, n);
        else if (algorithm == kChain)
            chain(r, root, n, false);
        else
            from_root(r, root, n);
        break;
    case ST_SIM_REDUCE:
        if (algorithm == kBinomial)
            up(r, root, n, false);
        else if (algorithm == kRabenseifner)
            rabenseifner_reduce(r, root, n);
        else
            to_root(r, root, n, true);
        break;
    case ST_SIM_ALLREDUCE:
        if (algorithm == kRecursiveDoubling)
            doubling(r, n, true, false);
        else if (algorithm == kRabenseifner)
            rabenseifner_allreduce(r, n);
        else if (algorithm == kRing)
            ring(r, part(n, p), true), ring(r, part(n, p), false);
        else
            up(r, 0, n, false), down(r, 0, n, false);
        break;
    case ST_SIM_GATHER:
        algorithm == kBinomial ? up(r, root, n, true) : to_root(r, root, n, false);
        break;
    case ST_SIM_SCATTER:
        algorithm == kBinomial ? down(r, root, n, true) : from_root(r, root, n);
        break;
    case ST_SIM_ALLGATHER:
        if (algorithm == kRecursiveDoubling)
            power_below(p) == p ? doubling(r, n, false, true) : bruck(r, n, false);
        else if (algorithm == kRing)
            ring(r, n, false);
        else if (algorithm == kBruck)
            bruck(r, n, false);
        else
            up(r, 0, n, true), down(r, 0, product(n, p), false);
        break;
    case ST_SIM_ALLTOALL:
        algorithm == kBruck ? bruck(r, n, true) : pairwise(r, n, false);
        break;
    case ST_SIM_REDUCE_SCATTER:
        if (algorithm == kRecursiveHalving) {
            Folded f(r);
            f.in(product(n, p));
            halving(f, product(n, p));
            f.out(n);
        } else if (algorithm == kPairwise) {
            pairwise(r, n, true);
        } else {
            up(r, 0, product(n, p), false), down(r, 0, n, true);
        }
        break;
    default:
        algorithm == kRecursiveDoubling ? scan(r, n) : chain(r, 0, n, true);
    }
}

void run_collective(Network &network, const Call &call, const int32_t *members, std::vector<Clock> &clocks) {
    const auto size = static_cast<int32_t>(clocks.size());
    run_algorithm(network, call, chosen(network.platform, call, size), members, clocks);
}

} // namespace sim
