"""The slowest rank's growth with P (Dominguez-Trujillo §2.3.3 and chapter 3; Sun et al. for EMMA).

Every interval between collectives takes as long as its slowest rank, so what grows is the mean of maxima.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalatrace.expected_maximum import emma
from scalatrace.extrap.timing.curves.errors import TimingError
from scalatrace.extrap.timing.curves.points import Array
from scalatrace.extrap.timing.largest.gev import FITS, Gev
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.quantiles import quantiles

__all__ = [
    "Growth",
    "block_maxima",
    "emma_of_samples",
    "fitted",
    "growth",
    "slowest",
    "slowest_load",
]

BLOCKS = 200
"""Maxima that stand for a histogram's tail."""
STEP = 0.25
"""A load in the file is log2 of the rank's part of the mean, in steps of this (docs/reference/format.md)."""


def emma_of_samples(samples: npt.ArrayLike, m: float) -> float:
    """Return the same from samples alone: beyond as many as there are it cannot grow."""
    x = np.asarray(samples, float)
    return emma(lambda q: np.quantile(x, q, method="hazen"), m)


def fitted(samples: npt.ArrayLike, fit: str = "pwm") -> Gev:
    """Return the distribution fitted to maxima by the method `pwm` or `mom`."""
    if fit not in FITS:
        raise TimingError(f"there is no fit {fit!r}; choose one of {', '.join(FITS)}")
    return FITS[fit](samples)


def block_maxima(samples: npt.ArrayLike, size: int) -> Array:
    """Return the largest of each `size` samples in a row; what is left over is left out."""
    x = np.asarray(samples, float)
    whole = len(x) // size * size
    result: Array = x[:whole].reshape(-1, size).max(axis=1)
    return result


@dataclass(frozen=True, slots=True)
class Growth:
    """The expected slowest of `nprocs` ranks, and that as a part of the mean over ranks."""

    nprocs: int
    slowest: float
    over_mean: float


def growth(maxima: npt.ArrayLike, nprocs_in: int, targets: Iterable[int], fit: str = "pwm") -> list[Growth]:
    """Return how the mean of interval maxima over `nprocs_in` ranks grows; parts are of that mean."""
    x = np.asarray(maxima, float)
    distribution, mean = fitted(x, fit), float(x.mean())
    result = []
    for nprocs in targets:
        value = emma(distribution.quantile, nprocs / nprocs_in)
        result.append(Growth(nprocs, value, value / mean if mean else 1.0))
    return result


def slowest(histogram: Histogram, nprocs: int, fit: str = "pwm", seed: int = 0) -> float:
    """Return how long the slowest of so many ranks takes, each like a sample of the histogram.

    Up to a tenth of the samples their own quantiles tell; beyond, a GEV fitted to maxima of blocks drawn from
    them.
    """
    if nprocs <= max(1, histogram.count // 10) or histogram.min == histogram.max:
        return emma(lambda q: quantiles(histogram, np.array([q]))[0], nprocs)
    size = max(1, histogram.count // BLOCKS)
    random = np.random.default_rng(seed)
    drawn = quantiles(histogram, random.uniform(size=BLOCKS * size))
    return emma(fitted(block_maxima(drawn, size), fit).quantile, nprocs / size)


def slowest_load(load: Sequence[int], nprocs: int, fit: str = "pwm") -> float:
    """Return the slowest of so many ranks' total as a part of the mean total.

    Args:
        load: `Trace.load` of a statistic, one number per rank recorded.
    """
    factors = np.exp2(np.array(load, float) * STEP)
    if len(factors) < 3 or np.ptp(factors) == 0:
        return float(factors.max()) if len(factors) else 1.0
    return max(emma(fitted(factors, fit).quantile, nprocs), 1.0)
