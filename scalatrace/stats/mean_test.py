"""Test the mean of new observations against a reference set (Cornebize 2021, §11.2.1, after Chew 1966).

n vectors of dimension p are known, and r new ones. All are independent samples of one normal distribution of
unknown mean and covariance, unless something changed. With mean x and covariance S of the n, and mean m of
the r vectors,

    t = n r (n - p) / ((n + r) (n - 1) p)  (m - x)^T S^-1 (m - x)                        (11.2)

is then F-distributed with p and n - p degrees of freedom. For one factor this is Student's t-test, and its
prediction interval.

Times vary in proportion to their size, and are never below 0. So `compare` takes the logarithms as normal
where all values are above 0: means are geometric, and an interval of a time lies above 0. Factors with values
of 0 or less are compared as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, sqrt

import numpy as np
import numpy.typing as npt

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError

__all__ = [
    "MeanComparison", "MeanTest", "compare", "fluctuation_interval", "mean_test", "prediction_halfwidth",
]  # fmt: skip

MAX_CONDITION = 1e12
"""Condition number of a correlation matrix beyond which factors depend on each other."""
MAX_LOGARITHM = 700.0


@dataclass(frozen=True)
class MeanTest:
    """Result of the F-test.

    Attributes:
        statistic: t of equation 11.2; infinite when constant factors changed.
        nfactors, nreference, nnew: p, n, r.
    """

    statistic: float
    nfactors: int
    nreference: int
    nnew: int

    @property
    def likelihood(self) -> float:
        """The probability of a mean at least as far from the reference (equation 11.4)."""
        if self.statistic == inf:
            return 0.0
        from scipy.special import fdtrc

        return float(fdtrc(self.nfactors, self.nreference - self.nfactors, self.statistic))

    def threshold(self, confidence: float) -> float:
        """Return Q_F, the quantile that t stays below with this probability."""
        return _quantile(confidence, self.nfactors, self.nreference - self.nfactors)

    def is_anomaly(self, confidence: float) -> bool:
        """Whether the new observations lie outside the prediction region of a confidence."""
        return self.statistic >= self.threshold(confidence)


def mean_test(reference: npt.ArrayLike, new: npt.ArrayLike) -> MeanTest:
    """Test whether the mean of new observations fits the reference set.

    Args:
        reference: n observations of p factors, shape (n, p), or (n,) for one factor.
        new: r observations, shape (r, p) or (r,).

    Raises:
        UsageError: shapes do not fit, n is not larger than p, or factors depend on each other.
    """
    before, later = _rows(reference), _rows(new)
    (n, p), r = before.shape, len(later)
    if later.shape[1] != p or r == 0:
        raise UsageError(f"{r} new observations of {later.shape[1]} factors; the reference has {p} factors")
    if n <= p:
        raise UsageError(f"{n} reference runs for {p} factors: at least {p + 1} are needed, better {3 * p}")
    distance = _squared_distance(before, later.mean(axis=0))
    scale = n * r * (n - p) / ((n + r) * (n - 1) * p)
    return MeanTest(scale * distance if distance < inf else inf, p, n, r)


def fluctuation_interval(reference: npt.ArrayLike, nnew: int, confidence: float) -> tuple[float, float]:
    """Return where the mean of `nnew` new values of one factor lies (equation 11.3).

    Args:
        reference: two or more values.
        confidence: probability, between 0 and 1.
    """
    runs = np.asarray(reference, float)
    n = len(runs)
    if n < 2:
        raise UsageError(f"{n} reference runs: an interval needs at least 2")
    half = prediction_halfwidth(float(runs.std(ddof=1)), n, nnew, confidence)
    mean = float(runs.mean())
    return mean - half, mean + half


@dataclass(frozen=True)
class MeanComparison:
    """One test of new runs against a reference set.

    Attributes:
        reference, new: means of both sets; of several factors, sums of the means.
        low, high: where the new mean lies if nothing changed; None for several factors.
        likelihood: of a mean at least as far away, if nothing changed.
        detectable: least increase, as a part of the reference, that is outside the interval; infinite from 0,
            None for several factors.
    """

    reference: float
    new: float
    low: float | None
    high: float | None
    likelihood: float
    detectable: float | None


def compare(reference: Floats, new: Floats, confidence: float) -> MeanComparison:
    """Compare r new observations of p factors with n earlier ones, arrays of shape (r, p) and (n, p).

    Args:
        confidence: of the interval.
    """
    logarithmic = bool((reference > 0).all() and (new > 0).all())
    before, after = (np.log(reference), np.log(new)) if logarithmic else (reference, new)
    likelihood = mean_test(before, after).likelihood
    means = [values.mean(axis=0) for values in (before, after)]
    reference_mean, now = (float((np.exp(mean) if logarithmic else mean).sum()) for mean in means)
    if reference.shape[1] > 1:
        return MeanComparison(reference_mean, now, None, None, likelihood, None)
    low, high = fluctuation_interval(before[:, 0], len(new), confidence)
    if logarithmic:
        low, high = _exp(low), _exp(high)
    elif (reference >= 0).all():
        low = max(low, 0.0)
    return MeanComparison(
        reference_mean, now, low, high, likelihood, high / reference_mean - 1 if reference_mean > 0 else inf
    )


def prediction_halfwidth(deviation: float, n: int, nnew: int, confidence: float) -> float:
    """Return how far the mean of `nnew` new values of one factor lies from that of n earlier ones, at most.

    Args:
        deviation: sample standard deviation of the earlier ones.
    """
    return deviation * sqrt((n + nnew) / (n * nnew) * _quantile(confidence, 1, n - 1))


def _quantile(confidence: float, dfn: int, dfd: int) -> float:
    if not 0 < confidence < 1:
        raise UsageError(f"confidence {confidence:g}: give a probability between 0 and 1, such as 0.99")
    from scipy.special import fdtri

    return float(fdtri(dfn, dfd, confidence))


def _rows(values: npt.ArrayLike) -> Floats:
    rows = np.asarray(values, float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise UsageError("observations must be finite numbers: a row per run, a column per factor")
    return rows


def _squared_distance(runs: Floats, mean: Floats) -> float:
    """Return (m - x)^T S^-1 (m - x); factors are standardised first, since their units differ."""
    deviation = runs.std(axis=0, ddof=1)
    difference = mean - runs.mean(axis=0)
    constant = deviation <= 1e-14 * np.abs(runs.mean(axis=0))
    if constant.any():
        if (np.abs(difference[constant]) > 1e-12 * np.abs(runs.mean(axis=0)[constant])).any():
            return inf
        runs, difference, deviation = runs[:, ~constant], difference[~constant], deviation[~constant]
        if not len(difference):
            return 0.0
    standard = (runs - runs.mean(axis=0)) / deviation
    correlation = standard.T @ standard / (len(runs) - 1)
    if np.linalg.cond(correlation) > MAX_CONDITION:
        raise UsageError("some factors are sums of others: leave them out of the common test")
    z = difference / deviation
    return float(z @ np.linalg.solve(correlation, z))


def _exp(value: float) -> float:
    return exp(min(value, MAX_LOGARITHM))
