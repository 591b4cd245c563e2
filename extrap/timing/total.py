"""The total time of a result with its interval, and the calls whose times follow no curve well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from scalatrace.extrap.grid.model import Model, Rule, events
from scalatrace.extrap.timing.curves.points import Points
from scalatrace.extrap.timing.curves.registry import timing_model
from scalatrace.extrap.timing.joint import mean_points
from scalatrace.extrap.timing.rules import FEWEST, Rows, Timing, by_ranks
from scalatrace.trace.values.histogram import Histogram

STATS = ("compute_ns", "comm_ns")
POOR_FIT = 0.2
"""A larger deviation of a curve, as a part of the values, is a poor fit."""

LARGE_SHARE = 0.9
"""The calls that make up so much of the total time are looked at."""

__all__ = ["PoorFit", "TotalTime", "poor_fits", "total_times"]


@dataclass(frozen=True, slots=True)
class TotalTime:
    """Time per rank, the mean over all ranks, and where it lies with a probability of 95 %.

    Attributes:
        stat: `compute_ns` for the time between calls, `comm_ns` for the time inside them.
    """

    stat: str
    mean_ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True, slots=True)
class PoorFit:
    """A call whose mean time follows no curve well.

    Attributes:
        share: of the time of its statistic in the result.
        fit: deviation from the curve, as a part of the values.
        formula: of the mean, in ns, with the number of ranks p.
    """

    op: str
    site: str
    stat: str
    share: float
    fit: float
    formula: str


def total_times(model: Model, nprocs: int, timing: Timing, choice: str | None = None) -> list[TotalTime]:
    """The total time of each statistic on so many ranks; of one without samples in two traces there is none.

    The total is the sum over all calls of their predicted times. The interval is, in proportion, that of a
    curve through the totals of the traces: errors of single calls are not independent of each other.

    Args:
        timing: predicts the histograms of a call from those of the traces.
        choice: name of a timing model; None: the best.
    """
    ranks = [prod(dims) for dims, _ in model.seen]
    result = []
    for at, name, resolution in _stats(model):
        rows = [stat.histograms for rule in events(model.nodes) for stat in rule.stats]
        seen: dict[int, float] = {}
        for row in rows:
            for n, histogram in by_ranks(row, ranks, at).items():
                seen[n] = seen.get(n, 0.0) + histogram.total
        if len(seen) < FEWEST:
            continue
        total = sum(_total(timing(row), at) for row in rows)
        points = Points.of(list(seen), [value / n for n, value in seen.items()])
        curve = timing_model(choice).fit([points])[0]
        expected, (low, high) = curve.predict(nprocs), curve.interval(nprocs)
        mean_ns = total / nprocs * resolution
        scale = mean_ns / expected if expected > 0 else 0.0
        bounds = max(min(mean_ns, low * scale), 0.0), max(mean_ns, high * scale)
        result.append(TotalTime(name, mean_ns, *bounds))
    return result


def poor_fits(
    model: Model, timing: Timing, choice: str | None = None, run_noise: float = 0.0
) -> list[PoorFit]:
    """The calls among those with most of the predicted time whose times follow no curve well."""
    ranks = [prod(dims) for dims, _ in model.seen]
    result = []
    for at, name, resolution in _stats(model):
        rows = list(_rows(model))
        totals = [_total(timing(row), at) for _, row in rows]
        order = sorted(range(len(rows)), key=lambda k: -totals[k])
        whole = sum(totals)
        for k, upto in zip(order, accumulate(totals[k] for k in order), strict=True):
            rule, row = rows[k]
            found = by_ranks(row, ranks, at)
            if len(found) >= FEWEST and whole > 0:
                points = mean_points(list(found.values()), list(found), (), run_noise)
                curve = timing_model(choice).fit([points])[0]
                if curve.deviation > POOR_FIT:
                    site, formula = rule.stack[0] if rule.stack else "", curve.times(resolution).formula
                    share = totals[k] / whole
                    result.append(PoorFit(rule.op or "", site, name, share, curve.deviation, formula))
            if upto >= LARGE_SHARE * whole:
                break
    return sorted(result, key=lambda one: -one.share)


def _stats(model: Model) -> Iterator[tuple[int, str, float]]:
    return ((at, name, resolution) for at, (name, resolution) in enumerate(model.stats) if name in STATS)


def _rows(model: Model) -> Iterator[tuple[Rule, Rows]]:
    return ((rule, stat.histograms) for rule in events(model.nodes) for stat in rule.stats)


def _total(row: Sequence[Histogram | None], at: int) -> float:
    histogram = row[at] if at < len(row) else None
    return 0.0 if histogram is None else histogram.total
