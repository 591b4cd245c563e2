/* collectives.cpp - times of the algorithms of collective operations, round by round. */
#include "collectives.hpp"
#include "schedules.hpp"

#include <algorithm>
#include <stdexcept>

namespace sim {

namespace {

constexpr int32_t kMaxRounds = 4096; /* rounds of all members that are simulated one by one */
constexpr int32_t kSamples = 8;      /* of more rounds, where the links of each differ */

class Rounds {
  public:
    Rounds(Network &network, RoundLoads *loads, const Call &call, int32_t algorithm, const int32_t *members,
           std::vector<Clock> &clocks)
        : network_(network), loads_(loads), root_(call.root), p_(static_cast<int32_t>(clocks.size())),
          sizes_(p_, call.nbytes), key_{members, p_, algorithm, root_, call.nbytes}, members_(members), now_(clocks) {
        free_.resize(clocks.size());
        for (size_t i = 0; i < clocks.size(); ++i) free_[i] = clocks[i];
        int32_t highest = p_ - 1;
        for (int32_t i = 0; members_ && i < p_; ++i) highest = std::max(highest, members_[i]);
        uniform_ = network_.uniform(highest + 1) && !network_.platform.noisy;
        if (loads_) loads_->begin(key_);
    }

    int32_t size() const { return p_; }
    int32_t root() const { return root_; }
    const Sizes &sizes() const { return sizes_; }

    /* Messages of a round are sent before any is received. */
    template <class F> void round(F &&step) {
        sent_.resize(now_.size());
        steps_.resize(now_.size());
        const bool same = take_steps(step);
        if (loads_) {
            share_links(same);
            loads_->count(key_, times_each_);
        }
        for (int32_t i = 0; i < p_; ++i) {
            const Step &s = steps_[i];
            if (s.to < 0) continue;
            const Cost &c = network_.message(world(i), world(s.to), s.nbytes);
            const int64_t transfer = std::max(c.transfer, busy_ps(i));
            const int64_t latency = loads_ ? plus(c.latency, network_.route_latency(world(i), world(s.to))) : c.latency;
            Clock start = now_[i];
            start.add_overhead(c.send);
            if (!c.eager && s.to != i) { /* the receiver enters the round when it is ready for it */
                start = later(start, now_[s.to]);
                if (c.handshake) start.add_latency(c.handshake);
            }
            if (network_.platform.serializes) start = later(start, free_[i]);
            Clock &busy = sent_[i].busy;
            busy = start;
            busy.add_bandwidth(std::max(transfer, c.gap));
            Clock &arrival = sent_[i].arrival;
            arrival = start;
            arrival.add_latency(latency);
            arrival.add_bandwidth(transfer);
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

    /* Once all clocks are equal on a uniform network, each further round adds the same. More than kMaxRounds are not
     * run one by one: all members then start with the last, and each `period` rounds take as long as the middle ones
     * (of each of several parts, where links are shared), which is an upper bound. */
    template <class F> void rounds(int32_t n, F &&step, int32_t period = 1) {
        if (n > kMaxRounds) {
            const int64_t nparts = loads_ ? kSamples : 1;
            for (int64_t part = 0; part < nparts; ++part) {
                const auto first = static_cast<int32_t>(n * part / nparts),
                           end = static_cast<int32_t>(n * (part + 1) / nparts);
                synchronize();
                const Clock before = now_[0];
                times_each_ = static_cast<double>(end - first) / period;
                for (int32_t k = 0; k < period; ++k)
                    round([&](int32_t i) { return step(first + (end - first) / 2 + k, i); });
                times_each_ = 1;
                const Clock after = latest();
                finish(before, after, (end - first - 1) / period);
            }
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

    template <class F> void together(F &&body) { body(); }

  private:
    /* Find what the members do. True: the same as in the last round. */
    template <class F> bool take_steps(F &&step) {
        bool same = nrounds_ > 0;
        for (int32_t i = 0; i < p_; ++i) {
            const Step s = step(i);
            same = same && s.to == steps_[i].to && s.nbytes == steps_[i].nbytes;
            steps_[i] = s;
        }
        return same;
    }

    /* Find how long the links of the round are busy. */
    void share_links(bool same) {
        if (same) return;
        const int32_t round = nrounds_++;
        times_ = loads_->find(key_, round);
        if (times_) {
            loads_->take_loads();
            return;
        }
        LinkLoads &links = loads_->loads;
        RoundLoads::Times times(now_.size());
        const auto node = [&](int32_t i) { return network_.node_of(world(i)); };
        for (int32_t i = 0; i < p_; ++i)
            if (steps_[i].to >= 0 && steps_[i].nbytes > 0)
                links.add(node(i), node(steps_[i].to), static_cast<double>(steps_[i].nbytes));
        for (int32_t i = 0; i < p_; ++i)
            if (steps_[i].to >= 0 && steps_[i].nbytes > 0)
                times[i] = rounded(links.busy_ps(node(i), node(steps_[i].to)));
        loads_->take_loads();
        links.clear();
        times_ = loads_->keep(key_, round, std::move(times));
    }
    int64_t busy_ps(int32_t i) const {
        return !times_ || times_->empty() ? 0 : (*times_)[times_->size() == 1 ? 0 : static_cast<size_t>(i)];
    }

    const Clock &latest() const {
        return *std::max_element(now_.begin(), now_.end(), [](const Clock &a, const Clock &b) { return a.t < b.t; });
    }

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
    RoundLoads *loads_; /* nullptr: links are not shared */
    int32_t root_, p_;
    Sizes sizes_;
    RoundLoads::Key key_;
    const RoundLoads::Times *times_ = nullptr; /* of the round */
    int32_t nrounds_ = 0;                      /* that differ from the one before */
    double times_each_ = 1;                    /* how many rounds one stands for */
    const int32_t *members_;
    std::vector<Clock> &now_;
    bool uniform_;
    std::vector<Clock> free_; /* when each member's interface is free */
    std::vector<Sent> sent_;
    std::vector<Step> steps_;
};

} // namespace

int32_t choose_algorithm(const st_sim_rule *rules, int32_t nrules, const Call &call, int32_t size) {
    const auto within = [](int64_t value, int64_t most) { return most < 0 || value <= most; };
    const auto rule = std::find_if(rules, rules + nrules, [&](const st_sim_rule &each) {
        return each.collective == call.collective && within(call.nbytes, each.max_bytes) && size >= each.min_ranks &&
               within(size, each.max_ranks) && within(product(call.nbytes, size), each.max_total_bytes) &&
               within(call.nbytes / std::max(size, 1), each.max_bytes_per_rank) &&
               (!each.power_of_two || power_below(size) == size) && (each.lists < 0 || (each.lists != 0) == call.lists);
    });
    return rule == rules + nrules ? -1 : rule->algorithm;
}

void run_algorithm(Network &network, RoundLoads *loads, const Call &call, int32_t algorithm, const int32_t *members,
                   std::vector<Clock> &clocks) {
    const auto size = static_cast<int32_t>(clocks.size());
    if (size < 2) return;
    Rounds r(network, loads, call, algorithm, members, clocks);
    kAlgorithms<Rounds>[usable_algorithm(algorithm, size, true)].run(r);
}

void run_collective(Network &network, RoundLoads *loads, const Call &call, const int32_t *members,
                    std::vector<Clock> &clocks) {
    const auto size = static_cast<int32_t>(clocks.size());
    const st_sim_platform &p = network.platform;
    const int32_t algorithm = choose_algorithm(p.rules, p.nrules, call, size);
    if (algorithm < 0) throw std::logic_error("no algorithm of a collective operation");
    run_algorithm(network, loads, call, algorithm, members, clocks);
}

} // namespace sim
