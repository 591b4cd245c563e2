"""Extend the histograms of each event from the input traces to one number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalatrace.extrap.timing.trends import Rows, State, Trend, Trends
from scalatrace.extrap.workers import each
from scalatrace.stats.curve import Curve
from scalatrace.trace.model.symbolic import SymbolicTrace, events

if TYPE_CHECKING:
    from scalatrace.trace.values.histogram import Histogram

__all__ = ["Estimate", "Times", "Timing", "no_times"]

Timing = Callable[[str, Rows], tuple[Any, ...]]
"""From an operation and its histograms in the input traces to those of the result."""


def no_times(op: str, rows: Rows) -> tuple[Any, ...]:
    """The timing of a trace of which only the calls matter."""
    return ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of a call in the result.

    Attributes:
        low, high: 95 % interval of the mean.
        ranks: number of ranks that the mean is of: fewer than the result's where it is not extended so far.
        curve: of the mean, for its formula and fit only.
    """

    histogram: Histogram
    low: float
    high: float
    state: State
    ranks: int
    curve: Curve

    @property
    def total(self) -> float:
        """The sum over all ranks, in multiples of the statistic's resolution."""
        return self.histogram.total

    @classmethod
    def of(cls, trend: Trend, nprocs: int) -> Estimate:
        """Evaluate a trend."""
        histogram, ranks = trend.histogram(nprocs), trend.ranks(nprocs)
        return cls(histogram, *trend.interval(nprocs), trend.state, ranks, trend.curve.times(1.0))


class Times:
    """The timing of a result: the statistics of each event of a model on so many ranks.

    Args:
        workers: processes that share the fits.
    """

    def __init__(self, model: SymbolicTrace, nprocs: int, trends: Trends, workers: int = 1) -> None:
        self.nprocs, self.trends = nprocs, trends
        self._known: dict[int, tuple[Estimate | None, ...]] = {}
        if workers > 1:
            rules = [(rule.op or "", stat.histograms) for rule in events(model.nodes) for stat in rule.stats]
            estimates = each(lambda pair: self._estimated(*pair), rules, workers)
            self._known = {id(rows): row for (_, rows), row in zip(rules, estimates, strict=True)}

    def __call__(self, op: str, rows: Rows) -> tuple[Any, ...]:
        """Return the histograms of the result."""
        return tuple(None if one is None else one.histogram for one in self.estimates(op, rows))

    def estimates(self, op: str, rows: Rows) -> tuple[Estimate | None, ...]:
        """Return the statistics of the result; None without samples."""
        if id(rows) not in self._known:
            self._known[id(rows)] = self._estimated(op, rows)
        return self._known[id(rows)]

    def _estimated(self, op: str, rows: Rows) -> tuple[Estimate | None, ...]:
        width = max((len(row) for row in rows), default=0)
        trends = (self.trends.trend(op, rows, at) for at in range(width))
        return tuple(None if trend is None else Estimate.of(trend, self.nprocs) for trend in trends)
