"""Names of peers on the grid of the ranks: `north` or `(x-1, y, z)`, not `self-4` or `self+12 mod size`.

The grid is that of the trace's formulas, of MPI_Cart_create, or of the distances of messages, if these are
mostly between neighbours. On a grid of two dimensions x grows to the south and y to the east, as rows and
columns of a matrix; neighbours over the border are those of a periodic grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from math import prod
from typing import Literal

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import ScalatraceError
from scalatrace.report.page.grid import find_grid
from scalatrace.report.values import groups_of, listed, rank_texts
from scalatrace.trace.exchange.messages import Messages, messages_of
from scalatrace.trace.exchange.rank_sets import Budget, sampled
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import union_of
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.from_arrays import ranks_in
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec, special_name

__all__ = ["GridNeighbours"]

WORLD = 0

MIN_NEIGHBOUR_SHARE = 0.75
"""Share of the pairs of ranks that are neighbours from which on a grid that no call states is used."""

MAX_COUNTED_CALLS = 1 << 14
"""Different calls whose messages are examined to find the grid."""

MAX_EVENTS = 1 << 13
"""Event nodes of a trace whose peers are named; more would take seconds."""

MAX_COMPARED_RANKS = 1 << 12
"""Ranks of a set whose peers are compared."""

MAX_DISTANCES = 64
"""Different encoded peers of ranks with one each, up to which these are named."""

MAX_CHECKED_MEMBERS = 1 << 20
"""Members of a communicator that are compared with those of MPI_COMM_WORLD."""


class GridNeighbours:
    """Texts of peers that are neighbours on the grid of the ranks.

    Attributes:
        grid: of all ranks; None: there is none with two or more dimensions.
        source: how it was found.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.grid, self.source = _grid_of(trace)
        self._word = cache(self._find_word)
        self._is_world = cache(self._compare_with_world)
        self._conditions_of = cache(self._conditions)

    def text(self, event: Event, peer: Peer, taking_part: RankList) -> str | None:
        """Return a peer as name of a neighbour; None where it is none, or its ranks have peers of their own.

        Args:
            taking_part: the ranks that execute the event.
        """
        if self.grid is None or peer.encoding is Encoding.ABSOLUTE:
            return None
        if not self._is_of_world(event):
            return None
        value = peer.value
        if isinstance(value, Vec):
            return self._vec_text(value, peer.encoding, taking_part)
        if isinstance(value, Summary) or (groups := groups_of(value, MAX_DISTANCES)) is None:
            return None
        by_text: dict[str, list[RankList]] = {}
        for ranks, vec in groups:
            if (text := self._vec_text(vec, peer.encoding, ranks)) is None:
                return None
            by_text.setdefault(text, []).append(ranks)
        if len(by_text) == 1 and union_of(by_text[text := next(iter(by_text))]) == taking_part:
            return text
        names = self.name_ranks([union_of(sets) for sets in by_text.values()])
        return f"{{{'; '.join(f'{name}: {text}' for name, text in zip(names, by_text, strict=True))}}}"

    def name_ranks(self, sets: Sequence[RankList]) -> list[str]:
        """Return sets of ranks: conditions on the coordinates where these are not longer, else the ranks."""
        texts = rank_texts(sets)
        conditions = [self._conditions_of(ranks) for ranks in sets]
        is_shorter = sum(map(len, conditions)) <= sum(map(len, texts)) or any("<" in text for text in texts)
        return conditions if all(conditions) and is_shorter else texts

    def _conditions(self, ranks: RankList) -> str:
        """Return the conditions that select ranks between two places of the grid; "" if no conditions do."""
        if self.grid is None:
            return ""
        order: Literal["C", "F"] = "F" if self.grid.column_major else "C"
        places = np.unravel_index(ranks_in(ranks), self.grid.dims, order)
        ends = [(int(place.min()), int(place.max())) for place in places]
        if prod(high - low + 1 for low, high in ends) != len(ranks):
            return ""
        sides = zip(self.grid.coords, ends, self.grid.dims, strict=True)
        return " ".join(text for name, (low, high), side in sides if (text := _within(name, low, high, side)))

    def legend(self) -> str:
        """Return what the names mean, for the legend; "" without a grid."""
        if self.grid is None:
            return ""
        sides = " x ".join(map(str, self.grid.dims))
        names = (
            ""
            if len(self.grid.dims) > 2
            else "; ".join(
                f"{word} is {self._place(step)}" for word, step in zip(self._words, _UNIT_STEPS, strict=True)
            )
        )
        return f"grid {sides} of the ranks ({self.source}){': ' * bool(names)}{names}"

    @cached_property
    def _words(self) -> tuple[str, ...]:
        """Words for the neighbours with the first coordinate less and more, and the second one."""
        vertical, horizontal = ("north", "south"), ("west", "east")
        is_column_major = self.grid is not None and self.grid.column_major
        return (*horizontal, *vertical) if is_column_major else (*vertical, *horizontal)

    def _is_of_world(self, event: Event) -> bool:
        """Whether ranks in the event's communicator are those of MPI_COMM_WORLD."""
        where = self._trace.ops[event.op].index("comm")
        if where is None:
            return False
        family = event.params[where]
        return isinstance(family, Vec) and family.constant is not None and self._is_world(family.constant)

    def _compare_with_world(self, family: int) -> bool:
        if family == WORLD:
            return True
        n = self._trace.nprocs
        if not 0 <= family < len(self._trace.comms) or n > MAX_CHECKED_MEMBERS:
            return False
        groups = self._trace.layout(family).groups
        return len(groups) == 1 and tuple(groups[0]) == tuple(range(n))

    def _vec_text(self, vec: Vec, encoding: Encoding, ranks: RankList) -> str | None:
        """Return successive peers of some ranks; None unless all are neighbours, or none as PROC_NULL."""
        values, is_complete = listed(vec)
        words = [special_name(value) or self._word(value, encoding, ranks) for value in values]
        texts = [word for word in words if word is not None]
        if len(texts) < len(values):
            return None
        return texts[0] if vec.constant is not None else f"[{' '.join(texts)}{'' if is_complete else ' …'}]"

    def _find_word(self, value: int, encoding: Encoding, ranks: RankList) -> str | None:
        """Return the name of the peers of some ranks at a distance, if all of them are at the same place."""
        if value < SPECIAL_MAX or self.grid is None or abs(value) > 2 * self._trace.nprocs:
            return None
        own = sampled(ranks_in(ranks), MAX_COMPARED_RANKS)
        peers = own ^ value if encoding is Encoding.XOR else own + value
        if encoding is Encoding.MODULO:
            peers %= self._trace.nprocs
        if not len(own) or peers.min() < 0 or peers.max() >= self._trace.nprocs:
            return None
        steps = _steps(self.grid, own, peers)
        step = tuple(steps[:, 0].tolist())
        if (steps != steps[:, :1]).any() or not any(step) or max(map(abs, step)) > 1:
            return None
        return self._name(step)

    def _name(self, step: tuple[int, ...]) -> str:
        if len(step) > 2:
            return self._place(step)
        first, second = self._words[:2], self._words[2:]
        pieces = [names[way > 0] for names, way in zip((first, second), step, strict=True) if way]
        return "-".join(sorted(pieces, key=("north", "south", "west", "east").index))

    def _place(self, step: Sequence[int]) -> str:
        assert self.grid is not None
        named = zip(self.grid.coords, step, strict=True)
        return f"({', '.join(f'{name}{way:+d}' if way else name for name, way in named)})"


def _within(name: str, low: int, high: int, side: int) -> str:
    """Return the condition on a coordinate between two ends; "" if these are those of the grid."""
    if low == high:
        return f"{name}={low}" if side > 1 else ""
    below, above = f"{low - 1}<" * (low > 0), f"<{high + 1}" * (high < side - 1)
    if below and above:
        return f"{below}{name}{above}"
    return f"{name}>{low - 1}" if below else f"{name}{above}" if above else ""


_UNIT_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Steps to the neighbours on a grid of two dimensions, in the order of the words."""


def _grid_of(trace: Trace) -> tuple[Grid | None, str]:
    """Return a grid with two or more dimensions on which ranks send to neighbours, and how it was found."""
    if trace.nnodes > MAX_EVENTS:
        return None, ""
    try:
        messages = list(messages_of(trace, Budget(MAX_COUNTED_CALLS)))
    except ScalatraceError:  # the tree shows damaged traces, too
        messages = []
    grid, source = find_grid(trace, messages)
    if sum(side > 1 for side in grid.dims) < 2 or grid.nprocs != trace.nprocs:
        return None, ""
    if source.startswith("distances"):
        counts = [_count_neighbours(grid, flow) for flow in messages]
        if sum(near for near, _ in counts) < MIN_NEIGHBOUR_SHARE * sum(total for _, total in counts):
            return None, ""
    return grid, source


def _count_neighbours(grid: Grid, flow: Messages) -> tuple[int, int]:
    pairs = sampled(np.arange(len(flow.senders)), MAX_COMPARED_RANKS)
    steps = np.abs(_steps(grid, flow.senders[pairs], flow.receivers[pairs]))
    # Of few ranks nearly all are neighbours if diagonal steps count, whatever the program does.
    nneighbours = prod(min(side, 3) for side in grid.dims)
    distances = steps.max(axis=0) if 3 * nneighbours <= 2 * grid.nprocs else steps.sum(axis=0)
    return int((distances == 1).sum()), len(pairs)


def _steps(grid: Grid, own: Ints, peers: Ints) -> Ints:
    """Return the steps along each dimension from ranks to their peers, the shorter way around."""
    order: Literal["C", "F"] = "F" if grid.column_major else "C"
    pairs = zip(
        np.unravel_index(own, grid.dims, order), np.unravel_index(peers, grid.dims, order), strict=True
    )
    return np.array(list(_shorter_ways(grid.dims, pairs)))


def _shorter_ways(dims: Sequence[int], pairs: Iterator[tuple[Ints, Ints]]) -> Iterator[Ints]:
    for side, (here, there) in zip(dims, pairs, strict=True):
        step = there - here
        yield np.where(2 * np.abs(step) > side, step - np.sign(step) * side, step)
