/* ranks.cpp - sets of ranks as boxes.
 *
 * append() is the only way in which boxes are made: it joins the last two as long as they are rows of the same
 * blocks at one distance, so a grid's plane becomes one box while its ranks are added in order:
 *
 *   0..3  16..19                 two intervals         -->  0..3, 2 times 16 apart
 *   (0..3, 2 x 16)  32..35       a row and a block     -->  0..3, 3 times 16 apart
 *   (0..3, 3 x 16)  (64..67, 3 x 16)  two rows         -->  0..3, 3 times 16 apart, 2 times 64 apart
 *
 * Set operations on sets that are not one behind the other work on intervals, and append the result. RankList in
 * scalatrace/trace/values/ranklist.py is the same in Python; it folds nests when they are written (nested_runs.py).
 */
#include "values/ranks.hpp"

#include <algorithm>
#include <iterator>

namespace st {

/* The highest rank. */
int32_t Box::last() const {
    int32_t at = high;
    for (int d = 0; d < kDims; ++d) at += (count[d] - 1) * stride[d];
    return at;
}

uint64_t Box::size() const {
    uint64_t n = static_cast<uint64_t>(high - low) + 1;
    for (int32_t c : count) n *= static_cast<uint64_t>(c);
    return n;
}

/* Divide by the strides, the outermost dimension first. */
bool Box::contains(int32_t rank) const {
    int32_t x = rank - low;
    if (x < 0) return false;
    for (int d = ndims() - 1; d >= 0; --d) x -= std::min(x / stride[d], count[d] - 1) * stride[d];
    return x <= high - low;
}

bool Box::repeat(int64_t times, int64_t distance) {
    const int d = ndims();
    const int64_t end = last();
    if (d == kDims || times < 2 || times > INT32_MAX || distance > INT32_MAX || distance <= end - low + 1 ||
        end + (times - 1) * distance > INT32_MAX)
        return false;
    count[d] = static_cast<int32_t>(times);
    stride[d] = static_cast<int32_t>(distance);
    return true;
}

namespace {

/* Are the boxes equal in the first `ndims` dimensions, apart from their positions? */
bool same_blocks(const Box &a, const Box &b, int ndims) {
    if (a.high - a.low != b.high - b.low) return false;
    for (int d = 0; d < ndims; ++d)
        if (a.count[d] != b.count[d] || a.stride[d] != b.stride[d]) return false;
    return true;
}

/* Join `b`, which is behind `a`, with it: both are rows of the same blocks at one distance, or two equal boxes. */
bool join(Box &a, const Box &b) {
    const int na = a.ndims(), nb = b.ndims(), outer = std::max(na, nb) - 1;
    if (outer >= 0 && same_blocks(a, b, outer)) {
        const int32_t stride = std::max(a.stride[outer], b.stride[outer]);
        const bool in_step = (na <= outer || a.stride[outer] == stride) && (nb <= outer || b.stride[outer] == stride);
        if (in_step && int64_t{b.low} - a.low == int64_t{a.count[outer]} * stride) {
            a.count[outer] += b.count[outer];
            a.stride[outer] = stride;
            return true;
        }
    }
    return na == nb && na < Box::kDims && same_blocks(a, b, na) && a.repeat(2, int64_t{b.low} - a.low);
}

/* Take the first (or last) interval out of a box. The rest becomes up to kDims boxes, in order. */
Interval peel(const Box &box, bool from_end, std::vector<Box> &left) {
    Box rest = box;
    for (int d = box.ndims() - 1; d >= 0; --d) {
        Box others = rest; // all blocks but one, from which the inner dimensions are peeled
        --others.count[d];
        rest.count[d] = 1;
        rest.stride[d] = 0;
        if (others.count[d] == 1) others.stride[d] = 0;
        const int32_t distance = from_end ? others.count[d] * box.stride[d] : 0, skip = from_end ? 0 : box.stride[d];
        rest.low += distance;
        rest.high += distance;
        others.low += skip;
        others.high += skip;
        left.push_back(others);
    }
    if (!from_end) std::reverse(left.begin(), left.end());
    return {rest.low, rest.high};
}

} // namespace

uint64_t RankSet::size() const {
    uint64_t n = 0;
    for (size_t i = 0; i < nboxes(); ++i) n += box(i).size();
    return n;
}

bool RankSet::contains(int32_t rank) const {
    auto it = std::upper_bound(rest_.begin(), rest_.end(), rank, [](int32_t r, const Box &b) { return r < b.low; });
    return it == rest_.begin() ? first_.contains(rank) : std::prev(it)->contains(rank);
}

bool RankSet::operator==(const RankSet &o) const {
    if (first_ == o.first_ && rest_ == o.rest_) return true;
    return size() == o.size() && intervals() == o.intervals();
}

std::vector<Interval> RankSet::intervals() const {
    std::vector<Interval> out;
    each([&](Interval i) { out.push_back(i); });
    return out;
}

size_t RankSet::position(int32_t rank) const {
    size_t n = 0;
    each([&](Interval i) {
        if (i.low < rank) n += static_cast<size_t>(std::min(i.high + 1, rank) - i.low);
    });
    return n;
}

Box RankSet::pop() {
    const Box top = rest_.empty() ? first_ : rest_.back();
    if (rest_.empty())
        first_ = Box();
    else
        rest_.pop_back();
    return top;
}

void RankSet::push(const Box &b) {
    if (empty())
        first_ = b;
    else
        rest_.push_back(b);
}

/* Where the new box touches the last one, two intervals become one: both are taken out of their boxes first. */
void RankSet::append(const Box &b) {
    if (!empty() && highest() + 1 == b.low) {
        std::vector<Box> before, behind;
        const Interval left = peel(pop(), true, before), right = peel(b, false, behind);
        for (const Box &part : before) push(part);
        append(Box(left.low, right.high));
        for (const Box &part : behind) append(part);
        return;
    }
    push(b);
    while (!rest_.empty() && join(rest_.size() > 1 ? rest_[rest_.size() - 2] : first_, rest_.back())) rest_.pop_back();
}

/* Disjoint sets in order: append. Otherwise merge the intervals and build the boxes anew. */
void RankSet::unite(const RankSet &other) {
    if (other.empty()) return;
    if (empty()) {
        *this = other;
        return;
    }
    if (highest() < other.lowest()) {
        for (size_t i = 0; i < other.nboxes(); ++i) append(other.box(i));
        return;
    }
    if (*this == other) return;
    const std::vector<Interval> mine = intervals(), theirs = other.intervals();
    std::vector<Interval> all, whole;
    std::merge(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(all),
               [](const Interval &a, const Interval &b) { return a.low < b.low; });
    for (const Interval &i : all)
        if (!whole.empty() && i.low <= whole.back().high + 1)
            whole.back().high = std::max(whole.back().high, i.high);
        else
            whole.push_back(i);
    *this = RankSet();
    for (const Interval &i : whole) append(Box(i.low, i.high));
}

/* Both lists of intervals are sorted: one pass. */
RankSet RankSet::intersect(const RankSet &other) const {
    RankSet out;
    if (empty() || other.empty() || highest() < other.lowest() || other.highest() < lowest()) return out;
    const std::vector<Interval> mine = intervals(), theirs = other.intervals();
    auto a = mine.begin();
    auto b = theirs.begin();
    while (a != mine.end() && b != theirs.end()) {
        const int32_t low = std::max(a->low, b->low), high = std::min(a->high, b->high);
        if (low <= high) out.append(Box(low, high));
        if (a->high < b->high)
            ++a;
        else
            ++b;
    }
    return out;
}

/* Cut each interval at those of the other set. */
RankSet RankSet::minus(const RankSet &other) const {
    RankSet out;
    const std::vector<Interval> theirs = other.intervals();
    auto b = theirs.begin();
    each([&](Interval i) {
        while (b != theirs.end() && b->high < i.low) ++b;
        for (auto c = b; c != theirs.end() && c->low <= i.high; ++c) {
            if (c->low > i.low) out.append(Box(i.low, c->low - 1));
            i.low = std::max(i.low, c->high + 1);
        }
        if (i.low <= i.high) out.append(Box(i.low, i.high));
    });
    return out;
}

Vec RankSet::to_vec() const {
    Vec v;
    each([&](Interval i) {
        for (int64_t r = i.low; r <= i.high; ++r) v.append(r);
    });
    return v;
}

} // namespace st
