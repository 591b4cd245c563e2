/* loads.cpp - runs of ranks with nearly equal totals.
 *
 * A run is extended while the limits of its range are at most kWidth steps apart; a step is 2^-7 of a power of two.
 */
#include "values/loads.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace st {

namespace {

constexpr int kWidth = 6; // steps between the lowest and the highest total of a run: 2.3 to 4.7 %

// As MAX_SINGLE_POINT_CALLS and MIN_SHARE_BETWEEN of trace/phases/find.py.
constexpr uint64_t kMaxSinglePointCalls = 64;
constexpr double kMinShareBetween = 1e-3;

} // namespace

/* Upper half of the total as a float. */
uint16_t Loads::bits(double total) {
    const float within = total > 0 ? static_cast<float>(std::min(total, 1e38)) : 0;
    return static_cast<uint16_t>((std::bit_cast<uint32_t>(within) + 0x8000) >> 16);
}

uint64_t Loads::size() const {
    uint64_t n = 0;
    for (const Run &run : runs_) n += run.count;
    return n;
}

/* Extend the last run if the range stays narrow, else begin a new one. */
void Loads::push(const Run &run) {
    if (!runs_.empty()) {
        Run &last = runs_.back();
        const uint16_t low = std::min(last.low, run.low), high = std::max(last.high, run.high);
        if (high - low <= kWidth) {
            last = {last.count + run.count, low, high};
            return;
        }
    }
    runs_.push_back(run);
}

/* Sets one behind the other: append. Otherwise all ranks in order, each from the set that has it. */
void Loads::unite(const RankSet &mine, const Loads &other, const RankSet &theirs) {
    sum_ += other.sum_;
    if (mine.empty() || mine.highest() < theirs.lowest()) {
        for (const Run &run : other.runs_) push(run);
        return;
    }
    RankSet all = mine;
    all.unite(theirs);
    const std::vector<Run> was = std::exchange(runs_, {});
    auto a = was.begin(), b = other.runs_.begin();
    uint64_t from_a = 0, from_b = 0; // ranks of the runs at a and b that are done
    all.each([&](Interval i) {
        for (int64_t r = i.low; r <= i.high; ++r) {
            auto &at = mine.contains(static_cast<int32_t>(r)) ? a : b;
            uint64_t &done = &at == &a ? from_a : from_b;
            push({1, at->low, at->high});
            if (++done < at->count) continue;
            ++at;
            done = 0;
        }
    });
}

/* The run is split at the rank. */
void Loads::add(uint64_t position, double more) {
    const std::vector<Run> was = std::exchange(runs_, {});
    sum_ += more;
    for (const Run &run : was) {
        if (position >= run.count) { // the run is before the position, or behind it, where position has wrapped around
            push(run);
            position -= run.count;
            continue;
        }
        if (position) push({position, run.low, run.high});
        push({1, bits(run.total() + more), bits(run.total() + more)});
        if (const uint64_t rest = run.count - position - 1) push({rest, run.low, run.high});
        position = UINT64_MAX;
    }
}

void Loads::pack(BytePacker &p) const {
    p.array(1 + 3 * runs_.size());
    p.real(sum_);
    for (const Run &run : runs_) {
        p.natural(run.count);
        p.natural(run.low);
        p.natural(run.high - run.low);
    }
}

Loads Loads::unpack(Unpacker &in) {
    constexpr uint64_t kMaxFinite = 0x7f7f; // upper half of the largest finite float
    Loads result;
    size_t n = in.array();
    if (!n) in.fail("no load of ranks");
    result.sum_ = in.real();
    for (--n; n >= 3; n -= 3) {
        const uint64_t count = in.natural(), low = in.natural(), wide = in.natural();
        if (count < 1 || count > INT32_MAX || low > kMaxFinite || wide > kMaxFinite - low) in.fail("no load of ranks");
        result.runs_.push_back({count, static_cast<uint16_t>(low), static_cast<uint16_t>(low + wide)});
    }
    if (n) in.fail("no load of ranks");
    return result;
}

void RunningTotals::add(const double *samples, size_t n, bool communicates) {
    for (size_t i = 0; i < std::min(n, kLoads); ++i) {
        const double sample = std::isnan(samples[i]) ? 0 : samples[i];
        if (i == 0) now_[i] += sample; // before the call
        if (communicates && !ncommunicating_) first_[i] = now_[i];
        if (i != 0) now_[i] += sample; // in the call
    }
    if (!communicates) return;
    last_ = now_;
    ++ncommunicating_;
}

void RankTotals::append(const std::array<double, kLoads> &whole_run, const RunningTotals &running) {
    for (size_t i = 0; i < kLoads; ++i) {
        whole[i].append(1, whole_run[i]);
        between[i].append(1, running.between(i));
    }
    ncommunicating += running.ncommunicating();
}

void RankTotals::add(uint64_t position, const std::array<double, kLoads> &more, const RunningTotals &before,
                     const RunningTotals &now) {
    for (size_t i = 0; i < kLoads; ++i) {
        whole[i].add(position, more[i]);
        between[i].add(position, now.between(i) - before.between(i));
    }
    ncommunicating += now.ncommunicating() - before.ncommunicating();
}

void RankTotals::unite(const RankSet &mine, const RankTotals &other, const RankSet &theirs) {
    for (size_t i = 0; i < kLoads; ++i) {
        whole[i].unite(mine, other.whole[i], theirs);
        between[i].unite(mine, other.between[i], theirs);
    }
    ncommunicating += other.ncommunicating;
}

bool RankTotals::has_sizes(uint64_t nranks) const {
    const auto fits = [&](const Loads &loads) { return loads.size() == nranks; };
    return std::all_of(whole.begin(), whole.end(), fits) && std::all_of(between.begin(), between.end(), fits);
}

bool RankTotals::has_phases(uint64_t nranks) const {
    const double left = between[0].sum(), inside = whole[0].sum() - left;
    return ncommunicating > kMaxSinglePointCalls * nranks || (ncommunicating > 0 && left >= kMinShareBetween * inside);
}

void RankTotals::pack(BytePacker &p) const {
    for (const AllLoads *loads : {&whole, &between})
        for (const Loads &one : *loads) one.pack(p);
    p.natural(ncommunicating);
}

RankTotals RankTotals::unpack(Unpacker &in) {
    RankTotals result;
    for (AllLoads *loads : {&result.whole, &result.between})
        for (Loads &one : *loads) one = Loads::unpack(in);
    result.ncommunicating = in.natural();
    return result;
}

} // namespace st
