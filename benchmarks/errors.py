"""Check that the errors in a table are within their limits."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

__all__ = ["errors_within"]


def errors_within(limits: Mapping[str, float], rows: Sequence[Sequence[str]], first: int) -> list[str]:
    """A line per kind: whether the mean of its absolute errors is within its limit.

    Args:
        first: column of the first kind's errors; each next one's is two to the right.
    """
    result = []
    for i, (kind, limit) in enumerate(limits.items()):
        cells = [row[first + 2 * i] for row in rows]
        errors = [abs(float(cell.rstrip("%")) / 100) for cell in cells if cell != "-"]
        if not errors:
            result.append(f"NO: {kind}: nothing measured")
            continue
        mean = statistics.fmean(errors)
        word = "yes" if mean <= limit else "NO"
        shown = f"{mean:.1%}, at most {limit:.0%} (most {max(errors):.1%}, of {len(errors)} runs)"
        result.append(f"{word}: {kind}: mean absolute error {shown}")
    return result
