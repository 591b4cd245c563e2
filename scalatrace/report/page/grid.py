"""Grid of the ranks, and groups of ranks with the same calls, drawn small for any number of ranks.

Consecutive columns (rows, planes) with equal groups become one: the 1024 x 1024 ranks of a stencil are drawn
as 3 x 3 cells, since only borders differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import LimitError, UsageError
from scalatrace.report.style import ranks as ranks_text
from scalatrace.trace.exchange.messages import Messages
from scalatrace.trace.exchange.rank_sets import check_size, sampled
from scalatrace.trace.model.elastic import Columns, Formulas, Groups, at
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.rank_classes import class_numbers
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.from_arrays import distinct, ranks_in, ranks_of

__all__ = [
    "Axis",
    "RankGrid",
    "RankGroup",
    "find_grid",
    "group_numbers",
    "hub_of",
    "rank_grid",
    "stated_grid",
    "weighted_pairs",
]

MAX_SAMPLED_PAIRS = 1 << 12
MIN_NEIGHBOUR_SHARE = 0.5
"""Share of the messages between neighbours from which on a grid is accepted."""

MAX_RANKS_IN_ROW = 3
"""Ranks up to which one rank with all others may be a row of neighbours."""

MAX_CELLS = 48
"""Cells along an axis of the drawing."""

MAX_GROUPS = 32
MAX_CLASSES = 1 << 12
MAX_COUNTED = 1 << 512
"""Messages of a pair; nested loops may send more than a floating-point number holds."""
MAX_NUMBERS = 1 << 26
"""Ranks times values that are compared to find the groups."""


@dataclass(frozen=True)
class Axis:
    """Cells along one dimension: first and last coordinate of each."""

    size: int
    cells: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RankGroup:
    """Ranks that execute the same calls equally often with the same encoded destinations."""

    ranks: str
    count: int


@dataclass(frozen=True)
class RankGrid:
    """The drawing.

    Attributes:
        dims: sizes of the grid, the slowest varying first.
        source: how the grid was found.
        cells: group of each cell, the last axis varying fastest; -1: a rank that is not in the trace.
        groups: the largest first; beyond MAX_GROUPS, further ones share the last entry.
        exact: False: only some ranks, or the first call sites, are compared.
    """

    dims: tuple[int, ...]
    source: str
    axes: tuple[Axis, ...]
    cells: tuple[int, ...]
    groups: tuple[RankGroup, ...]
    exact: bool


def find_grid(trace: Trace, messages: Sequence[Messages]) -> tuple[Grid, str]:
    """Return the grid of all ranks, and how it was found."""
    if (stated := stated_grid(trace)) is not None:
        return stated
    senders, receivers, counts = weighted_pairs(messages, MAX_SAMPLED_PAIRS)
    *_, nbytes = weighted_pairs(messages, MAX_SAMPLED_PAIRS, by_bytes=True)
    best: tuple[int, ...] = (trace.nprocs,)
    share = MIN_NEIGHBOUR_SHARE
    has_hub = trace.nprocs > MAX_RANKS_IN_ROW and hub_of(senders, receivers) is not None
    for dims in () if has_hub else _candidates(trace.nprocs, senders, receivers):
        # Edges and corners of a box get as many messages as its faces, but few bytes.
        local_share = max(_neighbour_share(dims, senders, receivers, weights) for weights in (counts, nbytes))
        if local_share > share + 1e-9:
            best, share = dims, local_share
    source = "found by the distances of messages" if len(best) > 1 else "no grid found: ranks in a row"
    return Grid(best), source


def stated_grid(trace: Trace) -> tuple[Grid, str] | None:
    """Return the grid that formulas or a call state, and which of these; None: none does."""
    if (grid := _of_formulas(trace)) is not None:
        return grid, "formulas of the trace"
    dims = _of_cart(trace)
    return None if dims is None else (Grid(dims), "MPI_Cart_create")


def hub_of(senders: Ints, receivers: Ints) -> int | None:
    """Return the rank that sends or receives each message, such as a master; None: there is none."""
    for hub in {int(ends[0]) for ends in (senders, receivers) if len(ends)}:
        if ((senders == hub) | (receivers == hub)).all():
            return hub
    return None


def pairs(messages: Sequence[Messages], limit: int) -> tuple[Ints, Ints]:
    """Return senders and receivers of at most about `limit` pairs, some of each entry."""
    return weighted_pairs(messages, limit)[:2]


def weighted_pairs(
    messages: Sequence[Messages], limit: int, *, by_bytes: bool = False
) -> tuple[Ints, Ints, Floats]:
    """Return `pairs`, and the messages that each of them stands for, or the bytes in these."""
    npairs = sum(len(flow.senders) for flow in messages)
    chosen: list[tuple[Ints, Ints, Floats]] = []
    for flow in messages:
        wanted = len(flow.senders) if npairs <= limit else max(2, len(flow.senders) * limit // npairs)
        sampled_pairs = sampled(np.arange(len(flow.senders)), wanted)
        each = float(min(flow.count, MAX_COUNTED)) * len(flow.senders) / max(len(sampled_pairs), 1)
        counts = np.full(len(sampled_pairs), each * (float(flow.nbytes) if by_bytes else 1.0))
        chosen.append((flow.senders[sampled_pairs], flow.receivers[sampled_pairs], counts))
    if not chosen:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    senders, receivers, weights = zip(*chosen, strict=True)
    return np.concatenate(senders), np.concatenate(receivers), np.concatenate(weights)


def _of_formulas(trace: Trace) -> Grid | None:
    for leaf in trace.leaves():
        values = [param.value if isinstance(param, Peer) else param for param in leaf.params]
        for value in (*values, leaf.repeat):
            if isinstance(value, Formulas):
                return value.grid
    return None


def _of_cart(trace: Trace) -> tuple[int, ...] | None:
    for leaf in trace.leaves():
        op = trace.ops[leaf.op]
        where = op.index("dims")
        if op.name != "Cart_create" or where is None or op.params[where][1] is not Kind.ARRAY:
            continue
        param = leaf.params[where]
        vec = None if isinstance(param, Peer) else at(param, trace.participants(leaf).first)
        if vec is not None and vec.constant is not None and 0 <= vec.constant < len(trace.arrays):
            dims = tuple(side for side in trace.array(vec.constant) if side > 1)
            if prod(dims) == trace.nprocs and 1 <= len(dims) <= 3:
                return dims
    return None


def _candidates(nprocs: int, senders: Ints, receivers: Ints) -> Iterator[tuple[int, ...]]:
    """Yield dimensions whose strides are distances of messages: a row, planes, and boxes."""
    distances = np.unique(np.abs(receivers - senders)).tolist()
    widths = [w for w in distances if 1 < w < nprocs and nprocs % w == 0][:16]
    yield (nprocs,)
    yield from ((nprocs // w, w) for w in widths)
    yield from ((nprocs // b, b // a, a) for a, b in combinations(widths, 2) if b % a == 0)


def _neighbour_share(dims: tuple[int, ...], senders: Ints, receivers: Ints, counts: Floats) -> float:
    """Return the part of the messages that go to a neighbour."""
    if not len(senders):
        return 0.0
    steps = np.zeros(len(senders), np.int64)
    for side, a, b in zip(
        dims, np.unravel_index(senders, dims), np.unravel_index(receivers, dims), strict=True
    ):
        distance = np.abs(a - b)
        steps += np.minimum(distance, side - distance)
    total = float(counts.sum())
    return float(counts[steps == 1].sum()) / total if total else 0.0


def rank_grid(trace: Trace, grid: Grid, source: str) -> RankGrid:
    """Draw the ranks of a trace on their grid; of too many ranks it is one cell for each dimension."""
    try:
        check_size(trace)
    except LimitError:
        axes = [Axis(side, ((0, side - 1),)) for side in grid.shape]
        group = RankGroup(ranks_text(trace.ranks), len(trace.ranks))
        return RankGrid(grid.shape, source, tuple(axes), (0,), (group,), False)
    numbers, exact = group_numbers(trace)
    groups, numbers = _number_groups(numbers)
    exact = exact and int(numbers.max()) < MAX_GROUPS - 1
    table = numbers.reshape(grid.shape)
    axes = []
    for axis, side in enumerate(grid.shape):
        starts = _starts(table, axis)
        stops = [*starts[1:], side]
        if len(starts) > MAX_CELLS:
            exact = False
            shown_cells = sampled(np.arange(len(starts)), MAX_CELLS).tolist()
            starts, stops = [starts[i] for i in shown_cells], [stops[i] for i in shown_cells]
        axes.append(Axis(side, tuple((a, b - 1) for a, b in zip(starts, stops, strict=True))))
        table = np.take(table, starts, axis=axis)
    return RankGrid(grid.shape, source, tuple(axes), tuple(table.ravel().tolist()), groups, exact)


def _starts(table: np.ndarray, axis: int) -> list[int]:
    """Return where slices along an axis differ from the one before."""
    slices = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
    differ = (slices[1:] != slices[:-1]).any(axis=1)
    return [0, *(np.flatnonzero(differ) + 1).tolist()]


def group_numbers(trace: Trace) -> tuple[Ints, bool]:
    """Return a number of each rank, equal for ranks with equal calls; -1 for ranks that are not there."""
    where, exact = ranks_in(trace.ranks), True
    numbers = np.full(trace.nprocs, -1)
    numbers[where] = 0
    remaining = MAX_NUMBERS
    for row in _rows(trace):
        remaining -= trace.nprocs
        if row is None or remaining < 0:
            exact = False
            if remaining < 0:
                break
            continue
        _, numbers[where] = distinct(np.array([numbers[where], row[where]]))
    return numbers, exact


def _rows(trace: Trace) -> Iterator[Ints | None]:
    """Yield a class number per rank of each repeat and each destination that differs between ranks."""
    seen: set[object] = set()
    for event, classes in executions(trace):
        if (divided := frozenset(ranks for ranks, _ in classes)) not in seen:
            seen.add(divided)
            row = np.zeros(trace.nprocs, np.int64)
            for number, (ranks, _) in enumerate(classes, 1):
                for start, stop in ranks.runs:
                    row[start:stop] = number
            yield row
        for param in event.params:
            value = param.value if isinstance(param, Peer) else None
            if not isinstance(value, Groups | Columns | Formulas) or value in seen:
                continue
            seen.add(value)
            try:
                row = class_numbers(value, trace.participants(event), trace.nprocs, MAX_CLASSES)[0]
                alone = int(row.max()) > trace.nprocs // 2 > MAX_GROUPS
                yield None if alone else row  # destinations that most ranks have alone form no groups
            except UsageError:
                yield None


def _number_groups(numbers: Ints) -> tuple[tuple[RankGroup, ...], Ints]:
    """Number the groups by size; those beyond MAX_GROUPS share the last number."""
    grouped = numbers >= 0
    group_numbers, counts = np.unique(numbers[grouped], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    place = np.zeros(int(group_numbers.max()) + 1, np.int64)
    place[group_numbers[order]] = np.minimum(np.arange(len(group_numbers)), MAX_GROUPS - 1)
    result = np.where(grouped, place[np.maximum(numbers, 0)], -1)
    groups = []
    for number in range(min(len(group_numbers), MAX_GROUPS)):
        ranks = ranks_of(np.flatnonzero(result == number))
        is_remainder = number == MAX_GROUPS - 1 < len(group_numbers) - 1
        groups.append(RankGroup("all other ranks" if is_remainder else ranks_text(ranks), len(ranks)))
    return tuple(groups), result
