/* ranks.hpp - a set of world ranks as boxes: rows, columns, planes and edges of a grid of ranks (§2.2).
 *
 *   ranks    17 18 19   33 34 35   49 50 51        the inside of a grid that is 16 wide
 *   boxes    17..19, 3 times 16 apart              a box is an interval, repeated along up to kDims dimensions
 *
 *            low=17   high=19
 *              |--------|       |--------|       |--------|      count[0] = 3
 *              `--- stride[0] = 16 ------'
 *
 * Boxes are in order and do not interleave: the next box begins behind the last rank of the one before. Ranks are
 * merged in the order of the radix tree, so uniting two sets costs O(number of boxes), whatever the number of ranks.
 * Equal sets may have different boxes.
 */
#ifndef ST_RANKS_HPP
#define ST_RANKS_HPP

#include "values/vec.hpp"

#include <cstdint>
#include <vector>

namespace st {

struct Interval {
    int32_t low, high; // both inside
    bool operator==(const Interval &o) const { return low == o.low && high == o.high; }
};

struct Box {
    static constexpr int kDims = 3;

    int32_t low = 0, high = -1; // the first interval
    int32_t count[kDims] = {1, 1, 1};
    int32_t stride[kDims] = {0, 0, 0}; // inner dimensions first; those behind ndims() have count 1, stride 0

    Box() = default;
    Box(int32_t low_, int32_t high_) : low(low_), high(high_) {}

    bool operator==(const Box &) const = default;
    int ndims() const { return count[0] == 1 ? 0 : count[1] == 1 ? 1 : count[2] == 1 ? 2 : 3; }
    int32_t last() const;
    uint64_t size() const;
    bool contains(int32_t rank) const;
    /* Another dimension around it; false when that is none (hostile input). */
    bool repeat(int64_t times, int64_t distance);

    /* Call `f(interval)` in order. */
    template <class F> void each(F f) const {
        for (int32_t k = 0, z = 0; k < count[2]; ++k, z += stride[2])
            for (int32_t j = 0, y = z; j < count[1]; ++j, y += stride[1])
                for (int32_t i = 0, x = y; i < count[0]; ++i, x += stride[0]) f(Interval{low + x, high + x});
    }
};

class RankSet {
  public:
    RankSet() = default;
    explicit RankSet(int32_t rank) : first_(rank, rank) {}

    bool empty() const { return first_.high < first_.low; }
    uint64_t size() const;
    int32_t lowest() const { return first_.low; }
    int32_t highest() const { return rest_.empty() ? first_.last() : rest_.back().last(); }
    bool contains(int32_t rank) const;
    bool operator==(const RankSet &o) const;

    size_t nboxes() const { return empty() ? 0 : 1 + rest_.size(); }
    const Box &box(size_t i) const { return i ? rest_[i - 1] : first_; }
    template <class F> void each(F f) const { // interval by interval
        for (size_t i = 0; i < nboxes(); ++i) box(i).each(f);
    }
    std::vector<Interval> intervals() const;
    size_t position(int32_t rank) const; // how many come before it
    size_t nbytes() const { return rest_.capacity() * sizeof(Box); }

    /* A box behind all others. */
    void append(const Box &box);
    void unite(const RankSet &other);
    RankSet intersect(const RankSet &other) const;
    RankSet minus(const RankSet &other) const;

    /* The sorted ranks as a value vector: its nested repetitions are the dissertation's ranklist (§2.2). */
    Vec to_vec() const;

  private:
    Box first_; // most sets are one box
    std::vector<Box> rest_;

    Box pop();
    void push(const Box &box);
};

} // namespace st
#endif
