/* schedules.hpp - algorithms of collective operations: who sends how many bytes to whom, in which round.
 *
 *   kAlgorithms: operation, name, condition --> function(R &) --> R::round(step of each member), one round after another
 *
 * R is what happens with the rounds: the simulator computes the clocks of all members (collectives.cpp), a list keeps
 * the steps of one member for exports and tests (schedules.cpp). In a round, a member may send one message and receive
 * one. Its next round begins when these have ended, as with blocking calls; messages that are sent and received by
 * nonblocking calls before a wait for all are `together`. R has
 *
 *   size(), root(), sizes()     of the call
 *   round(step)                 step(i): what member i does
 *   rounds(n, step, period)     n rounds of step(k, i) in which every member sends and receives as many bytes as the
 *                               others; after `period` rounds the partners repeat
 *   together(body)              the messages of all rounds of `body` are under way together; they are received in the
 *                               order of their arrival, and not reduced
 *
 * Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005);
 * Bruck et al. (1997) for alltoall and allgather; Hensgen, Finkel, Manber (1988) for the dissemination barrier;
 * Pjesivac-Grbovic et al. (2007) for the trees and chains of Open MPI; Chen et al. (2005) for neighbor exchange;
 * Loch, Koslovski (2021) for Sparbit; ompi/mca/coll/base of Open MPI 5 for linear algorithms: gather, scatter and reduce
 * make blocking calls, bcast, alltoall and the first half of barrier nonblocking ones.
 */
#ifndef ST_SIM_SCHEDULES_HPP
#define ST_SIM_SCHEDULES_HPP

#include "st_sim.h"
#include "sums.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace sim {

struct Step { /* of one member in one round; -1: none */
    int32_t to = -1, from = -1;
    int64_t nbytes = 0; /* that it sends */
    bool reduces = false;
};

inline int32_t power_below(int32_t p) { /* the largest power of two that is at most p */
    int32_t n = 1;
    while (n <= p / 2) n *= 2;
    return n;
}

/* Sizes of a call. `nbytes` is the whole vector of bcast, reduce, allreduce and scan, one member's block of the others.
 * Parts of a vector are exact for lists of steps. In simulations they are rounded up: all members then send equal
 * messages, and rounds that repeat need not be computed one by one. */
class Sizes {
  public:
    Sizes(int32_t size, int64_t nbytes) : nbytes(nbytes), p_(size) {}
    /* sends, recvs: what member `rank` sends to each and receives from each, or NULL where sizes are equal. */
    Sizes(int32_t size, int64_t nbytes, int32_t rank, const int64_t *sends, const int64_t *recvs)
        : nbytes(nbytes), p_(size), exact_(true), rank_(rank), sends_(sends), recvs_(recvs) {
        const int64_t *blocks = recvs ? recvs : sends;
        if (!blocks) return;
        starts_.resize(static_cast<size_t>(size) + 1);
        for (int32_t i = 0; i < size; ++i) starts_[i + 1] = starts_[i] + blocks[i];
    }

    /* `count` of n parts of the vector. */
    int64_t parts(int64_t first, int64_t count, int64_t n) const {
        return exact_ ? cut(nbytes, first, count, n) : product(cut(nbytes, first, 1, n), count);
    }
    /* Blocks of `count` members from `first`, around the end. */
    int64_t blocks(int64_t first, int64_t count) const {
        if (starts_.empty()) return product(nbytes, count);
        first %= p_;
        const int64_t end = std::min<int64_t>(first + count, p_);
        return starts_[end] - starts_[first] + starts_[first + count - end];
    }
    /* Blocks of `count` members, from `first` down in steps of `stride`, around the start. */
    int64_t strided(int64_t first, int64_t stride, int64_t count) const {
        if (starts_.empty()) return product(nbytes, count);
        int64_t total = 0;
        for (int64_t k = 0; k < count; ++k) total += blocks(((first - k * stride) % p_ + p_) % p_, 1);
        return total;
    }
    /* Blocks of all. */
    int64_t whole() const { return blocks(0, p_); }
    /* From one member to another, where each pair has a size. */
    int64_t pair(int32_t from, int32_t to) const {
        return !sends_ ? nbytes : from == rank_ ? sends_[to] : recvs_[from];
    }
    /* Blocks of `count` of n groups of members; the first `p - n` groups have two. */
    int64_t groups(int64_t first, int64_t count, int64_t n) const {
        if (!exact_) return cut(whole(), first, count, n);
        const auto start = [&](int64_t group) { return group + std::min(group, p_ - n); };
        return blocks(start(first), start(first + count) - start(first));
    }

    int32_t size() const { return static_cast<int32_t>(p_); }

    const int64_t nbytes;

  private:
    int64_t cut(int64_t total, int64_t first, int64_t count, int64_t n) const {
        if (!exact_) return scaled(total, count, n, n - 1);
        return scaled(total, first + count, n, 0) - scaled(total, first, n, 0);
    }
    /* (total * count + more) / n */
    static int64_t scaled(int64_t total, int64_t count, int64_t n, int64_t more) {
        int64_t sum;
        if (!__builtin_mul_overflow(total, count, &sum) && !__builtin_add_overflow(sum, more, &sum)) return sum / n;
        return static_cast<int64_t>((static_cast<Wide>(total) * count + more) / n);
    }

    int64_t p_;
    bool exact_ = false;
    int32_t rank_ = -1;
    const int64_t *sends_ = nullptr, *recvs_ = nullptr;
    std::vector<int64_t> starts_;
};

/* Members beyond the largest power of two give their part to a neighbour, and get the result from it. */
template <class R> class Folded {
  public:
    explicit Folded(R &r) : r_(r), half_(power_below(r.size())), rest_(r.size() - half_) {}

    int32_t size() const { return half_; }
    int32_t member(int32_t f) const { return f < rest_ ? 2 * f + 1 : f + rest_; }
    int32_t index(int32_t i) const { return i < 2 * rest_ ? (i % 2 ? i / 2 : -1) : i - rest_; }

    void in(int64_t nbytes, bool reduces = true) {
        if (rest_) r_.round([&](int32_t i) { return pair(i, nbytes, 0, reduces); });
    }
    void out(int64_t nbytes) {
        out([=](int32_t) { return nbytes; });
    }
    template <class F> void out(F &&nbytes_to) {
        if (rest_) r_.round([&](int32_t i) { return pair(i, nbytes_to(i ^ 1), 1, false); });
    }
    /* Exchange with the member whose index differs in a bit. nbytes(first, count): parts that a member sends: its own
     * ones below the bit, or those of its partner. */
    template <class F> void exchange(int32_t mask, F &&nbytes, bool of_partner, bool reduces) {
        r_.round([&](int32_t i) {
            const int32_t f = index(i);
            if (f < 0) return Step{};
            const int32_t other = member(f ^ mask), owner = of_partner ? f ^ mask : f;
            return Step{other, other, nbytes(owner & -mask, mask), reduces};
        });
    }
    template <class F> void halving(F &&nbytes) {
        for (int32_t mask = half_ / 2; mask > 0; mask /= 2) exchange(mask, nbytes, true, true);
    }
    template <class F> void doubling(F &&nbytes, bool reduces = false) {
        for (int32_t mask = 1; mask < half_; mask *= 2) exchange(mask, nbytes, false, reduces);
    }

  private:
    Step pair(int32_t i, int64_t nbytes, int32_t sender, bool reduces) const {
        if (i >= 2 * rest_) return {};
        return i % 2 == sender ? Step{i ^ 1, -1, nbytes, false} : Step{-1, i ^ 1, 0, reduces};
    }

    R &r_;
    int32_t half_, rest_;
};

/* Sizes as functions: of `count` parts from `first`, the whole vector, blocks of members, a pair's, no bytes. */
template <class R> auto part_sizes(R &r, int32_t n) {
    return [&r, n](int64_t first, int64_t count) { return r.sizes().parts(first, count, n); };
}
/* The same of `count` successive parts that are one part of a vector with fewer ones. */
template <class R> auto halved_sizes(R &r, int32_t n) {
    return [&r, n](int64_t first, int64_t count) { return r.sizes().parts(first / count, 1, n / count); };
}
template <class R> auto vector_size(R &r) {
    return [n = r.sizes().nbytes](int64_t, int64_t) { return n; };
}
template <class R> auto block_sizes(R &r) {
    return [&r](int64_t first, int64_t count) { return r.sizes().blocks(first, count); };
}
template <class R> auto pair_sizes(R &r) {
    return [&r](int32_t from, int32_t to) { return r.sizes().pair(from, to); };
}
inline int64_t nothing(int64_t, int64_t) { return 0; }

template <class R> void dissemination(R &r) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; k *= 2) r.round([&](int32_t i) { return Step{(i + k) % p, (i + p - k) % p, 0, false}; });
}

/* Binomial tree from the root to all. nbytes(first, count): of a subtree, whose members are counted from the root. */
template <class R, class F> void down(R &r, int32_t root, F &&nbytes) {
    const int32_t p = r.size();
    for (int32_t mask = power_below(p) < p ? power_below(p) : p / 2; mask > 0; mask /= 2)
        r.round([&](int32_t i) {
            const int32_t v = (i + p - root) % p;
            const int32_t low = v % (2 * mask);
            if (low == 0 && v + mask < p)
                return Step{(v + mask + root) % p, -1, nbytes(v + mask, std::min(mask, p - v - mask)), false};
            if (low == mask) return Step{-1, (v - mask + root) % p, 0, false};
            return Step{};
        });
}

template <class R, class F> void up(R &r, int32_t root, F &&nbytes, bool reduces) {
    const int32_t p = r.size();
    for (int32_t mask = 1; mask < p; mask *= 2)
        r.round([&](int32_t i) {
            const int32_t v = (i + p - root) % p;
            const int32_t low = v % (2 * mask);
            if (low == mask) return Step{(v - mask + root) % p, -1, nbytes(v, std::min(mask, p - v)), false};
            if (low == 0 && v + mask < p) return Step{-1, (v + mask + root) % p, 0, reduces};
            return Step{};
        });
}

/* The member with which a root has its k-th message: in the order of ranks. */
inline int32_t other_member(int32_t k, int32_t root) { return k <= root ? k - 1 : k; }

/* Messages of one member to each other one. nbytes(i, 1): of member i. */
template <class R, class F> void from_root(R &r, int32_t root, F &&nbytes) {
    for (int32_t k = 1; k < r.size(); ++k)
        r.round([&](int32_t i) {
            const int32_t other = other_member(k, root);
            return i == root    ? Step{other, -1, nbytes(other, 1), false}
                   : i == other ? Step{-1, root, 0, false}
                                : Step{};
        });
}

/* The same to it. Reductions begin with the last member. */
template <class R, class F> void to_root(R &r, int32_t root, F &&nbytes, bool reduces) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; ++k)
        r.round([&](int32_t i) {
            const int32_t other = other_member(reduces ? p - k : k, root);
            return i == root ? Step{-1, other, 0, reduces} : i == other ? Step{root, -1, nbytes(i, 1), false} : Step{};
        });
}

/* Member i begins with part i + ahead. */
template <class R, class F> void ring(R &r, F &&nbytes, int32_t ahead, bool reduces) {
    const int32_t p = r.size();
    r.rounds(p - 1, [&](int32_t k, int32_t i) {
        return Step{(i + 1) % p, (i + p - 1) % p, nbytes((i + ahead + p - k) % p, 1), reduces};
    });
}

/* Pairs of neighbors, on alternate sides, pass on the two blocks that they got last. */
template <class R> void neighbor_exchange(R &r) {
    const int32_t p = r.size();
    const auto step = [&](int32_t k, int32_t i) {
        const int32_t other = (i + ((i + k) % 2 ? p - 1 : 1)) % p;
        if (k == 0) return Step{other, other, r.sizes().blocks(i, 1), false};
        const int32_t steps = k % 2 ? k / 2 : -k / 2; /* pairs of blocks between this one and the member's own */
        const int32_t first = i / 2 * 2 + 2 * (i % 2 ? -steps : steps);
        return Step{other, other, r.sizes().blocks((first + p) % p, 2), false};
    };
    r.round([&](int32_t i) { return step(0, i); });
    r.rounds(p / 2 - 1, [&](int32_t k, int32_t i) { return step(k + 1, i); }, 2);
}

/* nbytes(from, to) */
template <class R, class F> void pairwise(R &r, F &&nbytes, bool reduces) {
    const int32_t p = r.size();
    const bool power = power_below(p) == p;
    r.rounds(p - 1, [&](int32_t k, int32_t i) {
        const int32_t d = k + 1, to = power ? i ^ d : (i + d) % p;
        return Step{to, power ? to : (i + p - d) % p, nbytes(i, to), reduces};
    });
}

template <class R> void bruck_allgather(R &r) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; k *= 2)
        r.round([&](int32_t i) {
            return Step{(i + p - k) % p, (i + k) % p, r.sizes().blocks(i, std::min(k, p - k)), false};
        });
}

/* As Bruck, the far partners first: large messages go to near ones. After the round of distance d, a member has every
 * d-th block, from its own one down: ceil(p / d) blocks. The blocks of a round are one message, as in the paper. */
template <class R> void sparbit(R &r) {
    const int32_t p = r.size();
    for (int32_t d = power_below(p - 1); d > 0; d /= 2) {
        const int32_t count = (p - 1) / d - (p - 1) / d / 2; /* ceil(p / d) - ceil(p / 2d) */
        r.round([&](int32_t i) {
            return Step{(i + d) % p, (i + p - d) % p, r.sizes().strided(i, 2 * int64_t{d}, count), false};
        });
    }
}

template <class R> void bruck_alltoall(R &r) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; k *= 2) {
        const int64_t blocks = p / (2 * k) * k + std::max(0, p % (2 * k) - k); /* whose distance has this bit */
        r.round(
            [&](int32_t i) { return Step{(i + p - k) % p, (i + k) % p, product(r.sizes().nbytes, blocks), false}; });
    }
}

template <class R> void doubling(R &r, int64_t nbytes, bool reduces) {
    Folded f(r);
    f.in(nbytes, reduces);
    f.doubling([=](int64_t, int64_t) { return nbytes; }, reduces);
    f.out(nbytes);
}

template <class R> void rabenseifner_allreduce(R &r) {
    Folded f(r);
    f.in(r.sizes().nbytes);
    f.halving(halved_sizes(r, f.size()));
    f.doubling(halved_sizes(r, f.size()));
    f.out(r.sizes().nbytes);
}

template <class R> void rabenseifner_reduce(R &r) {
    Folded f(r);
    const int32_t root = r.root();
    f.in(r.sizes().nbytes);
    f.halving(halved_sizes(r, f.size()));
    const int32_t at = std::max(f.index(root), 0); /* a root without part gets the result at last */
    for (int32_t mask = 1; mask < f.size(); mask *= 2)
        r.round([&](int32_t i) {
            const int32_t own = f.index(i);
            if (own < 0) return Step{};
            const int32_t v = own ^ at, low = v % (2 * mask);
            if (low == mask)
                return Step{f.member(own ^ mask), -1, r.sizes().parts(own / mask, 1, f.size() / mask), false};
            return low == 0 ? Step{-1, f.member(own ^ mask), 0, false} : Step{};
        });
    if (f.index(root) < 0)
        r.round([&](int32_t i) {
            const int32_t from = f.member(at);
            return i == from ? Step{root, -1, r.sizes().nbytes, false} : i == root ? Step{-1, from, 0, false} : Step{};
        });
}

template <class R> void halving_scatter(R &r) {
    Folded f(r);
    const Sizes &sizes = r.sizes();
    f.in(sizes.whole());
    f.halving([&](int64_t first, int64_t count) { return sizes.groups(first, count, f.size()); });
    f.out([&](int32_t to) { return sizes.blocks(to, 1); });
}

/* From the root around to the last member, or from that to the root. */
template <class R> void chain(R &r, int32_t root, bool reduces, bool up = false) {
    const int32_t p = r.size();
    for (int32_t k = 0; k + 1 < p; ++k)
        r.round([&](int32_t i) {
            const int32_t v = up ? (root + p - i + p - 1) % p : (i + p - root) % p;
            const int32_t next = (i + (up ? p - 1 : 1)) % p, before = (i + (up ? 1 : p - 1)) % p;
            return v == k       ? Step{next, -1, r.sizes().nbytes, false}
                   : v == k + 1 ? Step{-1, before, 0, reduces}
                                : Step{};
        });
}

/* Complete tree of two children: the members of a level, counted from the root, have the children that are once and twice
 * the level's width after them. A member has its data in round `received`, and sends them to both in the next two. */
class BinaryTree {
  public:
    explicit BinaryTree(int32_t size) : size_(size) {
        for (int32_t v = 1; v < size; ++v) last_ = std::max(last_, received(v));
    }
    int32_t parent(int32_t v) const { return width(v) / 2 - 1 + (v + 1 - width(v)) % (width(v) / 2); }
    int32_t child(int32_t v, bool first) const {
        const int64_t c = int64_t{v} + (first ? 1 : 2) * int64_t{width(v)};
        return c < size_ ? static_cast<int32_t>(c) : -1;
    }
    int32_t received(int32_t v) const { /* one round for each level, and one for each second child on the way */
        const auto bits = static_cast<uint32_t>(v) + 1;
        return std::bit_width(bits) - 2 + std::popcount(bits) - 1;
    }
    int32_t nrounds() const { return last_ + 1; }

  private:
    static int32_t width(int32_t v) { return power_below(v + 1); }
    int32_t size_, last_ = -1;
};

/* nbytes(v): what member v, counted from the root, receives. Upwards, the rounds are those downwards in reverse. */
template <class R, class F> void binary(R &r, int32_t root, F &&nbytes, bool up = false, bool reduces = false) {
    const int32_t p = r.size();
    const BinaryTree tree(p);
    const auto at = [=](int32_t v) { return (v + root) % p; };
    for (int32_t k = 0; k < tree.nrounds(); ++k) {
        const int32_t round = up ? tree.nrounds() - 1 - k : k;
        r.round([&](int32_t i) {
            const int32_t v = (i + p - root) % p, received = tree.received(v);
            const int32_t child =
                round == received + 1 || round == received + 2 ? tree.child(v, round == received + 1) : -1;
            const int32_t parent = v > 0 && round == received ? at(tree.parent(v)) : -1;
            const int32_t below = child < 0 ? -1 : at(child);
            return up ? Step{parent, below, parent < 0 ? 0 : nbytes(v), reduces}
                      : Step{below, parent, child < 0 ? 0 : nbytes(child), false};
        });
    }
}

/* Halves go down the two sides of the tree, then pairs of members exchange them. */
template <class R> void split_binary(R &r) {
    const int32_t p = r.size(), root = r.root();
    const auto half = [&](int32_t v) { return r.sizes().parts(v % 2 ? 0 : 1, 1, 2); };
    binary(r, root, half);
    r.round([&](int32_t i) {
        const int32_t v = (i + p - root) % p;
        if (p % 2 == 0 && v == 0) return Step{(root + p - 1) % p, -1, half(2), false};
        if (p % 2 == 0 && v == p - 1) return Step{-1, root, 0, false};
        if (v == 0) return Step{};
        const int32_t other = ((v % 2 ? v + 1 : v - 1) + root) % p;
        return Step{other, other, half(v), false};
    });
}

/* Tree of a radix: a member sends to radix - 1 others at each distance, the farthest first. */
template <class R> void knomial(R &r, int32_t root, int32_t radix) {
    const int32_t p = r.size();
    int64_t distance = 1;
    while (distance * radix < p) distance *= radix;
    for (; distance > 0; distance /= radix)
        for (int32_t k = 1; k < radix; ++k)
            r.round([&](int32_t i) {
                const int64_t v = (i + p - root) % p, low = v % (distance * radix);
                if (low == 0 && v + k * distance < p)
                    return Step{static_cast<int32_t>((v + k * distance + root) % p), -1, r.sizes().nbytes, false};
                if (low == k * distance) return Step{-1, static_cast<int32_t>((v - k * distance + root) % p), 0, false};
                return Step{};
            });
}

template <class R> void scan(R &r) {
    const int32_t p = r.size();
    for (int32_t k = 1; k < p; k *= 2)
        r.round([&](int32_t i) {
            const int32_t other = i ^ k;
            return other < p ? Step{other, other, r.sizes().nbytes, true} : Step{};
        });
}

/* An algorithm of an operation. On calls without its condition, the operation's algorithm `otherwise` is used. */
enum Condition : int32_t { kAlways, kEqualSizes, kEvenRanks, kPowerOfTwo };

template <class R> struct Algorithm {
    int32_t collective;
    const char *name;
    void (*run)(R &);
    Condition condition = kAlways;
    const char *otherwise = nullptr;
};

template <class R>
constexpr Algorithm<R> kAlgorithms[] = {
    {ST_SIM_BARRIER, "dissemination", [](R &r) { dissemination(r); }},
    {ST_SIM_BARRIER, "recursive_doubling", [](R &r) { doubling(r, 0, false); }},
    {ST_SIM_BARRIER, "tree", [](R &r) { up(r, 0, nothing, false), down(r, 0, nothing); }},
    {ST_SIM_BARRIER, "linear",
     [](R &r) {
         r.together([&] { to_root(r, 0, nothing, false); });
         from_root(r, 0, nothing);
     }},
    {ST_SIM_BCAST, "binomial", [](R &r) { down(r, r.root(), vector_size(r)); }},
    {ST_SIM_BCAST, "scatter_allgather",
     [](R &r) {
         down(r, r.root(), part_sizes(r, r.size()));
         ring(r, part_sizes(r, r.size()), r.size() - r.root(), false);
     }},
    {ST_SIM_BCAST, "chain", [](R &r) { chain(r, r.root(), false); }},
    {ST_SIM_BCAST, "linear", [](R &r) { r.together([&] { from_root(r, r.root(), vector_size(r)); }); }},
    {ST_SIM_BCAST, "scatter_doubling",
     [](R &r) {
         down(r, r.root(), part_sizes(r, r.size()));
         Folded(r).doubling(part_sizes(r, r.size()));
     },
     kPowerOfTwo, "scatter_allgather"},
    {ST_SIM_BCAST, "binary", [](R &r) { binary(r, r.root(), [&](int32_t) { return r.sizes().nbytes; }); }},
    {ST_SIM_BCAST, "split_binary", [](R &r) { split_binary(r); }},
    {ST_SIM_BCAST, "knomial", [](R &r) { knomial(r, r.root(), 4); }},
    {ST_SIM_REDUCE, "binomial", [](R &r) { up(r, r.root(), vector_size(r), true); }},
    {ST_SIM_REDUCE, "rabenseifner", [](R &r) { rabenseifner_reduce(r); }},
    {ST_SIM_REDUCE, "linear", [](R &r) { to_root(r, r.root(), vector_size(r), true); }},
    {ST_SIM_REDUCE, "chain", [](R &r) { chain(r, r.root(), true, true); }},
    {ST_SIM_REDUCE, "binary", [](R &r) { binary(r, r.root(), [&](int32_t) { return r.sizes().nbytes; }, true, true); }},
    {ST_SIM_ALLREDUCE, "recursive_doubling", [](R &r) { doubling(r, r.sizes().nbytes, true); }},
    {ST_SIM_ALLREDUCE, "rabenseifner", [](R &r) { rabenseifner_allreduce(r); }},
    {ST_SIM_ALLREDUCE, "ring",
     [](R &r) { ring(r, part_sizes(r, r.size()), 0, true), ring(r, part_sizes(r, r.size()), 1, false); }},
    {ST_SIM_ALLREDUCE, "linear",
     [](R &r) {
         to_root(r, 0, vector_size(r), true);
         r.together([&] { from_root(r, 0, vector_size(r)); });
     }},
    {ST_SIM_ALLREDUCE, "reduce_bcast", [](R &r) { up(r, 0, vector_size(r), true), down(r, 0, vector_size(r)); }},
    {ST_SIM_GATHER, "binomial", [](R &r) { up(r, r.root(), block_sizes(r), false); }, kEqualSizes, "linear"},
    {ST_SIM_GATHER, "linear", [](R &r) { to_root(r, r.root(), block_sizes(r), false); }},
    {ST_SIM_SCATTER, "binomial", [](R &r) { down(r, r.root(), block_sizes(r)); }, kEqualSizes, "linear"},
    {ST_SIM_SCATTER, "linear", [](R &r) { from_root(r, r.root(), block_sizes(r)); }},
    {ST_SIM_ALLGATHER, "recursive_doubling", [](R &r) { Folded(r).doubling(block_sizes(r)); }, kPowerOfTwo, "bruck"},
    {ST_SIM_ALLGATHER, "ring", [](R &r) { ring(r, block_sizes(r), 0, false); }},
    {ST_SIM_ALLGATHER, "bruck", [](R &r) { bruck_allgather(r); }},
    {ST_SIM_ALLGATHER, "gather_bcast",
     [](R &r) {
         up(r, 0, block_sizes(r), false);
         down(r, 0, [&](int64_t, int64_t) { return r.sizes().whole(); });
     }},
    {ST_SIM_ALLGATHER, "neighbor_exchange", [](R &r) { neighbor_exchange(r); }, kEvenRanks, "ring"},
    {ST_SIM_ALLGATHER, "sparbit", [](R &r) { sparbit(r); }},
    {ST_SIM_ALLTOALL, "bruck", [](R &r) { bruck_alltoall(r); }, kEqualSizes, "pairwise"},
    {ST_SIM_ALLTOALL, "pairwise", [](R &r) { pairwise(r, pair_sizes(r), false); }},
    {ST_SIM_ALLTOALL, "linear", [](R &r) { r.together([&] { pairwise(r, pair_sizes(r), false); }); }},
    {ST_SIM_REDUCE_SCATTER, "pairwise",
     [](R &r) { pairwise(r, [&](int32_t, int32_t to) { return r.sizes().blocks(to, 1); }, true); }},
    {ST_SIM_REDUCE_SCATTER, "recursive_halving", [](R &r) { halving_scatter(r); }},
    {ST_SIM_REDUCE_SCATTER, "linear",
     [](R &r) {
         to_root(r, 0, [&](int64_t, int64_t) { return r.sizes().whole(); }, true);
         from_root(r, 0, block_sizes(r));
     }},
    {ST_SIM_REDUCE_SCATTER, "ring", [](R &r) { ring(r, block_sizes(r), r.size() - 1, true); }},
    {ST_SIM_REDUCE_SCATTER, "recursive_doubling", [](R &r) { doubling(r, r.sizes().whole(), true); }},
    {ST_SIM_REDUCE_SCATTER, "reduce_scatterv",
     [](R &r) {
         up(r, 0, [&](int64_t, int64_t) { return r.sizes().whole(); }, true);
         from_root(r, 0, block_sizes(r));
     }},
    {ST_SIM_SCAN, "recursive_doubling", [](R &r) { scan(r); }},
    {ST_SIM_SCAN, "linear", [](R &r) { chain(r, 0, true); }},
};

/* Number, in kAlgorithms, of the algorithm that is used in place of one whose condition a call does not fulfil. */
int32_t usable_algorithm(int32_t algorithm, int32_t size, bool equal_sizes);

/* A row of kAlgorithms; name NULL: none. */
st_sim_algorithm describe_algorithm(int32_t algorithm);

/* Steps of one member of a call; those without a message are left out. */
std::vector<st_sim_step> list_steps(int32_t algorithm, int32_t rank, int32_t root, const Sizes &sizes);

} // namespace sim
#endif
