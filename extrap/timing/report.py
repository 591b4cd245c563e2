"""Timing report of a result: per call site the model, its fit, the interval, and the slowest rank."""

from __future__ import annotations

from math import prod

from scalatrace.extrap.grid.model import Model, events
from scalatrace.extrap.timing.curves.registry import timing_model
from scalatrace.extrap.timing.joint import extrapolate_histogram, mean_points
from scalatrace.extrap.timing.largest.extremes import slowest_interval
from scalatrace.extrap.timing.plain_report import TimingRow, timing_row
from scalatrace.extrap.timing.rules import FEWEST, by_ranks

__all__ = ["timing_rows"]

STATS = ("compute_ns", "comm_ns")


def timing_rows(
    model: Model, nprocs: int, choice: str | None = None, run_noise: float = 0.0
) -> list[TimingRow]:
    """A row per call site, predecessor and time that has samples in at least two traces, the longest first.

    Raises:
        TimingError: an unknown model.
    """
    ranks = [prod(dims) for dims, _ in model.seen]
    weighed = []
    for rule in events(model.nodes):
        for stat in rule.stats:
            for at, (name, resolution) in enumerate(model.stats):
                found = by_ranks(stat.histograms, ranks, at)
                if name not in STATS or len(found) < FEWEST:
                    continue
                points = mean_points(list(found.values()), list(found), (), run_noise)
                curve = timing_model(choice).fit([points])[0]
                site = rule.stack[0] if rule.stack else ""
                predicted = extrapolate_histogram(
                    list(found.values()), list(found), nprocs, choice, run_noise=run_noise
                )
                slowest = slowest_interval(predicted, nprocs)
                row = timing_row(site, rule.op or "", name, curve, nprocs, resolution, slowest=slowest)
                weighed.append((found[max(found)].total, row))
    return [row for _, row in sorted(weighed, key=lambda item: -item[0])]
