/* histograms.hpp - histograms as a trace file holds them (docs/reference/format.md), one by one or in columns.
 *
 *   one by one:    count, mean, deviation, (count, min, max, mean) of each bin       within 0.2 %
 *   in columns:    all counts | all means | ... | all maxima of bins                  within 3 %
 *
 * A column holds the same quantity of all histograms, as differences of codes, mostly of one byte. It deflates well.
 */
#ifndef ST_HISTOGRAMS_HPP
#define ST_HISTOGRAMS_HPP

#include "io/msgpack.hpp"
#include "values/histogram.hpp"

#include <array>
#include <string>

namespace st {

/* Write one histogram; null is nil, and one sample an integer. */
void put_histogram(Packer &p, const Histogram *h, double resolution);

class HistogramColumns {
  public:
    /* Many histograms of few samples have one bin each. `n`: histograms of the trace. */
    void expect(uint64_t n);
    /* Append a histogram. False: it does not fit, as one sample or negative numbers. */
    bool add(const Histogram &h, double resolution);
    void put(Packer &p) const;

  private:
    enum { kCounts, kMeans, kMeanLowBytes, kDeviations, kNumbers, kBinCounts, kMinima, kBinMeans, kMaxima, kColumns };
    std::array<std::string, kColumns> columns_;
    uint64_t count_ = 0;       // of the histogram before
    uint64_t max_one_bin_ = 2; // samples that have one bin, whose ends they are

    void natural(int column, uint64_t n);
    void difference(int column, int64_t n);
};

} // namespace st
#endif
