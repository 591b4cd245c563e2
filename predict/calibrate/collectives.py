"""Measured collective operations beside their predicted times; rules that fit them better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from scalatrace.predict.calibrate.archive import Measurement
from scalatrace.predict.calibrate.typical import by_size, typical
from scalatrace.predict.platform import AlgorithmRule, Platform
from scalatrace.predict.platform.algorithms import algorithm_table
from scalatrace.predict.platform.collective_times import collective_ns

__all__ = ["CollectiveTime", "collective_times", "fit_rules"]

MIN_GAIN_LOG = math.log(1.25)
"""How much nearer, as a factor, another algorithm has to be before it replaces the library's."""

MAX_DISTANCE_LOG = math.log(2)
"""How far from a measured time, as a factor, that of another algorithm may be."""


@dataclass(frozen=True)
class CollectiveTime:
    """A collective operation as it was measured and as it is predicted.

    Attributes:
        nbytes: as the rules of algorithms count it.
        median_ns: measured, of the slowest rank.
        algorithm, predicted_ns: what the platform's rules choose, and its time.
        nearest, nearest_ns: the algorithm whose time is nearest to the measured one.
    """

    operation: str
    ranks: int
    nbytes: int
    median_ns: float
    algorithm: str
    predicted_ns: float
    nearest: str
    nearest_ns: float


def collective_times(measurements: Sequence[Measurement], platform: Platform) -> tuple[CollectiveTime, ...]:
    """Return the measured operations with their predictions, by operation, ranks and size."""
    times = []
    for name, ranks in sorted({(m.name, int(m.params.get("ranks", 0))) for m in measurements}):
        if name not in algorithm_table():
            continue
        matching = [m for m in measurements if (m.name, m.params.get("ranks", 0)) == (name, ranks)]
        for nbytes, durations in by_size(matching).items():
            times.append(_compare(platform.placed(ranks), name, ranks, nbytes, typical(durations)))
    return tuple(times)


def _compare(platform: Platform, name: str, ranks: int, nbytes: int, median_ns: float) -> CollectiveTime:
    predicted = {
        algorithm: collective_ns(platform, name, algorithm, nbytes, ranks)
        for algorithm in algorithm_table()[name]
    }
    chosen = platform.algorithm(name, nbytes, ranks)
    nearest = min((chosen, *predicted), key=lambda algorithm: _distance(median_ns, predicted[algorithm]))
    return CollectiveTime(
        name, ranks, nbytes, median_ns, chosen, predicted[chosen], nearest, predicted[nearest]
    )


def _distance(a_ns: float, b_ns: float) -> float:
    return abs(math.log(a_ns / b_ns)) if a_ns > 0 and b_ns > 0 else math.inf


def fit_rules(times: Sequence[CollectiveTime]) -> Mapping[str, tuple[AlgorithmRule, ...]]:
    """Return rules for the measured numbers of ranks, of operations that other algorithms fit better.

    Each measured size takes the algorithm whose time is nearest, if it is nearer than the library's by a
    factor of 1.25, and within a factor of 2 of the measured time. Between two sizes with different
    algorithms, the border is their geometric mean.
    """
    rules: dict[str, tuple[AlgorithmRule, ...]] = {}
    for name, of_operation in groupby(times, key=lambda time: time.operation):
        listed = list(of_operation)
        if any(_fitted_algorithm(time) != time.algorithm for time in listed):
            rules[name] = tuple(_rules_of_operation(listed))
    return rules


def _fitted_algorithm(time: CollectiveTime) -> str:
    nearest_distance = _distance(time.median_ns, time.nearest_ns)
    gain = _distance(time.median_ns, time.predicted_ns) - nearest_distance
    return time.nearest if gain > MIN_GAIN_LOG and nearest_distance < MAX_DISTANCE_LOG else time.algorithm


def _rules_of_operation(times: Sequence[CollectiveTime]) -> Iterator[AlgorithmRule]:
    """Yield the rules of one operation, for each number of ranks, the smallest first."""
    for ranks, of_ranks in groupby(
        sorted(times, key=lambda time: (time.ranks, time.nbytes)), lambda t: t.ranks
    ):
        listed = list(of_ranks)
        for time, larger in pairwise(listed):
            if _fitted_algorithm(time) != _fitted_algorithm(larger):
                border = min(math.isqrt(max(time.nbytes, 1) * larger.nbytes), larger.nbytes - 1)
                yield AlgorithmRule(_fitted_algorithm(time), border, ranks, blocks="equal", min_ranks=ranks)
        yield AlgorithmRule(_fitted_algorithm(listed[-1]), None, ranks, blocks="equal", min_ranks=ranks)
