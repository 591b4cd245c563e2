/* histogram.hpp - samples in a fixed number of bins that adapt as they come (§2.3).
 *
 * Bins are clusters in the order of their means. A sample outside all of them opens a bin; when that is one too many, the two
 * neighbours whose union adds least variance become one. Merging two histograms works the same way on bins, which may overlap then:
 * so there are always kBins of them once there are as many different samples. */
#ifndef ST_HISTOGRAM_HPP
#define ST_HISTOGRAM_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace st {

/* Doubles near the ends of the range may round to 2^63, which std::llround cannot return. */
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

    uint64_t count = 0;
    double min = 0, max = 0, mean = 0;
    double m2 = 0; // sum of squared deviations from the mean (Welford)
    int nbins = 0;
    int unused = 0; // packed with the rest: equal histograms are equal bytes
    Bin bins[kBins + 1];

    void clear() {
        count = 0;
        min = max = mean = m2 = 0;
        nbins = 0;
    }
    void add(double sample);
    void add(double sample, uint64_t times);
    void merge(const Histogram &other);
    double stddev() const;
    /* Of one with so many bins, the others left out. */
    static constexpr size_t nbytes(int n) { return offsetof(Histogram, bins) + static_cast<size_t>(n) * sizeof(Bin); }

  private:
    void insert(const Bin &bin, double mean, double *means);
    int join_nearest(const double *means);
};

} // namespace st
#endif
