"""Runs of arrays of a program that are rows of one table, or displacements that follow from such a table.

A program that exchanges other numbers of elements in each iteration has an array for each. Arrays of one
length with neighbouring numbers are the rows of a table. Displacements are mostly the sums of the counts
before them: then the program computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from scalatrace.trace.model.tables import IntArray

__all__ = ["ArrayRun", "array_runs"]

MIN_ROWS = 4
"""Arrays that are worth a table."""


@dataclass(frozen=True)
class ArrayRun:
    """Arrays with neighbouring numbers and one length.

    Attributes:
        first: number of the first array.
        count: arrays.
        length: numbers of each.
        counts: number of the array whose sums the first one has; the others follow in order. None: none.
    """

    first: int
    count: int
    length: int
    counts: int | None


def array_runs(
    arrays: Sequence[IntArray], used: Sequence[int], is_plain: Callable[[int], bool]
) -> list[ArrayRun]:
    """Return the runs of arrays, tables before sums.

    Args:
        used: numbers of the arrays that a program has, in order.
        is_plain: whether the program would list the numbers of an array.
    """
    values = {i: tuple(arrays[i].values) for i in used if is_plain(i)}
    sources = _sources(values)
    runs: list[ArrayRun] = []
    for i, numbers in values.items():
        source = sources.get(i)
        last = runs[-1] if runs else None
        if last and last.first + last.count == i and last.length == len(numbers):
            following = None if last.counts is None else last.counts + last.count
            if source == following:
                runs[-1] = ArrayRun(last.first, last.count + 1, last.length, last.counts)
                continue
        runs.append(ArrayRun(i, 1, len(numbers), source))
    return sorted((run for run in runs if run.count >= MIN_ROWS), key=lambda run: run.counts is not None)


def _sources(values: dict[int, tuple[int, ...]]) -> dict[int, int]:
    """Return the arrays that have the sums of the numbers of others: array -> the other one."""
    by_sums: dict[tuple[int, ...], list[int]] = {}
    for i, numbers in values.items():
        if len(numbers) > 1 and min(numbers) >= 0:
            by_sums.setdefault(tuple(accumulate(numbers[:-1], initial=0)), []).append(i)
    sources: dict[int, int] = {}
    for i, numbers in values.items():
        if numbers and max(numbers) > 0 and (candidates := by_sums.get(numbers)):
            following = sources.get(i - 1, -1) + 1
            sources[i] = following if following in candidates else candidates[0]
    # An array whose source is a sum itself is listed: its table would have to come first.
    return {i: source for i, source in sources.items() if source not in sources and source != i}
