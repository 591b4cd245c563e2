"""Interval of a mean from values with outliers: the trimmed mean (Tukey & McLaughlin 1963; Wilcox 2012).

The g smallest and the g largest of n values are left out, g = 0.2 n rounded down. With the winsorised
deviation s (those values replaced by their neighbours),

    mean -/+ t s / ((1 - 2 * 0.2) sqrt(n))        t: Student's quantile with n - 2 g - 1 degrees of freedom

Sums of such means get their degrees of freedom from Welch and Satterthwaite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np

from scalatrace.stats.interval_width import LEVEL

__all__ = ["MeanInterval", "paired_saving", "sum_of_means", "trimmed_mean"]

TRIMMED = 0.2
"""Part of the values that is left out at each end."""


@dataclass(frozen=True)
class MeanInterval:
    """A mean, and where it lies with probability `level`.

    Attributes:
        variance: of the mean.
        freedom: degrees of freedom of the variance.
    """

    mean: float
    variance: float
    freedom: float
    level: float = LEVEL

    @property
    def halfwidth(self) -> float:
        """Distance between the mean and each end; infinite if a single value gave the mean."""
        if self.freedom <= 0:
            return inf
        if self.variance == 0:
            return 0.0
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, (1 + self.level) / 2)) * sqrt(self.variance)

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.halfwidth

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.halfwidth


def trimmed_mean(values: Sequence[float], level: float = LEVEL) -> MeanInterval:
    """Return the trimmed mean of one value or more, with its interval."""
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    g = int(TRIMMED * n)
    mean = float(ordered[g : n - g].mean())
    if n < 2:
        return MeanInterval(mean, 0.0, 0.0, level)
    winsorised = np.clip(ordered, ordered[g], ordered[n - g - 1])
    deviation = float(winsorised.std(ddof=1))
    return MeanInterval(mean, (deviation / (1 - 2 * g / n)) ** 2 / n, n - 2 * g - 1, level)


def paired_saving(before: Sequence[float], after: Sequence[float], level: float = LEVEL) -> MeanInterval:
    """Return how much less the values of pairs are after a change, with the interval: times above 0.

    The mean is that of the logarithms of ratios: what disturbs both measurements of a pair slows them down in
    proportion. The result is in the unit of the values, for the median of those before.
    """
    ratio = trimmed_mean([log(b / a) for a, b in zip(before, after, strict=True)], level)
    median_before = float(np.median(before))
    mean_after = median_before * exp(ratio.mean)
    return MeanInterval(median_before - mean_after, mean_after**2 * ratio.variance, ratio.freedom, level)


def sum_of_means(means: Sequence[MeanInterval], level: float = LEVEL) -> MeanInterval:
    """Return the sum of independent means with its interval; 0 for none."""
    variance = sum(mean.variance for mean in means)
    if any(mean.freedom <= 0 for mean in means):
        freedom = 0.0
    elif variance > 0:
        freedom = variance**2 / sum(mean.variance**2 / mean.freedom for mean in means)
    else:
        freedom = inf
    return MeanInterval(sum(mean.mean for mean in means), variance, freedom, level)
