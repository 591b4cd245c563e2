/* steady.cpp - see steady.hpp. */
#include "steady.hpp"

#include "engine.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr int32_t kMaxGrown = 256;

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
template <class F> void visit(Rank &rank, Pool<Message> &messages, Pool<Request> &requests, F &&f) {
    visit(rank.clock, f);
    visit(rank.interface_free, f);
    f(rank.receives_from, true);
    visit(rank.receives_until, f);
    visit(rank.one_sided, f);
    for (const QueueEntry &entry : rank.arrived) {
        Message &m = messages[entry.number];
        visit(m.at, f);
        f(m.busy_from, true);
    }
    for (const int32_t i : rank.live) {
        for (int32_t part = i; part >= 0; part = requests[part].also) {
            Request &q = requests[part];
            visit(q.clock, f);
            f(q.busy_from, true);
        }
    }
}

void mix(uint64_t &shape, int64_t value) {
    shape = (shape ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15ull;
    shape ^= shape >> 29;
}

/* All of a rank's state that is no time. */
void add_shape(const Rank &rank, const Pool<Message> &messages, const Pool<Request> &requests, uint64_t &shape) {
    mix(shape, rank.pred);
    mix(shape, rank.kernel_mean);
    mix(shape, static_cast<int64_t>(rank.posted.size()));
    for (const QueueEntry &entry : rank.arrived) {
        const Message &m = messages[entry.number];
        mix(shape, m.from.peer);
        mix(shape, m.from.tag);
        mix(shape, m.from.family);
        mix(shape, m.transfer);
    }
    for (const int32_t i : rank.live) {
        for (int32_t part = i; part >= 0; part = requests[part].also) {
            const Request &q = requests[part];
            for (const int64_t value :
                 {int64_t{q.kind}, int64_t{q.state}, int64_t{q.to.peer}, int64_t{q.to.tag}, q.nbytes})
                mix(shape, value);
        }
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
            engine_.resume(each);
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
            engine_.resume(r);
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
    for (auto *kept : {&loop.state, &loop.speed, &loop.by_rank}) std::vector<int64_t>().swap(*kept);
    std::vector<st_sim_sum>().swap(loop.nodes);
}

/* Visit all times of the loop's ranks: f(rank, number, what the last iteration added, whether it is a point in time,
 * index). */
template <class F> void Steady::visit_growth(const Loop &loop, F &&f) {
    size_t at = 0;
    for (const int32_t r : loop.ranks)
        visit(engine_.ranks_[r], engine_.messages_, engine_.requests_, [&](int64_t &number, bool time) {
            f(r, number, at < loop.state.size() ? number - loop.state[at] : 0, time, at);
            ++at;
        });
}

/* All ranks have ended an iteration. Of many ranks the times take much memory, so they are kept once: two iterations
 * are compared by a digest of what they added; digests of different iterations are equal with a chance of 2^-64. */
void Steady::compare(Loop &loop) {
    uint64_t shape = 1, growth = 1;
    size_t count = 0;
    for (const int32_t r : loop.ranks) add_shape(engine_.ranks_[r], engine_.messages_, engine_.requests_, shape);
    visit_growth(loop, [&](int32_t, int64_t, int64_t added, bool, size_t) {
        mix(growth, added);
        ++count;
    });
    const bool comparable =
        loop.has_state && loop.shape == shape && loop.state.size() == count && loop.left + 1 == loop.left_before;
    loop.ngrown = loop.has_state && count > loop.state.size() ? loop.ngrown + 1 : 0;
    if (loop.ngrown > kMaxGrown) { /* comparing what only grows would take as long as all iterations before */
        forget(loop);
        loop.given_up = true;
        return;
    }
    if (comparable) {
        const bool same = loop.has_growth && growth == loop.growth;
        if (same && loop.checked && !loop.violated) {
            multiply(loop);
            forget(loop);
            return;
        }
        loop.growth = growth;
        loop.has_growth = true;
        if (loop.checked) checking_.erase(std::remove(checking_.begin(), checking_.end(), &loop), checking_.end());
        loop.checked = same && loop.left > 1;
        if (loop.checked) {
            loop.violated = !snapshot(loop);
            checking_.push_back(&loop);
        }
    } else {
        forget(loop);
    }
    loop.state.resize(count);
    visit_growth(loop, [&loop](int32_t, int64_t number, int64_t, bool, size_t at) { loop.state[at] = number; });
    loop.shape = shape;
    loop.has_state = true;
    loop.left_before = loop.left;
}

/* Keep the accounts before the iteration that is checked, and the speed of each rank: that of its clock, its first
 * time. Return whether all times of each rank are at most as fast. */
bool Steady::snapshot(Loop &loop) {
    const st_sim_program &p = engine_.program_;
    const st_sim_result &result = engine_.result_;
    const st_sim_node &node = p.nodes[loop.node];
    bool valid = true;
    loop.speed.assign(static_cast<size_t>(p.nranks), kNone);
    loop.nodes.clear();
    loop.by_rank.clear();
    for (int32_t n = loop.node; n < node.end; ++n) {
        for (int part = 0; part < ST_SIM_PARTS; ++part) loop.nodes.push_back(result.by_node[n * ST_SIM_PARTS + part]);
        loop.nodes.push_back(result.calls[n]);
    }
    visit_growth(loop, [&](int32_t r, int64_t, int64_t added, bool time, size_t) {
        if (loop.speed[r] == kNone) loop.speed[r] = added;
        valid = valid && !(time && added > loop.speed[r]);
    });
    loop.by_rank.reserve(loop.ranks.size() * ST_SIM_PARTS);
    for (const int32_t r : loop.ranks)
        for (int part = 0; part < ST_SIM_PARTS; ++part)
            loop.by_rank.push_back(result.by_rank[static_cast<size_t>(r) * ST_SIM_PARTS + part]);
    return valid;
}

/* Advance all clocks and accounts by the iterations that are left, and end the loop. */
void Steady::multiply(Loop &loop) {
    st_sim_result &result = engine_.result_;
    const st_sim_node &node = engine_.program_.nodes[loop.node];
    const int64_t times = loop.left;
    size_t at = 0;
    for (int32_t n = loop.node; n < node.end; ++n) {
        for (int part = 0; part < ST_SIM_PARTS; ++part)
            extend(result.by_node[n * ST_SIM_PARTS + part], loop.nodes[at++], times);
        extend(result.calls[n], loop.nodes[at++], times);
    }
    visit_growth(loop, [times](int32_t, int64_t &number, int64_t added, bool, size_t) {
        number = extended(number, times, added);
    });
    at = 0;
    for (const int32_t r : loop.ranks) {
        for (int part = 0; part < ST_SIM_PARTS; ++part) {
            int64_t &now = result.by_rank[static_cast<size_t>(r) * ST_SIM_PARTS + part];
            now = extended(now, times, now - loop.by_rank[at++]);
        }
        engine_.note_wild(r);
        Frame &frame = engine_.ranks_[r].stack.back();
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
