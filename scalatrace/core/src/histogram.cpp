#include "histogram.hpp"

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
    for (int i = 0; i < nbins; ++i) {
        if (x > bins[i].max) continue;
        if (x < bins[i].min) break;
        ++bins[i].count;
        bins[i].sum += x;
        return;
    }
    insert(Bin{1, x, x, x});
    shrink();
}

void Histogram::add(double x, uint64_t times) {
    if (times == 1) return add(x);
    Histogram same;
    same.count = times;
    same.min = same.max = same.mean = x;
    same.nbins = 1;
    same.bins[0] = Bin{times, x, x, x * static_cast<double>(times)};
    merge(same);
}

void Histogram::merge(const Histogram &o) {
    if (!o.count) return;
    if (!count) {
        *this = o;
        return;
    }
    const double n = static_cast<double>(count), m = static_cast<double>(o.count), d = o.mean - mean;
    mean += d * m / (n + m);
    m2 += o.m2 + d * d * n * m / (n + m);
    count += o.count;
    min = std::min(min, o.min);
    max = std::max(max, o.max);
    for (int i = 0; i < o.nbins; ++i) {
        insert(o.bins[i]);
        shrink();
    }
}

/* Put a bin at its place, which its mean decides. Those of other ranks may overlap: joining them all would leave few bins. */
void Histogram::insert(const Bin &bin) {
    const double mean = bin.sum / static_cast<double>(bin.count);
    int place = nbins;
    for (; place > 0 && bins[place - 1].sum / static_cast<double>(bins[place - 1].count) > mean; --place)
        bins[place] = bins[place - 1];
    bins[place] = bin;
    ++nbins;
}

void Histogram::shrink() {
    if (nbins <= kBins) return;
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i + 1 < nbins; ++i) {
        const double a = static_cast<double>(bins[i].count), b = static_cast<double>(bins[i + 1].count);
        const double d = bins[i + 1].sum / b - bins[i].sum / a;
        const double added = a * b / (a + b) * d * d;
        if (added < least) {
            least = added;
            best = i;
        }
    }
    Bin &left = bins[best];
    const Bin &right = bins[best + 1];
    left = Bin{left.count + right.count, std::min(left.min, right.min), std::max(left.max, right.max),
               left.sum + right.sum};
    std::copy(bins + best + 2, bins + nbins, bins + best + 1);
    --nbins;
}

double Histogram::stddev() const { return count > 1 ? std::sqrt(m2 / static_cast<double>(count - 1)) : 0.0; }

} // namespace st
