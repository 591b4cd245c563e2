"""Runs with drawn computation times, and the interval of their times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median_low

import numpy as np
from numpy.typing import NDArray

from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.kernels import Cluster
from scalatrace.predict.platform import Platform
from scalatrace.predict.platform.accuracy import Accuracy

Factors = NDArray[np.float32]

__all__ = ["RepeatInterval", "drawn_options", "interval_of", "repeats", "sampled_nodes"]


@dataclass(frozen=True)
class RepeatInterval:
    """Times of runs, ns.

    Attributes:
        low_ns, high_ns: without checks the 2.5 % and 97.5 % quantiles of the runs, whose times have long
            tails. With checks, the times between which a run on the machine is with 95 % confidence.
        accuracy: of the checks; None: the interval has the variation of computation only.
    """

    median_ns: float
    low_ns: float
    high_ns: float
    count: int
    accuracy: Accuracy | None = None


def repeats(
    simulator: Simulator,
    platform: Platform,
    options: SimulateOptions,
    count: int,
    nodes: Callable[[int], tuple[Factors, Factors]] | None = None,
) -> Iterator[float]:
    """Yield the times (ns) of runs whose computation times are drawn with successive seeds.

    Args:
        nodes: slowness and noise of each rank, by seed: each run has nodes of its own.
    """
    for seed in range(options.seed, options.seed + count):
        yield simulator.run(platform, drawn_options(options, seed, nodes)).time_ns


def drawn_options(
    options: SimulateOptions, seed: int, nodes: Callable[[int], tuple[Factors, Factors]] | None = None
) -> SimulateOptions:
    """Return options of a run whose computation times are drawn with a seed; `nodes` as in `repeats`."""
    drawn = replace(options, drawn=True, seed=seed)
    if nodes is None:
        return drawn
    slowness, noise = nodes(seed)
    return replace(drawn, slowness=slowness, noise=noise)


def sampled_nodes(cluster: Cluster, platform: Platform, nranks: int, seed: int) -> tuple[Factors, Factors]:
    """Sample the nodes of ranks from a cluster.

    Returns:
        [nranks] factors on computation, and relative deviations of kernel times.
    """
    nodes = platform.nodes_of(nranks)
    sampled = cluster.sample(int(nodes.max()) + 1, seed)
    return sampled.factor[nodes].astype(np.float32), sampled.noise[nodes].astype(np.float32)


def interval_of(times_ns: Sequence[float], accuracy: Accuracy | None = None) -> RepeatInterval:
    """Return the interval of some times, interpolated between neighbours, or of a run on the machine.

    The median is the time of a run, the lower one of an even number. It is in the interval, also where all
    checks took longer than predicted.

    Args:
        times_ns: of runs; with `accuracy`, of one run or more.
        accuracy: of predictions on the platform.
    """
    low, high = (float(value) for value in np.quantile(times_ns, (0.025, 0.975)))
    median = median_low(times_ns)
    if accuracy is not None and min(times_ns) > 0:
        deviation = float(np.std(np.log(times_ns), ddof=1)) if len(times_ns) > 1 else 0.0
        least, most = accuracy.factors(deviation)
        low, high = median * min(least, 1.0), median * max(most, 1.0)
        return RepeatInterval(median, low, high, len(times_ns), accuracy)
    return RepeatInterval(median, low, high, len(times_ns))
