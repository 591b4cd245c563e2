"""Bootstrap intervals of the slowest rank's time at another scale (Dominguez-Trujillo §3.2.2).

Parametric: a GEV is fitted to interval maxima, samples are drawn from it, fitted anew and projected by EMMA.
*Inter-node* takes one node's maxima at a time, *intra-node* one rank of each node at a time, *pooled* the
maxima over all ranks. Non-parametric: the largest of k maxima drawn with replacement is a maximum over k
times the ranks. It assumes no distribution, and cannot exceed what was seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.stats.extreme_values import emma, fit_gev
from scalatrace.stats.interval_width import LEVEL

__all__ = ["PredictionInterval", "inter_node", "intra_node", "non_parametric", "pooled"]

REPLICAS = 50
"""Replicas per node, or per rank of a node (§3.2.2)."""
POOLED_REPLICAS = 1000
"""Replicas for an interval of its own (Efron, in §3.2.2)."""
MAX_DRAWN = 1000
"""Maxima drawn for a mean from a fitted distribution; the mean of more varies little."""


@dataclass(frozen=True, slots=True)
class PredictionInterval:
    """A prediction of the slowest rank's time per interval, and where it lies with probability `level`."""

    median: float
    low: float
    high: float
    level: float
    replicas: int

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def inter_node(
    times: npt.ArrayLike, nodes_out: float, fit: str = "pwm", seed: int = 0, level: float = LEVEL
) -> PredictionInterval:
    """Return the interval from each node's maxima, over `nodes_out` nodes as large as these.

    Args:
        times: by interval, node, rank of the node.
    """
    per_node = _cube(times).max(axis=2)
    return _parametric(list(per_node.T), nodes_out, fit, seed, level, REPLICAS)


def intra_node(
    times: npt.ArrayLike, nprocs_out: float, fit: str = "pwm", seed: int = 0, level: float = LEVEL
) -> PredictionInterval:
    """Return the interval from one rank of each node at a time, over `nprocs_out` ranks.

    Args:
        times: by interval, node, rank of the node.
    """
    cube = _cube(times)
    return _parametric(list(cube.max(axis=1).T), nprocs_out / cube.shape[1], fit, seed, level, REPLICAS)


def pooled(
    maxima: npt.ArrayLike,
    factor: float,
    fit: str = "pwm",
    seed: int = 0,
    level: float = LEVEL,
    replicas: int = POOLED_REPLICAS,
    intervals: int = 0,
) -> PredictionInterval:
    """Return the interval of the expected maximum over `factor` times the ranks, from maxima over all.

    All data make one fit here, so it is narrower than one node's or one rank's; and the mean of the largest
    is that of the fitted distribution, which EMMA meets exactly for Gumbel's only.

    Args:
        intervals: not of the expected maximum, but of the mean of so many maxima, which varies, too.
    """
    x, random = np.asarray(maxima, float), np.random.default_rng(seed)
    samples = fit_gev(x, fit).sample(random, (replicas, len(x)))
    largest = [fit_gev(sample, fit).maximum_of(factor) for sample in samples]
    drawn = min(intervals, MAX_DRAWN)
    means = [fitted.sample(random, (drawn,)).mean() if drawn else fitted.mean for fitted in largest]
    return _interval(np.array(means), level)


def non_parametric(
    maxima: npt.ArrayLike,
    factor: int,
    seed: int = 0,
    level: float = LEVEL,
    replicas: int = POOLED_REPLICAS,
    intervals: int = 1,
) -> PredictionInterval:
    """Return where the mean time of `intervals` intervals lies on `factor` times the ranks.

    The maxima vary, and those of a later run do: each replica draws both.
    """
    x = np.asarray(maxima, float)
    if factor < 1 or len(x) == 0:
        raise UsageError("resampling takes maxima, and a factor of 1 or more")
    random = np.random.default_rng(seed)
    samples = (random.choice(x, len(x)) for _ in range(replicas))
    values = [random.choice(sample, (intervals, factor)).max(axis=1).mean() for sample in samples]
    return _interval(np.array(values), level)


def _parametric(
    series: Sequence[Floats], factor: float, fit: str, seed: int, level: float, replicas: int
) -> PredictionInterval:
    random = np.random.default_rng(seed)
    projected = []
    for maxima in series:
        distribution = fit_gev(maxima, fit)
        for sample in distribution.sample(random, (replicas, len(maxima))):
            projected.append(emma(fit_gev(sample, fit).quantile, factor))
    return _interval(np.array(projected), level)


def _interval(values: Floats, level: float) -> PredictionInterval:
    """The positions n (1 - level) / 2 and n (1 + level) / 2 of the values in order."""
    ordered, n = np.sort(values), len(values)
    low, high = int(n * (1 - level) / 2), min(int(np.ceil(n * (1 + level) / 2)), n) - 1
    return PredictionInterval(float(np.median(ordered)), float(ordered[low]), float(ordered[high]), level, n)


def _cube(times: npt.ArrayLike) -> Floats:
    cube = np.asarray(times, float)
    if cube.ndim != 3 or cube.shape[0] < 3:
        raise UsageError("times are by interval, node and rank of the node, for three intervals or more")
    return cube
