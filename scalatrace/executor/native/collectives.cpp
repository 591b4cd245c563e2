/* collectives.cpp - times of the algorithms of collective operations, round by round. */
#include "collectives.hpp"
#include "flow_rounds.hpp"
#include "schedules.hpp"

#include <algorithm>
#include <stdexcept>

namespace sim {

namespace {

constexpr int32_t kMaxRounds = 4096; /* rounds of all members that are simulated one by one */
constexpr double kLeastPart = 0.01;  /* of a call's time: links that are busy for less are not shared for long */
constexpr int64_t kMinWindow = 32, kMaxWindow = 64; /* rounds: in fewer ones, members have not drifted apart */
constexpr int32_t kMaxTogether = 512;               /* rounds under way together of which each member is simulated */
constexpr int32_t kSamples = 8;                     /* of more rounds, where the links of each differ */

class Rounds {
  public:
    Rounds(Network &network, RoundLoads *loads, const RoundLoads::Key &key, std::vector<Clock> &clocks)
        : network_(network), loads_(loads), root_(key.root), p_(key.size), sizes_(p_, key.nbytes), key_(key),
          members_(key.members), now_(clocks) {
        free_.resize(clocks.size());
        for (size_t i = 0; i < clocks.size(); ++i) free_[i] = clocks[i];
        int32_t highest = p_ - 1;
        for (int32_t i = 0; members_ && i < p_; ++i) highest = std::max(highest, members_[i]);
        uniform_ = network_.uniform(highest + 1) && !network_.platform.noisy;
    }

    /* The messages of the call take these times. */
    void take(const FlowTimes &flow_times) {
        flow_times_ = &flow_times;
        nflows_.resize(now_.size());
    }
    /* They take so much longer than one round after the other. */
    void take(double stretch) { stretch_ = stretch; }
    /* Nothing is drawn. */
    void try_out() { is_trial_ = true; }
    /* All members ended each round together so far. */
    bool in_step() const { return in_step_; }
    /* When each round ended, ps. */
    const std::vector<int64_t> &round_ends() const { return round_ends_; }
    /* How long the busiest link of each round was busy, in all. */
    int64_t shared_ps() const { return shared_ps_; }
    const Clock &latest() const {
        return *std::max_element(now_.begin(), now_.end(), [](const Clock &a, const Clock &b) { return a.t < b.t; });
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
            if (is_trial_ && times_ && !times_->empty())
                shared_ps_ = plus(shared_ps_, *std::max_element(times_->begin(), times_->end()));
        }
        if (is_together_) {
            for (int32_t i = 0; i < (one_stands_ ? 1 : p_); ++i)
                if (steps_[i].to >= 0) send_together(i, steps_[i]);
            return;
        }
        for (int32_t i = 0; i < p_; ++i) {
            const Step &s = steps_[i];
            if (s.to < 0) continue;
            const Cost &c = is_trial_ ? network_.cost(world(i), world(s.to), s.nbytes)
                                      : network_.message(world(i), world(s.to), s.nbytes);
            const int64_t transfer = std::max(c.transfer, flow_times_ ? flow_ps(i) : busy_ps(i));
            const int64_t latency = loads_ ? plus(c.latency, network_.route_latency(world(i), world(s.to))) : c.latency;
            Clock start = now_[i];
            start.add_overhead(c.send);
            if (!c.eager && s.to != i) { /* the receiver enters the round when it is ready for it */
                start = later(start, now_[s.to]);
                if (c.handshake) start.add_latency(c.handshake);
            }
            if (network_.platform.serializes && !flow_times_) start = later(start, free_[i]); /* flows share it */
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
        if (is_trial_) {
            in_step_ = in_step_ && same_time();
            round_ends_.push_back(latest().t);
        }
    }

    /* Once all clocks are equal on a uniform network, each further round adds the same. More than kMaxRounds are not
     * run one by one: all members then start with the last, and each `period` rounds take as long as the middle ones
     * (of each of several parts, where links are shared), which is an upper bound. Where their messages are under way
     * together, those of one member stand for all, if all members are equal or very many: they start with the last. */
    template <class F> void rounds(int32_t n, F &&step, int32_t period = 1) {
        if (is_together_ && n > kMaxRounds && loads_) is_together_ = false; /* too many loads of links */
        if (is_together_ && (n >= kMaxTogether || (uniform_ && equal()))) {
            synchronize();
            entered_ = last_sent_ = now_;
            one_stands_ = true;
        }
        if (n > kMaxRounds && !is_together_) {
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
            const bool steady = uniform_ && !is_together_ && equal();
            const Clock before = now_[0];
            round([&](int32_t i) { return step(r, i); });
            if (steady && equal()) {
                finish(before, now_[0], n - r - 1);
                return;
            }
        }
    }

    /* All messages are sent before any is received, and received in the order of their arrival. */
    template <class F> void together(F &&body) {
        entered_ = last_sent_ = now_;
        inboxes_.assign(now_.size(), {});
        is_together_ = true;
        body();
        is_together_ = in_step_ = false;
        for (int32_t i = 0; i < (one_stands_ ? 1 : p_); ++i) receive_all(i);
        if (one_stands_) {
            std::fill(now_.begin(), now_.end(), Clock(now_[0]));
            std::fill(free_.begin(), free_.end(), Clock(free_[0]));
        }
        one_stands_ = false;
        inboxes_.clear();
    }

  private:
    /* Find what the members do. True: the same as in the last round. */
    template <class F> bool take_steps(F &&step) {
        bool same = nrounds_ > 0;
        const int32_t n = one_stands_ && !loads_ ? 1 : p_;
        for (int32_t i = 0; i < n; ++i) {
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
        if (!times_ || times_->empty()) return 0;
        const int64_t ps = one_stands_ ? *std::max_element(times_->begin(), times_->end())
                                       : (*times_)[times_->size() == 1 ? 0 : static_cast<size_t>(i)];
        return stretch_ > 1 ? rounded(stretch_ * static_cast<double>(ps)) : ps;
    }

    /* The next message of a member. */
    int64_t flow_ps(int32_t i) {
        const Step &s = steps_[i];
        return network_.uses_links(world(i), world(s.to), s.nbytes) ? (*flow_times_)[i][nflows_[i]++] : 0;
    }

    /* Send a message of those that are under way together. Where one member stands for all, it gets one like that. Links
     * are busy with the messages of one round after those of another. */
    void send_together(int32_t i, const Step &s) {
        const Cost c = is_trial_ ? network_.cost(world(i), world(s.to), s.nbytes)
                                 : network_.message(world(i), world(s.to), s.nbytes);
        const bool serializes = network_.platform.serializes;
        const int64_t busy = flow_times_ ? flow_ps(i) : busy_ps(i), transfer = std::max(c.transfer, busy);
        now_[i].add_overhead(c.send);
        Clock start = now_[i];
        if (!flow_times_ && (serializes || busy > 0)) {
            start = later(start, free_[i]);
            free_[i] = start;
            free_[i].add_bandwidth(serializes ? std::max(transfer, c.gap) : busy);
        }
        if (!c.eager && s.to != i) {
            start = later(start, entered_[s.to]);
            if (c.handshake) start.add_latency(c.handshake);
        }
        start.add_latency(loads_ ? plus(c.latency, network_.route_latency(world(i), world(s.to))) : c.latency);
        inboxes_[one_stands_ ? i : s.to].push_back({start, transfer, c.recv});
        if (c.eager) return;
        start.add_bandwidth(transfer);
        last_sent_[i] = later(last_sent_[i], start);
    }
    /* As Engine::receive. */
    void receive_all(int32_t i) {
        const auto comes = [&](const Incoming &m) { return flow_times_ ? plus(m.at.t, m.transfer) : m.at.t; };
        std::stable_sort(inboxes_[i].begin(), inboxes_[i].end(),
                         [&](const Incoming &a, const Incoming &b) { return comes(a) < comes(b); });
        int64_t from = 0;
        Clock until;
        now_[i] = later(now_[i], last_sent_[i]);
        for (const Incoming &message : inboxes_[i]) {
            Clock at = message.at;
            if (network_.platform.serializes && !flow_times_ && message.transfer > 0) {
                if (plus(at.t, message.transfer) > from) at = later(at, until);
                from = at.t;
            }
            at.add_bandwidth(message.transfer);
            until = at;
            now_[i] = later(now_[i], at);
            now_[i].add_overhead(message.recv);
        }
    }

    struct Incoming {
        Clock at; /* of the first byte */
        int64_t transfer, recv;
    };
    struct Sent {
        Clock busy, arrival;
        int64_t recv = 0, send = 0;
        bool eager = true;
    };

    int32_t world(int32_t i) const { return members_ ? members_[i] : i; }
    bool same_time() const {
        return std::all_of(now_.begin(), now_.end(), [&](const Clock &c) { return c.t == now_[0].t; });
    }
    bool equal() const {
        return same_time() && std::all_of(free_.begin(), free_.end(), [&](const Clock &c) { return c.t <= now_[0].t; });
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
    const FlowTimes *flow_times_ = nullptr;
    std::vector<size_t> nflows_; /* of these, by member: used so far */
    bool is_trial_ = false, in_step_ = true;
    int64_t shared_ps_ = 0;
    double stretch_ = 1;
    std::vector<int64_t> round_ends_;
    const int32_t *members_;
    std::vector<Clock> &now_;
    bool uniform_;
    std::vector<Clock> free_; /* when each member's interface is free */
    bool is_together_ = false, one_stands_ = false;
    std::vector<std::vector<Incoming>> inboxes_; /* of messages under way together */
    std::vector<Clock> entered_, last_sent_;     /* when these began; when the last one of a member was sent */
    std::vector<Sent> sent_;
    std::vector<Step> steps_;
};

/* Find how much longer the rounds of a long call take since they overlap: by some of them, each window from a common start. */
double stretch_of(Network &network, RoundLoads &loads, const RoundLoads::Key &key, const std::vector<int64_t> &ends) {
    const auto nrounds = static_cast<int64_t>(ends.size());
    const auto steps = list_steps(key.algorithm, 0, key.root, Sizes(key.size, key.nbytes));
    const int64_t most = std::min(RoundLoads::kMaxSteps, loads.nsteps_left) / key.size; /* rounds */
    const int64_t length = std::min({most, kMaxWindow, nrounds});
    if (length < kMinWindow || steps.back().round + 1 != nrounds) return 1;
    const int64_t nwindows = most / length;
    int64_t overlapping = 0, apart = 0;
    for (int64_t k = 0; k < nwindows; ++k) {
        const int64_t first = (nrounds - length) * (2 * k + 1) / (2 * nwindows);
        apart += ends[first + length - 1] - (first ? ends[first - 1] : 0);
        overlapping += flow_rounds_ps(network, key, static_cast<int32_t>(first), static_cast<int32_t>(first + length));
    }
    loads.nsteps_left -= nwindows * length * key.size;
    return std::max(static_cast<double>(overlapping) / static_cast<double>(apart), 1.0);
}

/* Find whether rounds of a call may overlap, and whether that matters: links may be busy for a part of its time. */
RoundLoads::Overlap overlap_of(Network &network, RoundLoads &loads, const RoundLoads::Key &key) {
    RoundLoads::Overlap overlap;
    const Sizes sizes(key.size, key.nbytes);
    const auto nsteps = product(static_cast<int64_t>(list_steps(key.algorithm, 0, key.root, sizes).size()), key.size);
    if (nsteps > RoundLoads::kMaxListed) return overlap;
    std::vector<Clock> clocks(static_cast<size_t>(key.size));
    Rounds trial(network, &loads, key, clocks);
    trial.try_out();
    kAlgorithms<Rounds>[key.algorithm].run(trial);
    loads.end_counting();
    overlap.in_step = trial.in_step();
    if (static_cast<double>(trial.shared_ps()) < kLeastPart * static_cast<double>(trial.latest().t)) return overlap;
    if (nsteps <= RoundLoads::kMaxSteps)
        overlap.nsteps = nsteps;
    else if (!overlap.in_step)
        overlap.stretch = stretch_of(network, loads, key, trial.round_ends());
    return overlap;
}

/* Times of the messages of a call whose rounds overlap; nullptr: all members stay in step, or it has too many messages.
 * Once too many calls were run, those of the last one stand for others. */
const FlowTimes *times_of_overlap(Network &network, RoundLoads &loads, const RoundLoads::Key &key,
                                  const std::vector<Clock> &clocks) {
    auto known = loads.overlaps.find(key);
    if (known == loads.overlaps.end()) known = loads.overlaps.emplace(key, overlap_of(network, loads, key)).first;
    RoundLoads::Overlap &overlap = known->second;
    if (overlap.nsteps == 0) return nullptr;
    const auto earlier = [](const Clock &a, const Clock &b) { return a.t < b.t; };
    const auto [first, last] = std::minmax_element(clocks.begin(), clocks.end(), earlier);
    if (overlap.in_step && first->t == last->t) return nullptr;
    std::vector<int64_t> entries;
    for (const Clock &clock : clocks) entries.push_back(clock.t - first->t);
    const auto run = overlap.times.find(entries);
    if (run != overlap.times.end()) return &run->second;
    if (overlap.nsteps > loads.nsteps_left) return overlap.last;
    loads.nsteps_left -= overlap.nsteps;
    FlowTimes times = flow_times(network, key, entries, RoundLoads::kMaxSteps);
    if (times.empty()) {
        overlap.nsteps = 0;
        return nullptr;
    }
    return overlap.last = &(overlap.times[std::move(entries)] = std::move(times));
}

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
    const RoundLoads::Key key{members, size, usable_algorithm(algorithm, size, true), call.root, call.nbytes};
    Rounds r(network, loads, key, clocks);
    if (loads) {
        loads->begin(key);
        if (const FlowTimes *times = times_of_overlap(network, *loads, key, clocks)) r.take(*times);
        r.take(loads->overlaps.at(key).stretch);
    }
    kAlgorithms<Rounds>[key.algorithm].run(r);
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
