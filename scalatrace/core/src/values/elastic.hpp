/* elastic.hpp - an elastic value: value vectors, each for a group of ranks (§5.2.1).
 *
 *   one vector for all participants      groups_ = null, vec = {8, 8, 8, ...}
 *
 *   two groups                           groups_ --> | ranks 0, 3       | vec 1, 1, 1, ... |
 *                                                    | ranks 1..2       | vec 2, 2, 2, ... |
 *
 *   a histogram (lossy)                  summary --> histogram of all values of all ranks; no vector, no group
 *
 * The intra-node stage has one vector, and stores no ranklist. The inter-node merge adds groups where ranks differ;
 * they are in the order of their lowest rank, have no rank in common and no two have the same values. Where the user
 * allowed it, a value becomes a histogram once it has more than `limit` terms or groups (§5.3.1).
 */
#ifndef ST_ELASTIC_HPP
#define ST_ELASTIC_HPP

#include "values/histogram.hpp"
#include "values/ranks.hpp"
#include "values/vec.hpp"

#include <algorithm>
#include <vector>

namespace st {

struct Group {
    RankSet ranks;
    Vec vec;
};

/* The length of an array and the average of its elements, in one integer: the value of an array under a limit. */
struct Averaged {
    static constexpr int kBits = 24;
    static constexpr int64_t kMaxLength = (int64_t{1} << kBits) - 1;
    int64_t mean;
    uint64_t length;
    int64_t packed() const { // an average of more than 39 bits becomes the nearest one that fits
        constexpr int64_t kHighest = (int64_t{1} << (63 - kBits)) - 1;
        return std::clamp(mean, -kHighest, kHighest) * (int64_t{1} << kBits) + static_cast<int64_t>(length);
    }
    static Averaged from(int64_t packed) { return {packed >> kBits, static_cast<uint64_t>(packed & kMaxLength)}; }
};

/* Histogram of all values of all ranks; of averaged arrays, of their averages. */
struct Summary {
    Histogram values;
    double lengths = 0; // sum of the lengths of averaged arrays

    void add(int64_t value, uint64_t times, bool averaged);
    void merge(const Summary &other) {
        values.merge(other.values);
        lengths += other.lengths;
    }
};

class Elastic {
  public:
    Vec vec;           // of all participants, when there is no group
    bool dead = false; // a peer encoding that was given up, because another one needs far fewer vectors

    uint32_t limit = 0;               // terms or groups above which this becomes a histogram; 0: never
    bool averaged = false;            // are the values Averaged arrays?
    std::unique_ptr<Summary> summary; // the histogram, or null

    void append(int64_t value) {
        if (__builtin_expect(limit != 0, 0))
            append_limited(value);
        else
            vec.append(value);
    }
    /* Append n values, which are `stride` elements apart in memory. */
    void append(const int64_t *values, size_t n, size_t stride) {
        if (__builtin_expect(limit != 0, 0))
            for (size_t i = 0; i < n; ++i) append_limited(values[i * stride]);
        else
            vec.append(values, n, stride);
    }
    /* Append later values of the same ranks. */
    void append_later(const Elastic &later);
    /* Replace vectors by a histogram. `nranks`: number of ranks that share a vector in no group. */
    void summarise(uint64_t nranks);

    bool single() const { return !groups_; }
    const std::vector<Group> &groups() const { return *groups_; }
    std::vector<Group> &groups() { return *groups_; }
    size_t ngroups() const { return summary ? kNoGroups : groups_ ? groups_->size() : 1; }
    static constexpr size_t kNoGroups = size_t{1} << 40; // of a histogram: more than any number of groups

    Elastic() = default;
    Elastic(const Elastic &o)
        : vec(o.vec), dead(o.dead), limit(o.limit), averaged(o.averaged),
          summary(o.summary ? new Summary(*o.summary) : nullptr),
          groups_(o.groups_ ? new std::vector<Group>(*o.groups_) : nullptr) {}
    Elastic &operator=(const Elastic &o) {
        if (this != &o) *this = Elastic(o);
        return *this;
    }
    Elastic(Elastic &&) noexcept = default;
    Elastic &operator=(Elastic &&) noexcept = default;

    /* Become an elastic value without values. */
    void reset() {
        vec.clear();
        groups_.reset();
        summary.reset();
        dead = averaged = false;
        limit = 0;
    }
    /* Make the vector of all participants, `ranks`, a group; no effect when there are groups. */
    void spread(const RankSet &ranks);

    /* Add the vectors of another elastic value. `mine`, `theirs`: the participants of each, none in common. */
    void unite(const RankSet &mine, Elastic &&other, const RankSet &theirs);

    /* The vector of one rank; null when it has none. */
    const Vec *of(int32_t rank) const;

    size_t nbytes() const;

  private:
    std::unique_ptr<std::vector<Group>> groups_;

    void normalise();
    void append_limited(int64_t value);
    void check_terms();
};

} // namespace st
#endif
