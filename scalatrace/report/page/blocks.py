"""Communication matrix by blocks of ranks, and messages by distance between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.errors import LimitError, UsageError
from scalatrace.report.page.messages import Messages
from scalatrace.report.page.rank_sets import Number
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.matrix import outside
from scalatrace.trace.values.from_arrays import Ints

__all__ = ["Blocks", "Distance", "Outside", "blocks_of"]

MAX_BLOCKS = 128
"""Blocks along a side of the matrix."""

MAX_DISTANCES = 12


@dataclass(frozen=True)
class Distance:
    """Messages to the rank `distance` after the own one; all others together have None."""

    distance: int | None
    messages: int
    nbytes: int


@dataclass(frozen=True)
class Outside:
    """Calls of a category that sends, but not from one rank to one other."""

    category: str
    calls: int
    nbytes: int


@dataclass(frozen=True)
class Blocks:
    """The matrix; cells without messages are left out.

    Attributes:
        size: consecutive ranks in a block; 1: each cell is a pair of ranks.
        count: blocks along a side.
        cells: row (sender), column (receiver), messages, bytes.
        exact: False: estimated from a sample.
    """

    nprocs: int
    size: int
    count: int
    cells: tuple[tuple[int, int, int, int], ...]
    distances: tuple[Distance, ...]
    outside: tuple[Outside, ...]
    exact: bool


def blocks_of(
    trace: Trace, messages: Sequence[Messages], exact: bool, max_blocks: int = MAX_BLOCKS
) -> Blocks:
    """Add up messages by block. Time depends on different calls and on pairs of ranks, not on events."""
    size = -(-trace.nprocs // max_blocks)
    count = -(-trace.nprocs // size)
    cells: dict[int, list[Number]] = {}
    for one in messages:
        numbers = one.senders // size * count + one.receivers // size
        for cell, pairs in _counted(numbers):
            sums = cells.setdefault(cell, [0, 0])
            sums[0] += pairs * one.count
            sums[1] += pairs * one.count * one.nbytes
    rows = tuple((*divmod(cell, count), round(n), round(b)) for cell, (n, b) in sorted(cells.items()))
    return Blocks(trace.nprocs, size, count, rows, _distances(messages), _outside(trace), exact)


MAX_BINCOUNT = 1 << 20
"""Numbers up to which counting each is faster than sorting."""


def _counted(numbers: Ints) -> list[tuple[int, int]]:
    """Return the different numbers and how often each occurs."""
    if not len(numbers) or (numbers == numbers[0]).all():
        return [(int(number), len(numbers)) for number in numbers[:1]]
    if numbers.min() >= 0 and numbers.max() < MAX_BINCOUNT:
        table = np.bincount(numbers)
        found = np.flatnonzero(table)
        return list(zip(found.tolist(), table[found].tolist(), strict=True))
    found, counts = np.unique(numbers, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))


def _distances(messages: Sequence[Messages]) -> tuple[Distance, ...]:
    sums: dict[int, list[Number]] = {}
    for one in messages:
        for distance, pairs in _counted(one.receivers - one.senders):
            row = sums.setdefault(distance, [0, 0])
            row[0] += pairs * one.count
            row[1] += pairs * one.count * one.nbytes
    ordered = sorted(sums.items(), key=lambda item: (-item[1][1], -item[1][0], abs(item[0]), item[0]))
    rows = [Distance(d, round(n), round(b)) for d, (n, b) in ordered[:MAX_DISTANCES]]
    if rest := [values for _, values in ordered[MAX_DISTANCES:]]:
        n, b = (sum(column) for column in zip(*rest, strict=True))
        rows.append(Distance(None, round(n), round(b)))
    return tuple(rows)


def _outside(trace: Trace) -> tuple[Outside, ...]:
    try:
        found = outside(trace)
    except (LimitError, UsageError):
        return ()
    return tuple(Outside(category.value, calls, nbytes) for category, (calls, nbytes) in found.items())
