"""Timing report of a result: per call site the model, its fit, the interval, and the slowest rank."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from scalatrace.extrap.grid.model import Model, events
from scalatrace.extrap.timing.curves.curve import Curve
from scalatrace.extrap.timing.curves.registry import timing_model
from scalatrace.extrap.timing.joint import extrapolate_histogram, mean_points
from scalatrace.extrap.timing.largest.extremes import slowest_interval
from scalatrace.extrap.timing.plain_report import TimingRow, timing_row
from scalatrace.extrap.timing.rules import FEWEST, by_ranks
from scalatrace.trace.values.histogram import Histogram

__all__ = ["FittedMean", "fitted_means", "timing_rows"]

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
    """

    op: str
    site: str
    stat: str
    unit: float
    samples: dict[int, Histogram]
    curve: Curve


def fitted_means(
    model: Model, choice: str | None = None, run_noise: float = 0.0, limit: int | None = None
) -> list[FittedMean]:
    """Fit all means that have samples in at least two traces, the longest first.

    Args:
        limit: the first so many.

    Raises:
        TimingError: an unknown model.
    """
    ranks = [prod(dims) for dims, _ in model.seen]
    weighed = []
    for rule in events(model.nodes):
        for stat in rule.stats:
            for at, (name, resolution) in enumerate(model.stats):
                found = by_ranks(stat.histograms, ranks, at)
                if name in STATS and len(found) >= FEWEST:
                    weighed.append((found[max(found)].total, rule, name, resolution, found))
    weighed.sort(key=lambda item: -item[0])
    result = []
    for _, rule, name, resolution, found in weighed[:limit]:
        points = mean_points(list(found.values()), list(found), (), run_noise)
        curve = timing_model(choice).fit([points])[0]
        site = rule.stack[0] if rule.stack else ""
        result.append(FittedMean(rule.op or "", site, name, resolution, found, curve))
    return result
