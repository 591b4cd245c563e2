/* steady.cpp - see steady.hpp. */
#include "steady.hpp"

#include "engine.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr int64_t kNone = INT64_MIN;

bool never_runs(const st_sim_field &f, int32_t r) {
    if (f.kind == ST_SIM_VARYING) return f.class_of[r] < 0;
    return (f.kind == ST_SIM_PER_RANK ? f.values[r] : f.value) <= 0;
}

bool order_matters(const st_sim_platform &p) {
    const auto receives_cost = [](const st_sim_network &n) {
        return std::any_of(n.segments, n.segments + n.nsegments,
                           [](const st_sim_segment &s) { return s.recv_overhead > 0 || s.recv_per_byte > 0; });
    };
    return p.serializes || p.match_entry > 0 || receives_cost(p.network) || (p.has_memory && receives_cost(p.memory));
}

template <class F> void visit(Clock &c, F &&f) {
    f(c.t, true);
    f(c.compute, false);
    f(c.latency, false);
    f(c.bandwidth, false);
    f(c.messages, false);
}

/* All times of a rank: f(number, whether it is a point in time). */
template <class F> void visit(Rank &rank, F &&f) {
    visit(rank.clock, f);
    visit(rank.interface_free, f);
    f(rank.receives_from, true);
    visit(rank.receives_until, f);
    visit(rank.one_sided, f);
    for (Message &m : rank.arrived) {
        visit(m.at, f);
        f(m.busy_from, true);
    }
    for (const int32_t i : rank.live) {
        Request &q = rank.requests[i];
        visit(q.clock, f);
        f(q.busy_from, true);
    }
}

void mix(uint64_t &shape, int64_t value) {
    shape = (shape ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15ull;
    shape ^= shape >> 29;
}

/* All of a rank's state that is no time. */
void add_shape(const Rank &rank, uint64_t &shape) {
    mix(shape, rank.pred);
    mix(shape, rank.kernel_mean);
    mix(shape, static_cast<int64_t>(rank.posted.size()));
    for (const Message &m : rank.arrived) {
        mix(shape, m.from.peer);
        mix(shape, m.from.tag);
        mix(shape, m.from.family);
        mix(shape, m.transfer);
    }
    for (const int32_t i : rank.live) {
        const Request &q = rank.requests[i];
        for (const int64_t part : {int64_t{q.kind}, int64_t{q.state}, int64_t{q.to.peer}, int64_t{q.to.tag}, q.nbytes})
            mix(shape, part);
    }
}

} // namespace

Steady::Steady(Engine &engine)
    : engine_(engine), equal_speeds_(order_matters(engine.platform_)),
      loop_of_(static_cast<size_t>(engine.program_.nnodes), -1) {
    const st_sim_program &p = engine.program_;
    std::vector<std::pair<int32_t, std::vector<int32_t>>> around; /* end of a sequence, and the ranks that enter it */
    std::vector<int32_t> all(static_cast<size_t>(p.nranks));
    for (int32_t r = 0; r < p.nranks; ++r) all[r] = r;
    for (int32_t n = 0; n < p.nnodes; ++n) {
        while (!around.empty() && around.back().first <= n) around.pop_back();
        const st_sim_node &node = p.nodes[n];
        if (node.op != ST_SIM_SEQUENCE) continue;
        std::vector<int32_t> ranks;
        for (const int32_t r : around.empty() ? all : around.back().second)
            if (!never_runs(node.repeat, r)) ranks.push_back(r);
        if (p.steady && node.flags & ST_SIM_STEADY && !ranks.empty()) {
            loop_of_[n] = static_cast<int32_t>(loops_.size());
            Loop &loop = loops_.emplace_back();
            loop.node = n;
            loop.ranks = ranks;
        }
        around.emplace_back(node.end, std::move(ranks));
    }
}

bool Steady::park(int32_t r, int32_t node, int64_t left) {
    if (loop_of_[node] < 0) return false;
    Loop &loop = loops_[loop_of_[node]];
    if (loop.given_up) return false;
    if (loop.parked.empty()) loop.left = left;
    loop.parked.push_back(r);
    engine_.ranks_[r].parked = true;
    if (loop.parked.size() == loop.ranks.size()) {
        if (left == loop.left) compare(loop);
        for (const int32_t each : loop.parked) {
            engine_.ranks_[each].parked = false;
            engine_.wake(each);
        }
        loop.parked.clear();
    }
    return true;
}

bool Steady::release() {
    bool any = false;
    for (Loop &loop : loops_) {
        if (loop.parked.empty()) continue;
        any = true;
        for (const int32_t r : loop.parked) {
            engine_.ranks_[r].parked = false;
            engine_.wake(r);
        }
        loop.parked.clear();
        forget(loop);
        loop.given_up = true;
    }
    return any;
}

void Steady::forget(Loop &loop) {
    loop.has_state = loop.has_growth = false;
    if (loop.checked) checking_.erase(std::remove(checking_.begin(), checking_.end(), &loop), checking_.end());
    loop.checked = false;
    for (auto *kept : {&loop.state, &loop.growth, &loop.speed, &loop.nodes, &loop.by_rank})
        std::vector<int64_t>().swap(*kept);
}

/* All ranks have ended an iteration. */
void Steady::compare(Loop &loop) {
    std::vector<int64_t> state;
    uint64_t shape = 1;
    bool too_fast = false;
    collect(loop, state, shape);
    const bool comparable =
        loop.has_state && loop.shape == shape && loop.state.size() == state.size() && loop.left + 1 == loop.left_before;
    if (comparable) {
        std::vector<int64_t> growth(state.size());
        std::transform(state.begin(), state.end(), loop.state.begin(), growth.begin(), std::minus<>());
        const bool same = loop.has_growth && growth == loop.growth;
        if (same && loop.checked && !loop.violated) {
            multiply(loop);
            forget(loop);
            return;
        }
        loop.growth = std::move(growth);
        loop.has_growth = true;
        if (loop.checked) checking_.erase(std::remove(checking_.begin(), checking_.end(), &loop), checking_.end());
        loop.checked = same && loop.left > 1;
        if (loop.checked) {
            snapshot(loop, too_fast);
            loop.violated = too_fast;
            checking_.push_back(&loop);
        }
    } else {
        forget(loop);
    }
    loop.state = std::move(state);
    loop.shape = shape;
    loop.has_state = true;
    loop.left_before = loop.left;
}

void Steady::collect(const Loop &loop, std::vector<int64_t> &state, uint64_t &shape) {
    state.reserve(std::max(loop.state.size(), loop.ranks.size() * 21));
    for (const int32_t r : loop.ranks) {
        Rank &rank = engine_.ranks_[r];
        add_shape(rank, shape);
        visit(rank, [&](int64_t &number, bool) { state.push_back(number); });
    }
}

/* Keep the accounts before the iteration that is checked, and the speed of each rank. */
void Steady::snapshot(Loop &loop, bool &too_fast) {
    const st_sim_program &p = engine_.program_;
    const st_sim_result &result = engine_.result_;
    const st_sim_node &node = p.nodes[loop.node];
    loop.speed.assign(static_cast<size_t>(p.nranks), kNone);
    loop.nodes.clear();
    loop.by_rank.clear();
    for (int32_t n = loop.node; n < node.end; ++n) {
        for (int part = 0; part < ST_SIM_PARTS; ++part) loop.nodes.push_back(result.by_node[n * ST_SIM_PARTS + part]);
        loop.nodes.push_back(result.calls[n]);
    }
    size_t at = 0;
    for (const int32_t r : loop.ranks) {
        const int64_t speed = loop.growth[at];
        loop.speed[r] = speed;
        visit(engine_.ranks_[r], [&](int64_t &, bool time) {
            too_fast = too_fast || (time && loop.growth[at] > speed);
            ++at;
        });
        for (int part = 0; part < ST_SIM_PARTS; ++part)
            loop.by_rank.push_back(result.by_rank[static_cast<size_t>(r) * ST_SIM_PARTS + part]);
    }
}

/* Advance all clocks and accounts by the iterations that are left, and end the loop. */
void Steady::multiply(Loop &loop) {
    st_sim_result &result = engine_.result_;
    const st_sim_node &node = engine_.program_.nodes[loop.node];
    const int64_t times = loop.left;
    const auto extend = [times](int64_t &now, int64_t before) { now += times * (now - before); };
    size_t at = 0;
    for (int32_t n = loop.node; n < node.end; ++n) {
        for (int part = 0; part < ST_SIM_PARTS; ++part)
            extend(result.by_node[n * ST_SIM_PARTS + part], loop.nodes[at++]);
        extend(result.calls[n], loop.nodes[at++]);
    }
    at = 0;
    size_t rank_at = 0;
    for (const int32_t r : loop.ranks) {
        Rank &rank = engine_.ranks_[r];
        visit(rank, [&](int64_t &number, bool) { number += times * loop.growth[at++]; });
        for (int part = 0; part < ST_SIM_PARTS; ++part)
            extend(result.by_rank[static_cast<size_t>(r) * ST_SIM_PARTS + part], loop.by_rank[rank_at++]);
        Frame &frame = rank.stack.back();
        frame.at = frame.end;
        frame.left = 1;
    }
}

void Steady::check(int32_t from, int32_t to, bool both) {
    for (Loop *loop : checking_) {
        const int64_t a = loop->speed[from], b = loop->speed[to];
        if (a == kNone && b == kNone) continue;
        if (a == kNone || b == kNone || a > b || (both && a != b)) loop->violated = true;
    }
}

} // namespace sim
