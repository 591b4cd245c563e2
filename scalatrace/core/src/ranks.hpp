/* ranks.hpp - a set of world ranks as sorted, disjoint, non-adjacent intervals: equal sets are equal objects. */
#ifndef ST_RANKS_HPP
#define ST_RANKS_HPP

#include "vec.hpp"

#include <cstdint>
#include <vector>

namespace st {

struct Interval {
    int32_t low, high; // both inside
    bool operator==(const Interval &o) const { return low == o.low && high == o.high; }
};

class RankSet {
  public:
    RankSet() = default;
    explicit RankSet(int32_t rank) : intervals_{{rank, rank}} {}
    explicit RankSet(std::vector<Interval> sorted) : intervals_(std::move(sorted)) {}

    uint64_t size() const;
    bool empty() const { return intervals_.empty(); }
    int32_t lowest() const { return intervals_.front().low; }
    bool contains(int32_t rank) const;
    bool operator==(const RankSet &o) const { return intervals_ == o.intervals_; }
    const std::vector<Interval> &intervals() const { return intervals_; }

    void unite(const RankSet &other);
    RankSet intersect(const RankSet &other) const;
    RankSet minus(const RankSet &other) const;

    /* The sorted ranks as a value vector: its nested repetitions are the dissertation's ranklist (§2.2). */
    Vec to_vec() const;

  private:
    std::vector<Interval> intervals_;
};

} // namespace st
#endif
