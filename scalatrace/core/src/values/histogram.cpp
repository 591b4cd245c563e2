/* histogram.cpp - add samples and merge histograms.
 *
 * Mean and variance are exact: Welford's recurrence for a sample, the formula of Chan, Golub and LeVeque for a merge.
 * Only the distribution is approximate.
 */
#include "values/histogram.hpp"

#include "io/msgpack.hpp"

#include <algorithm>
#include <cmath>

namespace st {

void Histogram::add(double x) {
    ++count;
    if (count == 1) {
        min = max = mean = x;
    } else {
        min = std::min(min, x);
        max = std::max(max, x);
        const double d = x - mean;
        mean += d / static_cast<double>(count);
        m2 += d * (x - mean);
    }
    // Bins are in order: the first one that does not end below x may contain it.
    for (int i = 0; i < nbins; ++i) {
        if (x > bins[i].max) continue;
        if (x < bins[i].min) break;
        ++bins[i].count;
        bins[i].sum += x;
        return;
    }
    double means[kBins + 1];
    for (int i = 0; i < nbins; ++i) means[i] = bins[i].mean();
    insert(Bin{1, x, x, x}, x, means);
    if (nbins > kBins) join_nearest(means);
}

/* A histogram of equal samples, merged. */
void Histogram::add(double x, uint64_t times) {
    if (times == 1) return add(x);
    Histogram same;
    same.count = times;
    same.min = same.max = same.mean = x;
    same.nbins = 1;
    same.bins[0] = Bin{times, x, x, x * static_cast<double>(times)};
    merge(same);
}

/* `means` is kept beside the bins, since a mean takes a division. */
void Histogram::merge(const Histogram &o) {
    if (!o.count) return;
    if (!count) {
        *this = o;
        return;
    }
    if (o.count > kMaxSamples - count)
        throw FormatError("a histogram has more than 2^62 samples: a part of the trace is damaged");
    const double n = static_cast<double>(count), m = static_cast<double>(o.count), d = o.mean - mean;
    mean += d * m / (n + m);
    m2 += o.m2 + d * d * n * m / (n + m);
    count += o.count;
    min = std::min(min, o.min);
    max = std::max(max, o.max);
    double means[kBins + 1];
    for (int i = 0; i < nbins; ++i) means[i] = bins[i].mean();
    for (int i = 0; i < o.nbins; ++i) {
        insert(o.bins[i], o.bins[i].mean(), means);
        if (nbins <= kBins) continue;
        const int joined = join_nearest(means);
        std::copy(means + joined + 2, means + kBins + 1, means + joined + 1);
        means[joined] = bins[joined].mean();
    }
}

/* Insert a bin in the order of the means. Bins that overlap are not joined, since few bins would be left. `means`: the
 * means of the bins. */
void Histogram::insert(const Bin &bin, double mean, double *means) {
    int place = nbins;
    for (; place > 0 && means[place - 1] > mean; --place) {
        bins[place] = bins[place - 1];
        means[place] = means[place - 1];
    }
    bins[place] = bin;
    means[place] = mean;
    ++nbins;
}

/* Join the two neighbours whose union adds least variance; there is one bin more than kBins. Return their index. With
 * counts n, m and means x, y the union adds n m / (n + m) (x - y)^2. */
int Histogram::join_nearest(const double *means) {
    double n[kBins + 1], added[kBins];
    for (int i = 0; i <= kBins; ++i) n[i] = static_cast<double>(static_cast<int64_t>(bins[i].count));
    for (int i = 0; i < kBins; ++i) { // no branch, so that compilers can vectorise the divisions
        const double d = means[i + 1] - means[i];
        added[i] = n[i] * n[i + 1] / (n[i] + n[i + 1]) * d * d;
    }
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < kBins; ++i)
        if (added[i] < least) {
            least = added[i];
            best = i;
        }
    Bin &left = bins[best];
    const Bin &right = bins[best + 1];
    left = Bin{left.count + right.count, std::min(left.min, right.min), std::max(left.max, right.max),
               left.sum + right.sum};
    std::copy(bins + best + 2, bins + nbins, bins + best + 1);
    --nbins;
    return best;
}

double Histogram::stddev() const { return count > 1 ? std::sqrt(m2 / static_cast<double>(count - 1)) : 0.0; }

} // namespace st
