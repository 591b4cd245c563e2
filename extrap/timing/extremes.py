"""The largest of ever more samples: what a histogram's maximum and its slowest rank become at another scale.

A curve through the maxima of small runs follows the mean's trend; how much larger one of more samples is
is told by extreme-value theory (Dominguez-Trujillo ch. 3). Of a histogram's tail only its last bin is known:
smallest, mean, number. What exceeds its smallest sample u is taken as exponential with scale b = mean - u, so
maxima are Gumbel's (the GEV's type I), and that of n samples is u + b (ln(n p) + 0.577) when a part p exceeds
u. A GEV fitted to blocks drawn from the bin would mistake the bin's width for a heavy tail.
"""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt

import numpy as np

from scalatrace.extrap.timing.bins import MAX_SAMPLE
from scalatrace.stats.bootstrap import PredictionInterval
from scalatrace.stats.extreme_values import emma
from scalatrace.stats.interval_width import LEVEL
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.quantiles import quantiles

__all__ = ["slowest_interval", "stretched"]

DEVIATIONS = 1.96
"""Standard deviations on each side of an interval of the probability `LEVEL`."""
MIN_LAST_BIN_SAMPLES = 5
"""Samples in the last bin that tell anything of the tail."""


def stretched(histogram: Histogram, seen: Histogram) -> Histogram:
    """Return an extrapolated histogram with the maximum that as many samples as it has let expect.

    Args:
        histogram: at the target's scale.
        seen: of the largest run: its maximum is of as many samples as it has.
    """
    last = histogram.all_bins[-1]
    if histogram.count <= seen.count or last.count < MIN_LAST_BIN_SAMPLES:
        return histogram
    top = min(histogram.max + (last.mean - last.min) * log(histogram.count / seen.count), MAX_SAMPLE)
    bins = (*histogram.bins[:-1], last._replace(max=max(top, last.max))) if histogram.bins else ()
    return replace(histogram, max=top, bins=bins)


def slowest_interval(histogram: Histogram, nprocs: int) -> PredictionInterval:
    """Return how long the slowest of so many ranks takes, each like a sample of the histogram, with 95 %.

    The interval is that of the scale b, known from as many samples as the last bin has.
    """
    last = histogram.all_bins[-1]
    beyond = nprocs * last.count / histogram.count
    if beyond < 1 or last.count < MIN_LAST_BIN_SAMPLES or last.min == last.max:
        value = min(emma(lambda q: quantiles(histogram, np.array([q]))[0], nprocs), histogram.max)
        return PredictionInterval(value, min(last.min, value), max(value, histogram.max), LEVEL, 0)
    sure = DEVIATIONS / sqrt(last.count)
    low, value, high = (_maximum(last, beyond, 1 + by) for by in (-min(sure, 1.0), 0.0, sure))
    return PredictionInterval(value, low, high, LEVEL, 0)


def _maximum(last: Bin, beyond: float, part: float) -> float:
    """The mean of the largest of so many samples beyond a bin's smallest, with that part of its scale."""
    return last.min + part * (last.mean - last.min) * (log(beyond) + float(np.euler_gamma))
