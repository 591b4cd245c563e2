/* histograms.cpp - round the numbers of histograms, and write them. */
#include "core/histograms.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace st {

namespace {

constexpr int kCoarse = 8, kFine = 23;                          // bits kept behind the leading one, one by one
constexpr int kMeanBits = 10, kBinBits = 4, kDeviationBits = 3; // in columns
constexpr uint64_t kMaxExactSamples = 12;               // of few samples: then bins of one sample each are shorter
constexpr uint64_t kManyHistograms = uint64_t{1} << 15; // of a trace with more, few samples have one bin in columns

void put_bytes(std::string &out, uint64_t v, int n) {
    for (; n; --n, v >>= 8) out.push_back(static_cast<char>(v));
}

/* Seven bits a byte, low ones first. */
void put_natural(std::string &out, uint64_t v) {
    for (; v > 0x7f; v >>= 7) put_bytes(out, (v & 0x7f) | 0x80, 1);
    put_bytes(out, v, 1);
}

/* Code of an integer rounded to `bits` + 1 binary digits: exponent and mantissa (docs/reference/format.md). */
int64_t code(long long value, int bits) {
    const uint64_t number = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    int exponent = std::max(0, static_cast<int>(std::bit_width(number)) - bits - 1);
    uint64_t mantissa = exponent ? (number + (uint64_t{1} << (exponent - 1))) >> exponent : number;
    if (mantissa >> (bits + 1)) {
        mantissa >>= 1;
        ++exponent;
    }
    const int64_t c = static_cast<int64_t>(exponent ? (static_cast<uint64_t>(exponent) << bits) + mantissa : mantissa);
    return value < 0 ? -c : c;
}

/* The integer that a code of no negative one stands for. */
long long number(int64_t code, int bits) {
    const int64_t exponent = std::max<int64_t>(0, (code >> bits) - 1);
    return static_cast<long long>(static_cast<uint64_t>(code - (exponent << bits)) << exponent);
}

struct CodedBin {
    uint64_t count;
    int64_t low, mean, high;
};

/* The bins' codes; bins that rounding made one value are one. */
std::vector<CodedBin> coded(const Histogram &h, double resolution, uint64_t max_one_bin) {
    std::vector<CodedBin> bins;
    auto of = [&](double x) { return code(round_to_int64(x / resolution), kBinBits); };
    if (h.count <= max_one_bin) return {{h.count, of(h.min), of(h.mean), of(h.max)}};
    for (int i = 0; i < h.nbins; ++i) {
        const Bin &b = h.bins[i];
        const int64_t low = of(b.min), high = of(b.max);
        if (!bins.empty() && low == high && low == bins.back().low && low == bins.back().high)
            bins.back().count += b.count;
        else
            bins.push_back({b.count, low, of(b.mean()), high});
    }
    return bins;
}

} // namespace

void put_histogram(Packer &p, const Histogram *h, double resolution) {
    if (!h) return p.nil();
    auto steps = [&](double x) { return round_to_int64(x / resolution); };
    if (h->count == 1) return p.integer(steps(h->min));
    std::string bytes;
    put_natural(bytes, h->count);
    auto coarse = [&](long long x) { put_bytes(bytes, static_cast<uint64_t>(code(x, kCoarse)), 2); };
    put_bytes(bytes, static_cast<uint64_t>(code(steps(h->mean), kFine)), 4);
    coarse(steps(h->stddev()));
    for (int i = 0; i < h->nbins; ++i) {
        const Bin &b = h->bins[i];
        coarse(static_cast<long long>(b.count));
        coarse(steps(b.min));
        if (b.count == 1 && h->count <= kMaxExactSamples) continue;
        coarse(steps(b.max));
        coarse(steps(b.sum / static_cast<double>(b.count)));
    }
    p.bin(bytes);
}

/* A program that never folds has a node of few samples for most calls. Their bins would take more than the rest. */
void HistogramColumns::expect(uint64_t n) {
    if (n > kManyHistograms) max_one_bin_ = kMaxExactSamples;
}

bool HistogramColumns::add(const Histogram &h, double resolution) {
    const int64_t mean = code(round_to_int64(h.mean / resolution), kMeanBits);
    const std::vector<CodedBin> bins = coded(h, resolution, max_one_bin_);
    if (h.count < 2 || bins.empty() || mean < 0) return false;
    for (const CodedBin &b : bins)
        if (b.low < 0 || b.low > b.mean || b.mean > b.high) return false;
    const long long stored = number(mean, kMeanBits);
    int64_t before = code(stored, kBinBits);
    if (bins.size() == 1 && (before < bins[0].low - 1 || before > bins[0].high + 1)) return false;
    natural(kCounts, h.count == count_ ? 0 : h.count);
    count_ = h.count;
    put_bytes(columns_[kMeans], static_cast<uint64_t>(mean) >> 8, 1);
    put_bytes(columns_[kMeanLowBytes], static_cast<uint64_t>(mean), 1);
    difference(kDeviations,
               code(round_to_int64(h.stddev() / resolution), kDeviationBits) - code(stored, kDeviationBits));
    natural(kNumbers, bins.size());
    if (bins.size() == 1) { // its mean is the histogram's, which rounding may put beside it
        const bool equal = round_to_int64(h.stddev() / resolution) == 0;
        const int64_t low = equal ? before : std::min(bins[0].low, before);
        const int64_t high = equal ? before : std::max(bins[0].high, before);
        difference(kMinima, low - before);
        natural(kMaxima, static_cast<uint64_t>(high - low));
        return true;
    }
    for (const CodedBin &b : bins) {
        natural(kBinCounts, static_cast<uint64_t>(code(static_cast<long long>(b.count), kBinBits)));
        difference(kMinima, b.low - before);
        if (b.count > 1) {
            natural(kBinMeans, static_cast<uint64_t>(b.mean - b.low));
            natural(kMaxima, static_cast<uint64_t>(b.high - b.mean));
        }
        before = b.high;
    }
    return true;
}

void HistogramColumns::put(Packer &p) const {
    p.array(columns_.size());
    for (const std::string &column : columns_) p.bin(column);
}

void HistogramColumns::natural(int column, uint64_t n) { put_natural(columns_[column], n); }

/* 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
void HistogramColumns::difference(int column, int64_t n) {
    natural(column, n >= 0 ? 2 * static_cast<uint64_t>(n) : 2 * static_cast<uint64_t>(-n) - 1);
}

} // namespace st
