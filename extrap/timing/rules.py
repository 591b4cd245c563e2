"""Extrapolate the histograms of each event from those of the input traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from scalatrace.extrap.timing.joint import extrapolate_histogram, with_expected_count
from scalatrace.extrap.timing.largest.extremes import stretched
from scalatrace.extrap.workers import each

if TYPE_CHECKING:
    from scalatrace.trace.values.histogram import Histogram

__all__ = ["FEWEST", "Rows", "Timing", "by_ranks", "least_totals", "no_times", "over_ranks"]

Rows = tuple[tuple[Any, ...], ...]
"""The histograms of one event after one predecessor: a tuple per input trace, an entry per statistic."""

Timing = Callable[[Rows], tuple[Any, ...]]
"""From the histograms of the input traces to those of the result."""


def no_times(rows: Rows) -> tuple[Any, ...]:
    """The timing of a trace of which only the calls matter."""
    return ()


FEWEST = 2
"""Runs that show a trend."""

SMALL = 0.01
"""Histograms that together have so small a part of a statistic keep the times of the largest trace."""


def over_ranks(
    rules: Iterable[Rows],
    seen: Sequence[int],
    nprocs: int,
    model: str | None = None,
    run_noise: float = 0.0,
    workers: int = 1,
) -> Timing:
    """Timing that follows the number of ranks, of these histograms.

    Args:
        rules: the histograms of all events.
        seen: ranks of each input trace.
        nprocs: ranks of the result.
        model: a name of `scalatrace.extrap.timing.curves.registry.TIMING_MODELS`; None: the best.
        run_noise: how much whole runs differ, as a part of the time.
        workers: processes that share them.
    """
    rules = list(rules)
    least = least_totals(rules)

    def timing(rows: Rows) -> tuple[Any, ...]:
        width = max((len(row) for row in rows), default=0)
        return tuple(one(rows, at) for at in range(width))

    def one(rows: Rows, at: int) -> Histogram | None:
        found = by_ranks(rows, seen, at)
        if not found:
            return None
        last = found[max(found)]
        if len(found) < FEWEST:
            return last
        if abs(last.total) < least.get(at, 0.0):
            return stretched(with_expected_count(last, list(found.values()), list(found), nprocs), last)
        predicted = extrapolate_histogram(
            list(found.values()), list(found), nprocs, model, run_noise=run_noise
        )
        return stretched(predicted, last)

    known: dict[int, tuple[Any, ...]] = {}
    if workers > 1:
        predicted = each(timing, rules, workers)
        known = {id(rows): row for rows, row in zip(rules, predicted, strict=True)}

    def remembered(rows: Rows) -> tuple[Any, ...]:
        if id(rows) not in known:
            known[id(rows)] = timing(rows)
        return known[id(rows)]

    return remembered


def by_ranks(rows: Rows, seen: Sequence[int], at: int) -> dict[int, Histogram]:
    """Ranks of an input trace -> its histogram of a statistic, where it has one."""
    return {n: row[at] for n, row in zip(seen, rows, strict=True) if at < len(row) and row[at] is not None}


def least_totals(rules: Iterable[Rows]) -> dict[int, float]:
    """Per statistic the total, in the largest trace, below which a histogram is not worth a model."""
    totals: dict[int, list[float]] = {}
    for rows in rules:
        largest = next((row for row in reversed(rows) if row), ())
        for at, histogram in enumerate(largest):
            if histogram is not None:
                totals.setdefault(at, []).append(abs(histogram.total))
    result = {}
    for at, values in totals.items():
        values.sort()
        rest = SMALL * sum(values)
        result[at] = next((v for v, upto in zip(values, accumulate(values), strict=True) if upto > rest), 0.0)
    return result
