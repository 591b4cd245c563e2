/* flows.cpp - see flows.hpp. */
#include "flows.hpp"

#include "sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sim {

namespace {

constexpr int64_t kSlack = 2;  /* ps: ends that only rounding tells apart come together */
constexpr size_t kMany = 512;  /* connected flows: their rates are found anew ... */
constexpr double kParts = 128; /* ... at most so often while one of them lasts */

} // namespace

void Flows::add_link(double per_byte) { links_.emplace_back().capacity = per_byte > 0 ? 1 / per_byte : 0; }

int32_t Flows::add(const std::vector<int32_t> &links, double nbytes, int64_t alone_ps, int64_t start) {
    int32_t number;
    if (unused_.empty()) {
        number = static_cast<int32_t>(flows_.size());
        flows_.emplace_back();
    } else {
        number = unused_.back();
        unused_.pop_back();
    }
    Flow &flow = flows_[number];
    flow.links.clear();
    for (const int32_t link : links)
        if (links_[link].capacity > 0) flow.links.push_back(link);
    flow.left = nbytes;
    flow.rate = 0;
    flow.most = alone_ps > 0 ? nbytes / static_cast<double>(alone_ps) : std::numeric_limits<double>::infinity();
    starts_.push({std::max(start, now_), number, ++flow.version});
    return number;
}

bool Flows::advance(int64_t limit, std::vector<End> &ended) {
    ended.clear();
    for (;;) {
        while (!ends_.empty() && flows_[ends_.top().flow].version != ends_.top().version) ends_.pop();
        const int64_t start = starts_.empty() ? INT64_MAX : starts_.top().at;
        const int64_t end = ends_.empty() ? INT64_MAX : ends_.top().at;
        if (!touched_.empty() && start > now_ && std::min(start, end) >= due_) {
            if (due_ > limit) return false;
            now_ = std::max(now_, due_);
            share();
            continue;
        }
        if (std::min(start, end) > limit || std::min(start, end) == INT64_MAX) return false;
        if (start <= end) {
            now_ = start;
            this->start(starts_.top().flow);
            starts_.pop();
            continue;
        }
        now_ = end;
        while (!ends_.empty() && ends_.top().at <= end + kSlack) {
            const Event first = ends_.top();
            ends_.pop();
            if (flows_[first.flow].version != first.version) continue;
            this->end(first.flow);
            ended.push_back({first.flow, first.at});
        }
        return true;
    }
}

void Flows::touch(const Flow &flow) {
    if (touched_.empty()) due_ = plus(now_, delay_);
    touched_.insert(touched_.end(), flow.links.begin(), flow.links.end());
}

void Flows::start(int32_t number) {
    Flow &flow = flows_[number];
    flow.since = now_;
    if (flow.links.empty()) {
        flow.next_rate = flow.most;
        set_rate(number);
        return;
    }
    for (const int32_t link : flow.links) links_[link].active.push_back(number);
    touch(flow);
}

void Flows::end(int32_t number) {
    Flow &flow = flows_[number];
    for (const int32_t link : flow.links) {
        std::vector<int32_t> &active = links_[link].active;
        *std::find(active.begin(), active.end(), number) = active.back();
        active.pop_back();
    }
    touch(flow);
    ++flow.version;
    unused_.push_back(number);
}

/* Find the rates of all flows that are connected to the touched links. */
void Flows::share() {
    std::vector<int32_t> open, found;
    ++nsearches_;
    const auto see = [&](int32_t link) {
        SharedLink &at = links_[link];
        if (at.seen == nsearches_) return;
        at.seen = nsearches_;
        at.left = at.capacity;
        at.nopen = static_cast<int32_t>(at.active.size());
        if (at.nopen == 0) return;
        shares_.push({at.left / at.nopen, link});
        open.push_back(link);
    };
    for (const int32_t link : touched_) see(link);
    touched_.clear();
    while (!open.empty()) {
        const int32_t link = open.back();
        open.pop_back();
        for (const int32_t number : links_[link].active) {
            Flow &flow = flows_[number];
            if (flow.seen == nsearches_) continue;
            flow.seen = nsearches_;
            flow.fixed = false;
            found.push_back(number);
            for (const int32_t other : flow.links) see(other);
        }
    }
    fill(found);
    double ps = 0;
    for (const int32_t number : found) {
        if (flows_[number].next_rate != flows_[number].rate) set_rate(number);
        ps += flows_[number].left / flows_[number].rate;
    }
    delay_ = found.size() > kMany ? rounded(ps / static_cast<double>(found.size()) / kParts) : 0;
}

/* Progressive filling: the link with the least share, or the flow with the least limit of its own, comes first. What is
 * left for the others grows. */
void Flows::fill(const std::vector<int32_t> &flows) {
    std::vector<int32_t> by_limit(flows);
    std::sort(by_limit.begin(), by_limit.end(), [&](int32_t a, int32_t b) {
        return flows_[a].most != flows_[b].most ? flows_[a].most < flows_[b].most : a < b;
    });
    size_t next = 0;
    for (;;) {
        while (next < by_limit.size() && flows_[by_limit[next]].fixed) ++next;
        while (!shares_.empty()) { /* shares only grow: the first that is not outdated is the least */
            const Share first = shares_.top();
            const SharedLink &link = links_[first.link];
            if (link.nopen > 0 && link.left / link.nopen <= first.rate) break;
            shares_.pop();
            if (link.nopen > 0) shares_.push({link.left / link.nopen, first.link});
        }
        if (next == by_limit.size()) break;
        const int32_t limited = by_limit[next];
        if (shares_.empty() || flows_[limited].most <= shares_.top().rate) {
            fix(limited, flows_[limited].most);
            continue;
        }
        const Share first = shares_.top();
        shares_.pop();
        for (const int32_t number : links_[first.link].active)
            if (!flows_[number].fixed) fix(number, first.rate);
    }
    while (!shares_.empty()) shares_.pop();
}

void Flows::fix(int32_t number, double rate) {
    Flow &flow = flows_[number];
    flow.fixed = true;
    flow.next_rate = rate;
    for (const int32_t link : flow.links) {
        links_[link].left = std::max(links_[link].left - rate, 0.0);
        --links_[link].nopen;
    }
}

void Flows::set_rate(int32_t number) {
    Flow &flow = flows_[number];
    flow.left = std::max(flow.left - flow.rate * static_cast<double>(now_ - flow.since), 0.0);
    flow.since = now_;
    flow.rate = flow.next_rate;
    const double ps = std::isinf(flow.rate) ? 0.0 : flow.left / flow.rate;
    ends_.push({plus(now_, rounded(ps)), number, ++flow.version});
}

} // namespace sim
