"""Check that the errors in a table are within their limits."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

__all__ = ["errors_in", "errors_within"]

NOT_MEASURED = "-"


def errors_within(limits: Mapping[str, float], rows: Sequence[Sequence[str]], first: int) -> list[str]:
    """A line per kind: whether the mean of its absolute errors is within its limit.

    A kind is left out if its cells are dashes in all rows, and another kind was measured.

    Args:
        first: column of the first kind's errors; each next one's is two to the right. Left of each
            error are the seconds, or the reason why there are none.
    """
    columns = {kind: first + 2 * i for i, kind in enumerate(limits)}
    tried = [kind for kind, i in columns.items() if any(row[i - 1] != NOT_MEASURED for row in rows)]
    result = []
    for kind in tried or limits:
        errors = [abs(error) for error in errors_in(rows, columns[kind])]
        if not errors:
            result.append(f"NO: {kind}: nothing measured")
            continue
        mean = statistics.fmean(errors)
        word = "yes" if mean <= limits[kind] else "NO"
        shown = f"{mean:.1%}, at most {limits[kind]:.0%} (most {max(errors):.1%}, of {len(errors)} runs)"
        result.append(f"{word}: {kind}: mean absolute error {shown}")
    return result


def errors_in(rows: Sequence[Sequence[str]], column: int) -> list[float]:
    """The measured errors of a column as fractions: 0.05 for "+5.0%"."""
    return [float(row[column].rstrip("%")) / 100 for row in rows if row[column] != NOT_MEASURED]
