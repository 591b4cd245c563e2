/* loads.cpp - runs of ranks with nearly equal totals.
 *
 * A run is extended while the limits of its range are at most kWidth steps apart; a step is 2^-7 of a power of two.
 */
#include "values/loads.hpp"

#include <algorithm>
#include <utility>

namespace st {

namespace {

constexpr int kWidth = 6; // steps between the lowest and the highest total of a run: 2.3 to 4.7 %

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

} // namespace st
