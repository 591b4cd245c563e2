#include "ranks.hpp"

#include <algorithm>

namespace st {

uint64_t RankSet::size() const {
    uint64_t n = 0;
    for (const Interval &i : intervals_) n += static_cast<uint64_t>(i.high - i.low) + 1;
    return n;
}

bool RankSet::contains(int32_t rank) const {
    auto it = std::upper_bound(intervals_.begin(), intervals_.end(), rank,
                               [](int32_t r, const Interval &i) { return r < i.low; });
    return it != intervals_.begin() && std::prev(it)->high >= rank;
}

void RankSet::unite(const RankSet &other) {
    if (other.empty() || *this == other) return;
    std::vector<Interval> out;
    out.reserve(intervals_.size() + other.intervals_.size());
    auto add = [&](const Interval &i) {
        if (!out.empty() && i.low <= out.back().high + 1)
            out.back().high = std::max(out.back().high, i.high);
        else
            out.push_back(i);
    };
    auto a = intervals_.begin();
    auto b = other.intervals_.begin();
    while (a != intervals_.end() || b != other.intervals_.end()) {
        if (b == other.intervals_.end() || (a != intervals_.end() && a->low <= b->low))
            add(*a++);
        else
            add(*b++);
    }
    intervals_.swap(out);
}

RankSet RankSet::intersect(const RankSet &other) const {
    std::vector<Interval> out;
    auto a = intervals_.begin();
    auto b = other.intervals_.begin();
    while (a != intervals_.end() && b != other.intervals_.end()) {
        int32_t low = std::max(a->low, b->low), high = std::min(a->high, b->high);
        if (low <= high) out.push_back({low, high});
        if (a->high < b->high)
            ++a;
        else
            ++b;
    }
    return RankSet(std::move(out));
}

RankSet RankSet::minus(const RankSet &other) const {
    std::vector<Interval> out;
    auto b = other.intervals_.begin();
    for (Interval i : intervals_) {
        while (b != other.intervals_.end() && b->high < i.low) ++b;
        for (auto c = b; c != other.intervals_.end() && c->low <= i.high; ++c) {
            if (c->low > i.low) out.push_back({i.low, c->low - 1});
            i.low = c->high + 1;
        }
        if (i.low <= i.high) out.push_back(i);
    }
    return RankSet(std::move(out));
}

Vec RankSet::to_vec() const {
    Vec v;
    for (const Interval &i : intervals_)
        for (int32_t r = i.low; r <= i.high; ++r) v.append(r);
    return v;
}

} // namespace st
