"""Intervals: their probability, and whether one is too wide for the number inside it."""

from __future__ import annotations

__all__ = ["LEVEL", "is_vague"]

LEVEL = 0.95
"""Probability of the intervals."""

MAX_SPREAD = 4.0
"""Upper over lower end of an interval, from which on it is shown in place of its number."""


def is_vague(low: float, high: float) -> bool:
    """Return whether a number with this interval says less than the interval alone."""
    return high > MAX_SPREAD * max(low, 0.0)
