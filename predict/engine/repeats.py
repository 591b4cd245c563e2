"""Runs with drawn computation times, and the interval of their times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scalatrace.predict.engine.simulate import Options, Simulator
from scalatrace.predict.kernels import Cluster
from scalatrace.predict.platform import Platform

Floats = NDArray[np.float32]

__all__ = ["Interval", "interval_of", "repeats", "slowness_of"]


@dataclass(frozen=True)
class Interval:
    """Times of runs, ns.

    Attributes:
        low_ns, high_ns: the 2.5 % and 97.5 % quantiles. Times have long tails, so none is assumed normal.
    """

    median_ns: float
    low_ns: float
    high_ns: float
    count: int


def repeats(
    simulator: Simulator,
    platform: Platform,
    options: Options,
    count: int,
    slowness: Callable[[int], Floats] | None = None,
) -> Iterator[float]:
    """Yield the times (ns) of runs whose computation times are drawn with successive seeds.

    Args:
        slowness: factors on the computation of each rank, by seed: each run has nodes of its own.
    """
    for seed in range(options.seed, options.seed + count):
        own = options.slowness if slowness is None else slowness(seed)
        drawn = replace(options, drawn=True, seed=seed, slowness=own)
        yield simulator.run(platform, drawn).time_ns


def slowness_of(cluster: Cluster, platform: Platform, nranks: int, seed: int) -> Floats:
    """Return [nranks] factors on computation, of ranks on nodes that are sampled from a cluster."""
    nodes = np.array([platform.node_of(rank) for rank in range(nranks)])
    factors = cluster.sample(int(nodes.max()) + 1, seed).factor
    slowness: Floats = factors[nodes].astype(np.float32)
    return slowness


def interval_of(times_ns: list[float]) -> Interval:
    """Return the interval of some times, interpolated between neighbours."""
    low, median, high = (float(value) for value in np.quantile(times_ns, (0.025, 0.5, 0.975)))
    return Interval(median, low, high, len(times_ns))
