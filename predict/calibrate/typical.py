"""Typical durations of repeated measurements, without the repeats that the system interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

import numpy as np

from scalatrace.predict.calibrate.archive import Measurement

__all__ = ["Series", "by_size", "select_undisturbed", "series", "typical"]

LOW_PERCENTILE = 10
FACTOR = 3.0
"""A duration above this multiple of the low percentile is an interruption."""
SHORTEST_NS = 0.1
"""Clocks that return the same time twice do not make a duration 0, which has no logarithm."""

Series = tuple[list[int], list[float]]
"""Sizes, ascending, and a duration of each in ns."""


def select_undisturbed(ns: Sequence[float]) -> list[float]:
    """Return the durations during which no rank lost its core.

    A time slice lasts milliseconds, a thousand times as long as a message. On a shared machine it can hit
    most repeats, so the median would be one of them.
    """
    limit = FACTOR * max(float(np.percentile(ns, LOW_PERCENTILE)), SHORTEST_NS)
    return [max(time, SHORTEST_NS) for time in ns if time <= limit]


def typical(ns: Sequence[float]) -> float:
    """Return the median of the undisturbed durations."""
    return median(select_undisturbed(ns))


def by_size(
    measurements: Iterable[Measurement], size: Callable[[Measurement], int] = lambda m: m.nbytes
) -> Mapping[int, list[float]]:
    """Return all durations of each size, over repeats and visits."""
    durations: dict[int, list[float]] = {}
    for measurement in measurements:
        if measurement.ns:
            durations.setdefault(size(measurement), []).extend(measurement.ns)
    return dict(sorted(durations.items()))


def series(
    measurements: Iterable[Measurement], size: Callable[[Measurement], int] = lambda m: m.nbytes
) -> Series:
    """Return the typical duration of each size."""
    durations = by_size(measurements, size)
    return list(durations), [typical(ns) for ns in durations.values()]
