"""Runs with drawn computation times, and the interval of their times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from scalatrace.predict.engine.simulate import Options, Simulator
from scalatrace.predict.platform import Platform

__all__ = ["Interval", "interval_of", "repeats"]


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


def repeats(simulator: Simulator, platform: Platform, options: Options, count: int) -> Iterator[float]:
    """Yield the times (ns) of runs whose computation times are drawn with successive seeds."""
    for number in range(count):
        drawn = replace(options, drawn=True, seed=options.seed + number)
        yield simulator.run(platform, drawn).time_ns


def interval_of(times_ns: list[float]) -> Interval:
    """Return the interval of some times, interpolated between neighbours."""
    low, median, high = (float(value) for value in np.quantile(times_ns, (0.025, 0.5, 0.975)))
    return Interval(median, low, high, len(times_ns))
