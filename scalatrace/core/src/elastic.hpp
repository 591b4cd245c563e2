/* elastic.hpp - an elastic value: value vectors, each for a group of ranks (§5.2.1).
 *
 * While one vector serves all participants of its node no ranklist is stored (`groups` empty); the intra-node
 * stage never has more. The inter-node merge adds groups where ranks differ. Where the user allowed it, a value that follows no
 * rule becomes a histogram once its vectors have more than `limit` terms or groups (lossy; §5.3.1, "histograms"). */
#ifndef ST_ELASTIC_HPP
#define ST_ELASTIC_HPP

#include "histogram.hpp"
#include "ranks.hpp"
#include "vec.hpp"

#include <algorithm>
#include <vector>

namespace st {

struct Group {
    RankSet ranks;
    Vec vec;
};

/* An array of which only its length and the average of its elements are kept, in one integer. */
struct Averaged {
    static constexpr int kBits = 24;
    int64_t mean;
    uint64_t length;
    int64_t packed() const { // averages of 40 bits and more are stored as the nearest that fits
        constexpr int64_t kHighest = (int64_t{1} << (63 - kBits)) - 1;
        return std::clamp(mean, -kHighest, kHighest) * (int64_t{1} << kBits) + static_cast<int64_t>(length);
    }
    static Averaged from(int64_t packed) {
        return {packed >> kBits, static_cast<uint64_t>(packed & ((int64_t{1} << kBits) - 1))};
    }
};

/* All values of all ranks; of averaged arrays the averages. */
struct Summary {
    Histogram values;
    double lengths = 0; // sum over all

    void add(int64_t value, uint64_t times, bool averaged);
    void merge(const Summary &other) {
        values.merge(other.values);
        lengths += other.lengths;
    }
};

class Elastic {
  public:
    Vec vec; // of all participants, when there is no group

    bool dead = false; // a peer encoding given up because another needs far fewer vectors

    uint32_t limit = 0;               // terms or groups before this becomes a summary; 0: never
    bool averaged = false;            // values are Averaged arrays
    std::unique_ptr<Summary> summary; // then there is neither a vector nor a group

    void append(int64_t value) {
        if (__builtin_expect(limit != 0, 0))
            append_limited(value);
        else
            vec.append(value);
    }
    /* `n` values, each `stride` behind the one before. */
    void append(const int64_t *values, size_t n, size_t stride) {
        if (__builtin_expect(limit != 0, 0))
            for (size_t i = 0; i < n; ++i) append_limited(values[i * stride]);
        else
            vec.append(values, n, stride);
    }
    /* The same ranks' later values. */
    void take(const Elastic &later);
    /* `nranks`: how many ranks share a vector that is in no group. */
    void summarise(uint64_t nranks);

    bool single() const { return !groups_; }
    const std::vector<Group> &groups() const { return *groups_; }
    std::vector<Group> &groups() { return *groups_; }
    size_t ngroups() const { return summary ? kNoGroups : groups_ ? groups_->size() : 1; }
    static constexpr size_t kNoGroups = size_t{1} << 40; // worse than any number of groups

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

    /* No values, as new. */
    void reset() {
        vec.clear();
        groups_.reset();
        summary.reset();
        dead = averaged = false;
        limit = 0;
    }
    /* Give the vector of all participants, `ranks`, its ranklist; no effect when there are groups. */
    void spread(const RankSet &ranks);

    /* Take over another elastic value of other ranks. `mine`, `theirs`: the participants of each. */
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
