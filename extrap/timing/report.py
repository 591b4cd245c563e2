"""Timing report of a result: per call site the model, its fit, the interval, and the slowest rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from scalatrace.extrap.grid.model import Model, Rule, histograms
from scalatrace.extrap.timing.curves.curve import Curve
from scalatrace.extrap.timing.curves.registry import timing_model
from scalatrace.extrap.timing.joint import extrapolate_histogram, mean_points
from scalatrace.extrap.timing.largest.extremes import slowest_interval
from scalatrace.extrap.timing.plain_report import TimingRow, timing_row
from scalatrace.extrap.timing.rules import FEWEST, by_ranks, least_totals
from scalatrace.trace.symbolic.format_formula import format_where
from scalatrace.trace.values.histogram import Histogram

__all__ = ["STATS", "FittedMean", "fitted_means", "timing_rows"]

STATS = ("compute_ns", "comm_ns")


def timing_rows(
    model: Model, nprocs: int, choice: str | None = None, run_noise: float = 0.0
) -> list[TimingRow]:
    """A row per call site, predecessor and time that has samples in at least two traces, the longest first.

    Raises:
        TimingError: an unknown model.
    """
    rows = []
    for one in fitted_means(model, choice, run_noise):
        predicted = extrapolate_histogram(
            list(one.samples.values()), list(one.samples), nprocs, choice, run_noise=run_noise
        )
        slowest = slowest_interval(predicted, nprocs)
        rows.append(timing_row(one.site, one.op, one.stat, one.curve, nprocs, one.unit, slowest=slowest))
    return rows


@dataclass(frozen=True)
class FittedMean:
    """The mean of a statistic of one call site after one predecessor, over the number of ranks.

    Attributes:
        unit: the statistic's resolution: samples and curve are in multiples of it.
        samples: ranks of each input -> its histogram.
        after: operation and stack of the predecessor; None at the start.
        ranks: conditions on the ranks that make the call, of its node and the loops around it; none: all.
    """

    op: str
    stack: tuple[str, ...]
    stat: str
    unit: float
    samples: dict[int, Histogram]
    curve: Curve
    after: tuple[str, tuple[str, ...]] | None
    ranks: tuple[str, ...]

    @property
    def site(self) -> str:
        """The innermost frame."""
        return self.stack[0] if self.stack else ""


def fitted_means(
    model: Model, choice: str | None = None, run_noise: float = 0.0, limit: int | None = None
) -> list[FittedMean]:
    """Fit all means that have samples in at least two traces, the longest first.

    Means that extrapolation keeps as they are, since they make a small part of the time, are left out.

    Args:
        limit: the first so many.

    Raises:
        TimingError: an unknown model.
    """
    ranks = [prod(dims) for dims, _ in model.seen]
    least = least_totals(histograms(model))
    weighed = []
    for rule, conditions in _conditional_events(model.nodes, ()):
        for stat in rule.stats:
            for at, (name, resolution) in enumerate(model.stats):
                found = by_ranks(stat.histograms, ranks, at)
                if name not in STATS or len(found) < FEWEST:
                    continue
                if abs(found[max(found)].total) >= least.get(at, 0.0):
                    fields = rule, name, resolution, found, stat.pred, conditions
                    weighed.append((found[max(found)].total, fields))
    weighed.sort(key=lambda item: -item[0])
    result = []
    for _, (rule, name, resolution, found, after, conditions) in weighed[:limit]:
        points = mean_points(list(found.values()), list(found), (), run_noise)
        curve = timing_model(choice).fit([points])[0]
        stack = tuple(rule.stack)
        result.append(FittedMean(rule.op or "", stack, name, resolution, found, curve, after, conditions))
    return result


def _conditional_events(
    rules: Sequence[Rule], outer: tuple[str, ...]
) -> Iterator[tuple[Rule, tuple[str, ...]]]:
    """The events among rules and below them, in order, and the conditions on ranks that make them."""
    for rule in rules:
        where = format_where(rule.repeat.parts)
        conditions = outer if not where or where in outer else (*outer, where)
        if rule.op is not None:
            yield rule, conditions
        yield from _conditional_events(rule.children, conditions)
