"""Communication matrix by blocks of ranks, and messages by distance between ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import LimitError, UsageError
from scalatrace.trace.exchange.collectives import Exchange
from scalatrace.trace.exchange.matrix import flows, outside
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.exchange.rank_sets import Budget, Number
from scalatrace.trace.model.trace import Trace

__all__ = ["Blocks", "Outside", "RankDistance", "blocks_of", "summed"]

MAX_BLOCKS = 128
"""Blocks along a side of the matrix."""

MAX_DISTANCES = 12


@dataclass(frozen=True)
class RankDistance:
    """Messages to the rank `distance` after the own one; all others together have None."""

    distance: int | None
    messages: int
    nbytes: int


@dataclass(frozen=True)
class Outside:
    """Calls that send, but do not say from whom to whom."""

    operation: str
    calls: int
    nbytes: int


@dataclass(frozen=True)
class Blocks:
    """The matrix; cells without messages are left out.

    Attributes:
        size: consecutive ranks in a block; 1: each cell is a pair of ranks.
        count: blocks along a side.
        cells: row (sender), column (receiver), messages, bytes; and the same of collectives, in which each
            call counts as a message to each partner.
        distances: of messages.
        exact: False: estimated from a sample.
    """

    nprocs: int
    size: int
    count: int
    cells: tuple[tuple[int, int, int, int, int, int], ...]
    distances: tuple[RankDistance, ...]
    outside: tuple[Outside, ...]
    exact: bool


def blocks_of(
    trace: Trace,
    messages: Sequence[Messages],
    exact: bool,
    max_blocks: int = MAX_BLOCKS,
    exchanges: Iterable[Exchange] = (),
) -> Blocks:
    """Add up messages by block. Time depends on different calls and on pairs of ranks, not on events.

    Args:
        exchanges: what collectives send.
    """
    size = -(-trace.nprocs // max_blocks)
    count = -(-trace.nprocs // size)
    cells: dict[int, list[Number]] = {}
    for at, sent in ((0, messages), (2, exchanges)):
        for flow in sent:
            for cell, pairs, nbytes in _by_block(flow, size, count):
                sums = cells.setdefault(cell, [0, 0, 0, 0])
                sums[at] += pairs * flow.count
                sums[at + 1] += nbytes * flow.count
    rows = tuple(_cell(cell, count, sums) for cell, sums in sorted(cells.items()))
    return Blocks(trace.nprocs, size, count, rows, _distances(messages), _outside(trace), exact)


def summed(trace: Trace, budget: Budget, size: int, what: str, calls: str) -> dict[tuple[int, int], int]:
    """Return the amount of each pair of blocks that has any.

    Args:
        size: ranks of a block.
        what, calls: as in `trace.exchange.matrix.pair_table`.
    """
    count = -(-trace.nprocs // size)
    sums: dict[int, Number] = {}
    for flow in flows(trace, budget, calls):
        for cell, pairs, nbytes in _by_block(flow, size, count):
            amount = (pairs if what == "messages" else nbytes) * flow.count
            sums[cell] = sums.get(cell, 0) + amount
    totals = {}
    for cell, amount in sorted(sums.items()):
        row, column = divmod(cell, count)
        if amount:
            totals[row, column] = round(amount)
    return totals


def _cell(cell: int, count: int, sums: Sequence[Number]) -> tuple[int, int, int, int, int, int]:
    row, column = divmod(cell, count)
    return (row, column, round(sums[0]), round(sums[1]), round(sums[2]), round(sums[3]))


def _by_block(flow: Messages | Exchange, size: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield cell, pairs of ranks, and bytes of one call of each pair."""
    if not isinstance(flow, Exchange) or not flow.product:
        numbers = flow.senders // size * count + flow.receivers // size
        yield from _with_bytes(numbers, flow.nbytes)
        return
    receiving = list(_with_bytes(flow.receivers // size, flow.nbytes))
    for row, senders in _count_values(flow.senders // size):
        for column, receivers, nbytes in receiving:
            yield row * count + column, senders * receivers, senders * nbytes


def _with_bytes(numbers: Ints, nbytes: Ints | int) -> Iterator[tuple[int, int, int]]:
    """Yield the different numbers, how often each occurs, and the bytes of all of them."""
    counted = sorted(_count_values(numbers))
    if isinstance(nbytes, int):
        yield from ((number, n, n * nbytes) for number, n in counted)
        return
    order = np.argsort(numbers, kind="stable")
    ordered = nbytes[order].astype(object)
    ends = np.cumsum([n for _, n in counted]).tolist()
    for (number, n), end in zip(counted, ends, strict=True):
        yield number, n, int(ordered[end - n : end].sum())


MAX_BINCOUNT = 1 << 20
"""Numbers up to which counting each is faster than sorting."""


def _count_values(numbers: Ints) -> list[tuple[int, int]]:
    """Return the different numbers and how often each occurs."""
    if not len(numbers) or (numbers == numbers[0]).all():
        return [(int(number), len(numbers)) for number in numbers[:1]]
    if numbers.min() >= 0 and numbers.max() < MAX_BINCOUNT:
        table = np.bincount(numbers)
        values = np.flatnonzero(table)
        return list(zip(values.tolist(), table[values].tolist(), strict=True))
    values, counts = np.unique(numbers, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))


def _distances(messages: Sequence[Messages]) -> tuple[RankDistance, ...]:
    sums: dict[int, list[Number]] = {}
    for flow in messages:
        for distance, pairs in _count_values(flow.receivers - flow.senders):
            row = sums.setdefault(distance, [0, 0])
            row[0] += pairs * flow.count
            row[1] += pairs * flow.count * flow.nbytes
    ordered = sorted(sums.items(), key=lambda item: (-item[1][1], -item[1][0], abs(item[0]), item[0]))
    rows = [RankDistance(d, round(n), round(b)) for d, (n, b) in ordered[:MAX_DISTANCES]]
    if further := [values for _, values in ordered[MAX_DISTANCES:]]:
        n, b = (sum(column) for column in zip(*further, strict=True))
        rows.append(RankDistance(None, round(n), round(b)))
    return tuple(rows)


def _outside(trace: Trace) -> tuple[Outside, ...]:
    try:
        outer_blocks = outside(trace)
    except (LimitError, UsageError):
        return ()
    return tuple(Outside(name, calls, nbytes) for name, (calls, nbytes) in outer_blocks.items())
