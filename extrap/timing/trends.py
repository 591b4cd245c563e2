"""Decide how each time of a symbolic trace follows the number of ranks, and up to how many ranks.

This is the one place that decides it: instantiation, totals, reports, pages and generated programs ask here.
A timing model that the user names is obeyed. By default a time follows a function only as far as traces
confirm it (`growth`); otherwise it stays as in the largest trace. So do start-up and shut-down, always.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate
from math import inf, prod
from typing import Any

from scalatrace.extrap.timing.extremes import stretched
from scalatrace.extrap.timing.joint import HistogramModel, fit_histograms, mean_points, with_expected_count
from scalatrace.extrap.timing.phases import phase_rows
from scalatrace.extrap.timing.registry import timing_model
from scalatrace.operations import may_wait
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import Points
from scalatrace.stats.trend_test import confirmed_trend, constant_curve, falling, is_steady
from scalatrace.trace.model.symbolic import SymbolicTrace, histograms
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.oversubscription import OVERSUBSCRIBED
from scalatrace.trace.values.histogram import Histogram

__all__ = ["MAX_WAITING_REACH", "MIN_RUNS", "Rows", "State", "Trend", "Trends"]

Rows = tuple[tuple[Any, ...], ...]
"""The histograms of one event after one predecessor: a tuple per input trace, an entry per statistic."""

MIN_RUNS = 2
"""Runs that show a trend."""

MAX_SMALL_SHARE = 0.01
"""Histograms that together have so small a part of a statistic keep the times of the largest trace."""

MAX_WAITING_REACH = 4
"""Time in calls that may wait for other ranks is extended to so many times the ranks and the time of the
largest trace."""


MAX_DEVIATION = 0.5
"""A function that deviates from the traces by a larger part of their values is not extended."""


class State(Enum):
    """How a time is extended: by a function; not, as it is steady or no trace confirms how it changes."""

    FOLLOWS = "follows"
    STEADY = "steady"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True)
class Trend:
    """A statistic of a call after one predecessor, over the number of ranks.

    Attributes:
        samples: ranks of an input trace -> its histogram.
        curve: of the mean; a constant unless it `follows` a function.
        reach: ranks beyond which the time does not change any more.
        model: of the whole histogram, for one that follows a function.
        is_phase: whether it is of start-up or shut-down, of which not even the maximum grows.
    """

    samples: dict[int, Histogram]
    curve: Curve
    state: State = State.STEADY
    reach: float = inf
    model: HistogramModel | None = None
    is_phase: bool = False

    def ranks(self, nprocs: int) -> int:
        """Return the number of ranks that the time of a result is of."""
        if self.model is not None:
            return int(min(nprocs, self.reach))
        return min((n for n in self.samples if n >= nprocs), default=max(self.samples))

    def mean(self, nprocs: int) -> float:
        """Return the mean on so many ranks."""
        ranks = self.ranks(nprocs)
        return self.samples[ranks].mean if self.model is None else self.curve.predict(ranks)

    def interval(self, nprocs: int) -> tuple[float, float]:
        """Return the 95 % interval of the mean on so many ranks."""
        return self.curve.interval(self.ranks(nprocs))

    def limit(self, nprocs: int) -> str:
        """Return why the time of a result is of fewer ranks; "": it is not."""
        ranks = self.ranks(nprocs)
        if ranks >= nprocs:
            return ""
        if self.state is State.FOLLOWS:
            return f"as on {ranks:,} ranks: time in calls that wait is not extended further"
        steady = "it does not change" if self.state is State.STEADY else "no trace confirms how it changes"
        return f"as on {ranks:,} ranks: {steady}"

    def histogram(self, nprocs: int) -> Histogram:
        """Return the histogram on so many ranks."""
        ranks, known = self.ranks(nprocs), list(self.samples.values())
        last = self.samples[max(self.samples)]
        if self.model is not None:
            count = max(1, round(self.model.count.predict(nprocs)))
            return stretched(self.model.at(ranks, count), last)
        chosen = self.samples[ranks]
        scaled = with_expected_count(chosen, known, list(self.samples), nprocs)
        return scaled if self.is_phase else stretched(scaled, chosen)


class Trends:
    """The trends of all times of a model.

    Args:
        choice: name of a timing model; None: the default, which wants confirmation.
        run_noise: how much whole runs differ, as a part of the time.

    Raises:
        UsageError: an unknown timing model.
    """

    def __init__(self, model: SymbolicTrace, choice: str | None = None, run_noise: float = 0.0) -> None:
        self.choice, self.run_noise = timing_model(choice), run_noise
        self.names = [stat.name for stat in model.stats]
        self.shared_cores = OVERSUBSCRIBED in model.meta
        self._seen = [prod(dims) for dims, _ in model.seen]
        self._least = _least_totals(histograms(model))
        self._model, self._phases = model, phase_rows(model)  # the model keeps the ids

    def samples(self, rows: Rows, at: int) -> dict[int, Histogram]:
        """Return ranks of an input trace -> its histogram of a statistic, where it has one."""
        pairs = zip(self._seen, rows, strict=True)
        return {n: row[at] for n, row in pairs if at < len(row) and row[at] is not None}

    def is_phase(self, rows: Rows, at: int) -> bool:
        """Return whether a statistic is a time of start-up or shut-down."""
        return (id(rows), at) in self._phases

    def is_small(self, samples: dict[int, Histogram], at: int) -> bool:
        """Whether a histogram has too small a part of its statistic for a model of its own."""
        return abs(samples[max(samples)].total) < self._least.get(at, 0.0)

    def trend(self, op: str, rows: Rows, at: int) -> Trend | None:
        """Return the trend of a statistic of a call; None: no trace has samples.

        Args:
            op: of the call.
            at: number of the statistic.
        """
        samples = self.samples(rows, at)
        if not samples:
            return None
        points = mean_points(list(samples.values()), list(samples), (), self.run_noise)
        if self.is_phase(rows, at):
            return Trend(samples, constant_curve(points), is_phase=True)
        if len(samples) < MIN_RUNS or self.is_small(samples, at):
            return Trend(samples, constant_curve(points))
        if not self.choice.confirms:
            model = self._fitted(samples)
            return Trend(samples, model.mean, State.FOLLOWS, inf, model)
        if not (direction := self.direction(points, at)):
            state = State.STEADY if is_steady(points) else State.UNCONFIRMED
            return Trend(samples, constant_curve(points), state)
        model = self._fitted(samples)
        curve = falling(model.mean, max(samples)) if direction < 0 else model.mean
        if curve is None or curve.deviation > MAX_DEVIATION:
            return Trend(samples, constant_curve(points), State.UNCONFIRMED)
        waits = self.names[at] == "comm_ns" and may_wait(op)
        reach = _waiting_reach(curve, max(samples)) if waits else inf
        return Trend(samples, curve, State.FOLLOWS, reach, replace(model, mean=curve))

    def direction(self, points: Points, at: int) -> int:
        """Return 1 for a statistic that grows beyond the traces, -1 for one that shrinks, else 0.

        Ranks that share cores wait for them, the longer the more they are: such times may shrink only.
        """
        direction = confirmed_trend(points)
        shared = self.shared_cores and self.names[at] in TIMES
        return 0 if shared and direction > 0 else direction

    def _fitted(self, samples: dict[int, Histogram]) -> HistogramModel:
        name, noise = self.choice.name, self.run_noise
        return fit_histograms(list(samples.values()), list(samples), name, run_noise=noise)


def _waiting_reach(curve: Curve, largest: int) -> float:
    """Return up to how many ranks a time in calls that may wait follows its curve."""
    limit, reach = MAX_WAITING_REACH * curve.predict(largest), MAX_WAITING_REACH * largest
    while reach > largest and curve.predict(reach) > limit:
        reach -= max(1, (reach - largest) // 16)
    return reach


def _least_totals(rules: Iterable[Rows]) -> dict[int, float]:
    """Return per statistic the total, in the largest trace, below which a histogram is not worth a model."""
    totals: dict[int, list[float]] = {}
    for rows in rules:
        largest = next((row for row in reversed(rows) if row), ())
        for at, histogram in enumerate(largest):
            if histogram is not None:
                totals.setdefault(at, []).append(abs(histogram.total))
    result = {}
    for at, values in totals.items():
        values.sort()
        rest = MAX_SMALL_SHARE * sum(values)
        result[at] = next((v for v, upto in zip(values, accumulate(values), strict=True) if upto > rest), 0.0)
    return result
