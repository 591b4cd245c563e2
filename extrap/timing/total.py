"""The total time of a result with its interval, and the calls whose times follow no curve well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isfinite

from scalatrace.extrap.timing.rules import Estimate, Times
from scalatrace.extrap.timing.trends import MIN_RUNS, Rows, State
from scalatrace.stats.forms import Points
from scalatrace.stats.interval_width import is_vague
from scalatrace.stats.trend_test import constant_curve
from scalatrace.trace.model.symbolic import Rule, SymbolicTrace, events
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.model.trace import Trace

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
        extended, kept: parts of it, from 0 to 1: of times that follow a function to the ranks of the result;
            of times on fewer ranks.
        unconfirmed: part of it that is kept since no trace confirms how it changes.
    """

    stat: str
    mean_ns: float
    low_ns: float
    high_ns: float
    extended: float
    kept: float
    unconfirmed: float


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


def total_times(model: SymbolicTrace, times: Times, trace: Trace) -> list[TotalTime]:
    """Return the total time of each statistic; of one without samples in two traces there is none.

    The total is the sum over all calls of the result between start-up and shut-down. Errors of single calls
    are not independent of each other, so its interval is the sum of the intervals of calls that follow
    functions. For those that keep their times, it is in proportion that of a constant through the totals of
    the traces.

    Args:
        times: of the result.
        trace: the result.
    """
    sums = _sums(trace.without_phases)
    result = []
    for at, name, _ in _stats(model):
        estimates = _estimates(model, times, at)
        rows = [(estimate, row) for _, row, estimate in estimates if not times.trends.is_phase(row, at)]
        if len(_totals(times, [row for _, row in rows], at)) >= MIN_RUNS:
            bounds = _bounds(times, rows, at)
            mean_ns = sums.get(name, 0.0) / times.nprocs
            result.append(_total_time(name, mean_ns, times.nprocs, [one for one, _ in rows], bounds))
    return result


def vague_interval_ns(totals: Sequence[TotalTime]) -> tuple[int, int] | None:
    """Return the interval of the run time, if it is too wide for a number; None: it is not, or not known."""
    low, high = sum(total.low_ns for total in totals), sum(total.high_ns for total in totals)
    return (round(low), round(high)) if isfinite(high) and low > 0 and is_vague(low, high) else None


def _sums(trace: Trace) -> dict[str, float]:
    """Return the sum of each statistic over all calls and ranks."""
    sums: dict[str, float] = {}
    for leaf in trace.leaves():
        for stats in leaf.stats:
            for stat, histogram in zip(trace.stats, stats.histograms, strict=False):
                if histogram is not None:
                    sums[stat.name] = sums.get(stat.name, 0.0) + histogram.total * stat.resolution
    return sums


def _bounds(times: Times, rows: list[tuple[Estimate, Rows]], at: int) -> tuple[float, float]:
    """Return the interval of the sum of all estimates."""
    low = high = kept = 0.0
    for estimate, _ in rows:
        if estimate.state is State.FOLLOWS:
            down, up = _relative(estimate)
            low, high = low + estimate.total * down, high + estimate.total * up
        else:
            kept += estimate.total
    still = [row for estimate, row in rows if estimate.state is not State.FOLLOWS]
    down, up = _constant_interval(_totals(times, still, at))
    return low + kept * down, high + kept * up


def _total_time(
    name: str, mean_ns: float, nprocs: int, estimates: list[Estimate], bounds: tuple[float, float]
) -> TotalTime:
    total = sum(one.total for one in estimates)

    def share(part: Iterator[float]) -> float:
        return sum(part) / total if total else 0.0

    low, high = (bound / total if total > 0 else 1.0 for bound in bounds)
    return TotalTime(
        name,
        mean_ns,
        mean_ns * max(min(1.0, low), 0.0),
        mean_ns * max(1.0, high),
        share(one.total for one in estimates if one.state is State.FOLLOWS and one.ranks == nprocs),
        share(one.total for one in estimates if one.ranks < nprocs),
        share(one.total for one in estimates if one.state is State.UNCONFIRMED),
    )


def _relative(estimate: Estimate) -> tuple[float, float]:
    mean = estimate.histogram.mean
    return (estimate.low / mean, estimate.high / mean) if mean > 0 else (1.0, 1.0)


def _totals(times: Times, rows: list[Rows], at: int) -> dict[int, float]:
    """Return ranks of a trace -> total of a statistic per rank."""
    seen: dict[int, float] = {}
    for row in rows:
        for n, histogram in times.trends.samples(row, at).items():
            seen[n] = seen.get(n, 0.0) + histogram.total / n
    return seen


def _constant_interval(seen: dict[int, float]) -> tuple[float, float]:
    """Return the interval of totals that stay as in the largest trace, over that total."""
    if len(seen) < MIN_RUNS or not (last := seen[max(seen)]):
        return 1.0, 1.0
    low, high = constant_curve(Points.of(list(seen), list(seen.values()))).interval(max(seen))
    return low / last, high / last


def poor_fits(model: SymbolicTrace, times: Times) -> list[PoorFit]:
    """Return the calls with most of the predicted time that follow a curve, but not well."""
    result = []
    for at, name, resolution in _stats(model):
        rows = sorted(_estimates(model, times, at), key=lambda row: -row[2].total)
        totals = [estimate.total for _, _, estimate in rows]
        whole = sum(totals)
        for (rule, _, estimate), total, upto in zip(rows, totals, accumulate(totals), strict=True):
            if whole > 0 and estimate.state is State.FOLLOWS and estimate.curve.deviation > POOR_FIT:
                site = rule.stack[0] if rule.stack else ""
                fit, formula = estimate.curve.deviation, estimate.curve.times(resolution).formula
                result.append(PoorFit(rule.op or "", site, name, total / whole, fit, formula))
            if upto >= LARGE_SHARE * whole:
                break
    return sorted(result, key=lambda one: -one.share)


def _stats(model: SymbolicTrace) -> Iterator[tuple[int, str, float]]:
    return ((at, stat.name, stat.resolution) for at, stat in enumerate(model.stats) if stat.name in TIMES)


def _estimates(model: SymbolicTrace, times: Times, at: int) -> Iterator[tuple[Rule, Rows, Estimate]]:
    """Yield event, histograms of the traces and estimate, where there are samples."""
    for rule in events(model.nodes):
        for stat in rule.stats:
            estimates = times.estimates(rule.op or "", stat.histograms)
            if at < len(estimates) and (estimate := estimates[at]) is not None:
                yield rule, stat.histograms, estimate
