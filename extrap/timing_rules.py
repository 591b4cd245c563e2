"""How an extrapolated event's histograms come about: each from those that the input traces have of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from extrap.timing.joint import extrapolate_histogram

if TYPE_CHECKING:
    from scalatrace.trace.histogram import Histogram

__all__ = ["Timing", "over_ranks"]

Timing = Callable[[tuple[tuple[Any, ...], ...]], tuple[Any, ...]]
"""From the histograms of each input trace (a tuple each, an entry per statistic) to those of the result."""


def over_ranks(seen: Sequence[int], nprocs: int, model: str | None = None, run_noise: float = 0.0) -> Timing:
    """Timing that follows the number of ranks.

    Args:
        seen: ranks of each input trace.
        nprocs: ranks of the result.
        model: a name of `extrap.timing.registry.TIMING_MODELS`; None: the best.
        run_noise: how much whole runs differ, as a part of the time.
    """

    def timing(rows: tuple[tuple[Any, ...], ...]) -> tuple[Any, ...]:
        width = max((len(row) for row in rows), default=0)
        return tuple(_one(rows, at) for at in range(width))

    def _one(rows: tuple[tuple[Any, ...], ...], at: int) -> Histogram | None:
        found = {
            n: row[at] for n, row in zip(seen, rows, strict=True) if at < len(row) and row[at] is not None
        }
        if not found:
            return None
        if len(found) < FEWEST:
            return found[max(found)]  # type: ignore[no-any-return]
        return extrapolate_histogram(list(found.values()), list(found), nprocs, model, run_noise=run_noise)

    return timing


FEWEST = 2
"""Runs that show a trend."""
