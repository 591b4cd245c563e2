/* periods.hpp - exact repetitions in the sequence of one rank's events.
 *
 *   events   p q  a b b a c  a b b a c  a b b a c
 *                 ^ start    `- period -'        ^ now: three periods are equal; so short
 *                                                                  ones are only joined when there are more
 *
 * The search of queue.hpp joins neighbouring nodes as soon as they are similar. In a long iteration with similar parts,
 * two iterations may so be folded differently, and no later one equals either. This search does not look at nodes: it
 * compares events, however they were folded.
 *
 * Hashes of all prefixes of the sequence are kept, so that any two stretches are compared in O(1). Places whose last
 * events have a certain hash, one in kEventsPerAnchor, are anchors. For each of six lengths, a table maps the hash of
 * the last events to the latest anchor behind such a stretch. Two anchors behind equal stretches are a multiple of the
 * period apart.
 */
#ifndef ST_PERIODS_HPP
#define ST_PERIODS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace st {

struct Repetition {
    uint64_t period = 0; // number of events; 0: there is none
    uint64_t start = 0;  // number of the first event from which on the sequence has this period, as far as it is kept
};

constexpr uint64_t kHashBase = 0x9e3779b97f4a7c15; // of the hashes of prefixes

class Periods {
  public:
    /* Number of equal blocks that make a repetition. Short ones may be equal by chance, and the search of queue.hpp finds
     * them. */
    static constexpr uint64_t min_blocks(uint64_t period) {
        return period < 64 ? std::max<uint64_t>(3, 64 / period) : 2;
    }

    /* Events so far; the next one has this number. */
    uint64_t size() const { return n_; }

    /* Add the key of the next event. */
    void add(uint64_t key) {
        if (n_ - first_ == hashes_.size()) grow();
        hash_ = hash_ * kHashBase + key;
        hashes_[n_++ & (hashes_.size() - 1)] = hash_;
    }
    /* Note this place if it is an anchor; `always`: other places, too, behind shorter stretches. */
    void note(bool always);
    /* The repetition that ends at the place noted last, which has as many blocks as are needed. */
    Repetition find() const;

    size_t nbytes() const;

  private:
    static constexpr size_t kMaxKept = size_t{1} << 19; // events that are kept: blocks of up to 131,000 events
    static constexpr size_t kEventsPerAnchor = 16;
    static constexpr size_t kMaxTableSize = 4096;
    static constexpr size_t kLengths = 6; // of stretches before an anchor

    struct Anchor {
        uint64_t hash = 0, place = 0; // of the stretch before it; number of events before it
    };
    using Anchors = std::vector<Anchor>; // by hash; few while there are few events

    uint64_t n_ = 0, first_ = 0; // number of events, and of the first one whose hash is kept
    uint64_t hash_ = 0;
    std::vector<uint64_t> hashes_;         // of the events up to the i-th, in a ring
    std::array<Anchors, kLengths> tables_; // by length of stretch
    std::vector<uint64_t> before_;         // places of earlier anchors behind the same stretches as the one noted last

    void grow();
    Anchor &anchor_of(size_t which, uint64_t hash);
    uint64_t until(uint64_t end) const { // hash of the events before number `end`
        return end == 0 ? 0 : hashes_[(end - 1) & (hashes_.size() - 1)];
    }
    uint64_t stretch(uint64_t begin, uint64_t end, uint64_t factor) const { return until(end) - until(begin) * factor; }
    uint64_t oldest() const { return first_ ? first_ + 1 : 0; } // number of the first event that can be compared
    bool periodic(uint64_t begin, uint64_t period) const;
};

} // namespace st
#endif
