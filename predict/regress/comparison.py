"""Compare the means of new runs with those of earlier runs: on the logarithm, where all values are above 0.

Times vary in proportion to their size, and are never below 0. So their logarithms are taken as normal: means
are geometric, and an interval of a time lies above 0. Factors with values of 0 or less are compared as they
are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf

import numpy as np

from scalatrace.predict.regress.hotelling import Array, fluctuation_interval, mean_test

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
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


def compare(reference: Array, new: Array, confidence: float) -> Comparison:
    """Compare r new observations of p factors with n earlier ones, arrays of shape (r, p) and (n, p).

    Args:
        confidence: of the interval.
    """
    logarithmic = bool((reference > 0).all() and (new > 0).all())
    before, after = (np.log(reference), np.log(new)) if logarithmic else (reference, new)
    likelihood = mean_test(before, after).likelihood
    means = [values.mean(axis=0) for values in (before, after)]
    old, now = (float((np.exp(mean) if logarithmic else mean).sum()) for mean in means)
    if reference.shape[1] > 1:
        return Comparison(old, now, None, None, likelihood, None)
    low, high = fluctuation_interval(before[:, 0], len(new), confidence)
    if logarithmic:
        low, high = _exp(low), _exp(high)
    elif (reference >= 0).all():
        low = max(low, 0.0)
    return Comparison(old, now, low, high, likelihood, high / old - 1 if old > 0 else inf)


MAX_LOGARITHM = 700.0


def _exp(value: float) -> float:
    return exp(min(value, MAX_LOGARITHM))
