/* periods.cpp - find repetitions by anchors, and compare stretches by hashes of prefixes.
 *
 *   until(i)       hash of the events before i: h = h * base + key
 *   stretch(i, j)  until(j) - until(i) * base^(j - i)
 *
 * A sequence has a period in [i, n) if [i, n - period) and [i + period, n) are equal.
 */
#include "fold/periods.hpp"

#include "tree/hash.hpp"

#include <algorithm>

namespace st {

namespace {

/* Powers of the base, by squaring. */
constexpr uint64_t power(uint64_t exponent) {
    uint64_t result = 1;
    for (uint64_t base = kHashBase; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

struct Length { // of stretches before an anchor
    uint64_t events, factor;
};
constexpr Length length(uint64_t events) { return {events, power(events)}; }
constexpr Length kStretches[] = {length(8), length(32), length(128), length(1024), length(8192), length(65536)};
constexpr size_t kShortLengths = 3;    // those noted at any place
constexpr size_t kEntriesPerEvent = 4; // of a table, so that few anchors have the same one

} // namespace

/* Make room for more events; forget the older half where too many are kept. */
void Periods::grow() {
    if (hashes_.size() == kMaxKept) {
        first_ += kMaxKept / 2;
        return;
    }
    std::vector<uint64_t> larger(std::max<size_t>(64, 2 * hashes_.size()));
    for (uint64_t i = first_; i < n_; ++i) larger[i & (larger.size() - 1)] = hashes_[i & (hashes_.size() - 1)];
    hashes_.swap(larger);
}

bool Periods::periodic(uint64_t begin, uint64_t period) const {
    const uint64_t factor = power(n_ - period - begin);
    return stretch(begin, n_ - period, factor) == stretch(begin + period, n_, factor);
}

/* The entry of a hash in a table, which grows with the number of events. */
Periods::Anchor &Periods::anchor_of(size_t which, uint64_t hash) {
    Anchors &table = tables_[which];
    const size_t size = std::min(kMaxTableSize, kEntriesPerEvent * hashes_.size());
    if (table.size() < size) {
        Anchors larger(size);
        for (const Anchor &a : table)
            if (a.place) larger[mix_key(a.hash) % size] = a;
        table.swap(larger);
    }
    return table[mix_key(hash) % table.size()];
}

size_t Periods::nbytes() const {
    size_t n = hashes_.capacity() * sizeof(uint64_t);
    for (const Anchors &table : tables_) n += table.capacity() * sizeof(Anchor);
    return n;
}

void Periods::note(bool always) {
    static_assert(sizeof kStretches == kLengths * sizeof *kStretches);
    const uint64_t kept = n_ - oldest();
    if (kept < kStretches[0].events) return;
    const auto ending = [this](const Length &l) { return stretch(n_ - l.events, n_, l.factor); };
    const bool anchor = mix_key(ending(kStretches[0])) % kEventsPerAnchor == 0;
    if (!anchor && !always) return;
    before_.clear();
    const size_t nlengths = anchor ? kLengths : kShortLengths;
    for (size_t i = 0; i < nlengths && kept >= kStretches[i].events; ++i) {
        const uint64_t hash = ending(kStretches[i]);
        Anchor &last = anchor_of(i, hash);
        if (last.hash == hash && last.place != n_) before_.push_back(last.place);
        last = Anchor{hash, n_};
    }
}

Repetition Periods::find() const {
    Repetition found;
    for (const uint64_t place : before_) {
        const uint64_t period = n_ - place, length = min_blocks(period) * period;
        if (n_ - oldest() < length || !periodic(n_ - length, period)) continue;
        found.period = period;
        break;
    }
    if (!found.period) return {};
    uint64_t low = oldest(),
             high = n_ - min_blocks(found.period) * found.period; // the repetition begins in [low, high]
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (periodic(middle, found.period))
            high = middle;
        else
            low = middle + 1;
    }
    found.start = low;
    return found;
}

} // namespace st
