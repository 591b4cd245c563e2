/* histogram.hpp - samples in a fixed number of bins whose bounds adapt to the samples (§2.3).
 *
 *   bins      [2 . 3]   [9]     [40 . . 44]      each: count, min, max, sum
 *   sample    6 lies in no bin, so it opens one:
 *             [2 . 3] [6] [9]   [40 . . 44]
 *   with more than kBins bins, the two neighbours whose union adds least variance are joined:
 *             [2 . 3] [6 . 9]   [40 . . 44]
 *
 * Bins are in the order of their means. Merging two histograms inserts bins in the same way; bins of different ranks
 * may overlap. So there are always kBins bins once there are as many different samples, and memory is constant.
 */
#ifndef ST_HISTOGRAM_HPP
#define ST_HISTOGRAM_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace st {

/* Round to the nearest integer; doubles outside the range, which std::llround cannot return, become its ends. */
inline int64_t round_to_int64(double x) {
    if (x >= 0x1p63) return INT64_MAX;
    if (x < -0x1p63) return INT64_MIN;
    return std::llround(x);
}

struct Bin {
    uint64_t count;
    double min, max, sum;
    double mean() const { return sum / static_cast<double>(static_cast<int64_t>(count)); }
};

struct Histogram {
    static constexpr int kBins = 5;
    /* A million ranks that poll 10^12 times each. Doubles, and codes of counts in 63 bits, hold it. */
    static constexpr uint64_t kMaxSamples = UINT64_C(1) << 62;

    uint64_t count = 0;
    double min = 0, max = 0, mean = 0;
    double m2 = 0; // sum of squared deviations from the mean (Welford)
    int nbins = 0;
    int unused = 0; // padding, which is packed: equal histograms must be equal bytes
    Bin bins[kBins + 1];

    void clear() {
        count = 0;
        min = max = mean = m2 = 0;
        nbins = 0;
    }
    void add(double sample);
    void add(double sample, uint64_t times);
    void merge(const Histogram &other); // throws FormatError beyond kMaxSamples
    double stddev() const;
    /* Bytes of a histogram with n bins, without the unused ones. */
    static constexpr size_t nbytes(int n) { return offsetof(Histogram, bins) + static_cast<size_t>(n) * sizeof(Bin); }

  private:
    void insert(const Bin &bin, double mean, double *means);
    int join_nearest(const double *means);
};

} // namespace st
#endif
