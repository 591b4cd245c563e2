"""How an extrapolated event's histograms come about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Timing = Callable[[tuple[tuple[Any, ...], ...]], tuple[Any, ...]]
"""From the histograms of each input trace (a tuple each, an entry per statistic) to those of the result."""


def of_the_largest(rows: tuple[tuple[Any, ...], ...]) -> tuple[Any, ...]:
    """Those of the last trace that has any."""
    return next((row for row in reversed(rows) if row), ())
