"""Timing report of a result: per call site the model, its fit, the interval, and the slowest rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scalatrace.extrap.timing.extremes import slowest_interval
from scalatrace.extrap.timing.trends import MIN_RUNS, Trend, Trends
from scalatrace.stats.bootstrap import PredictionInterval
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import Scale, as_row
from scalatrace.stats.interval_width import LEVEL
from scalatrace.trace.model.symbolic import Rule, SymbolicTrace
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.symbolic.format_formula import format_where

__all__ = ["FittedMean", "TimingRow", "fitted_means", "timing_row", "timing_rows"]


@dataclass(frozen=True, slots=True)
class TimingRow:
    """One statistic of one call site.

    Attributes:
        site: the call site, as it is shown elsewhere.
        op: the MPI operation.
        stat: the statistic, `compute_ns` for instance.
        model: what was fitted, a name of `TIMING_MODELS` or one of the four models it chose from.
        formula: of the mean, in the statistic's unit per sample.
        fit: the model's deviation, as a part of the values: 0.01 is 1 %.
        ranks: number of ranks that the prediction is of; may be fewer than the result's.
        prediction, low, high: mean on so many ranks and its interval, in the statistic's unit.
        level: probability of the interval.
        sure: no other form fits nearly as well.
        slowest, slowest_low, slowest_high: time of the slowest of all ranks in an execution, by extreme-value
            theory, and its interval, in which the mean's uncertainty counts too.
    """

    site: str
    op: str
    stat: str
    model: str
    formula: str
    fit: float
    ranks: int
    prediction: float
    low: float
    high: float
    level: float
    sure: bool
    slowest: float
    slowest_low: float
    slowest_high: float


def timing_row(
    site: str,
    op: str,
    stat: str,
    curve: Curve,
    scale: Scale,
    unit: float = 1.0,
    level: float = LEVEL,
    slowest: PredictionInterval | None = None,
) -> TimingRow:
    """Return the row for a curve of a histogram's mean.

    Args:
        site, op, stat: what it is of.
        curve: of the mean.
        scale: of the target.
        unit: the statistic's resolution: curves are in multiples of it.
        level: probability of the interval.
        slowest: of the slowest rank there, from a histogram with the predicted mean; else that is the mean's.
    """
    low, high = curve.interval(scale, level)
    mean = curve.predict(scale)
    most = slowest or PredictionInterval(mean, mean, mean, level, 0)
    down, up = (low / mean, high / mean) if mean > 0 else (1.0, 1.0)
    shown = curve if unit == 1 else curve.times(unit)
    return TimingRow(
        site,
        op,
        stat,
        curve.model,
        shown.formula,
        curve.deviation,
        round(as_row(scale)[-1]),
        mean * unit,
        low * unit,
        high * unit,
        level,
        sum(rival.weight for rival in curve.rivals) < 0.05 * curve.weight,
        most.median * unit,
        most.low * down * unit,
        most.high * up * unit,
    )


def timing_rows(
    model: SymbolicTrace, nprocs: int, choice: str | None = None, run_noise: float = 0.0
) -> list[TimingRow]:
    """A row per call site, predecessor and time that has samples in at least two traces, the longest first.

    Raises:
        UsageError: an unknown model.
    """
    rows = []
    for one in fitted_means(model, choice, run_noise):
        ranks, slowest = one.trend.ranks(nprocs), slowest_interval(one.trend.histogram(nprocs), nprocs)
        rows.append(timing_row(one.site, one.op, one.stat, one.trend.curve, ranks, one.unit, slowest=slowest))
    return rows


@dataclass(frozen=True)
class FittedMean:
    """The mean of a statistic of one call site after one predecessor, over the number of ranks.

    Attributes:
        unit: the statistic's resolution: samples and curve are in multiples of it.
        after: operation and stack of the predecessor; None at the start.
        ranks: conditions on the ranks that make the call, of its node and the loops around it; none: all.
    """

    op: str
    stack: tuple[str, ...]
    stat: str
    unit: float
    trend: Trend
    after: tuple[str, tuple[str, ...]] | None
    ranks: tuple[str, ...]

    @property
    def site(self) -> str:
        """The innermost frame."""
        return self.stack[0] if self.stack else ""


def fitted_means(
    model: SymbolicTrace, choice: str | None = None, run_noise: float = 0.0, limit: int | None = None
) -> list[FittedMean]:
    """Fit all means that have samples in at least two traces, the longest first.

    Means that extrapolation keeps as they are, since they make a small part of the time, are left out.

    Args:
        limit: the first so many.

    Raises:
        UsageError: an unknown model.
    """
    trends = Trends(model, choice, run_noise)
    weighed = []
    for rule, conditions in _conditional_events(model.nodes, ()):
        for stat in rule.stats:
            for at, measured in enumerate(model.stats):
                samples = trends.samples(stat.histograms, at)
                if measured.name in TIMES and len(samples) >= MIN_RUNS and not trends.is_small(samples, at):
                    weighed.append((samples[max(samples)].total, (rule, at, stat, conditions)))
    weighed.sort(key=lambda item: -item[0])
    result = []
    for _, (rule, at, stat, conditions) in weighed[:limit]:
        op, stack, measured = rule.op or "", tuple(rule.stack), model.stats[at]
        trend = trends.trend(op, stat.histograms, at)
        assert trend is not None
        result.append(FittedMean(op, stack, measured.name, measured.resolution, trend, stat.pred, conditions))
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
