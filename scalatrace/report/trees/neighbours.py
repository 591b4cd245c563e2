"""Names of peers on the grid of the ranks: `north` or `(x-1, y, z)`, not `self-4` or `self+12 mod size`.

On a grid of two dimensions x grows to the south and y to the east, as rows and columns of a matrix;
neighbours over the border are those of a periodic grid. A name holds for each rank: the peers of all ranks
are compared, in whatever encoding they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import ScalatraceError
from scalatrace.report.values import listed
from scalatrace.trace.model.elastic import Columns, Formulas, Groups, Value
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.rank_classes import rank_classes
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import union_of
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.from_arrays import distinct, first_values, ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, UNDEFINED, Vec, special_name

__all__ = ["GridNeighbours", "NamedPeers"]

WORLD = 0

MAX_CLASSES = 16
"""Groups of ranks with different names for the peers of a parameter."""

MAX_STEP_CLASSES = 64
"""Groups of ranks with different steps to their peers, of which some may have one name."""

MAX_FORMULA_CLASSES = 64
"""Groups of ranks into which the values of formulas are divided."""

SELF = "self"


@dataclass(frozen=True)
class NamedPeers:
    """Names of successive peers of some ranks.

    Attributes:
        names: of the first peers.
        complete: whether there are no others.
        constant: whether all executions have the one peer.
    """

    ranks: RankList
    names: tuple[str, ...]
    complete: bool
    constant: bool

    def __str__(self) -> str:
        return self.names[0] if self.constant else f"[{' '.join(self.names)}{'' if self.complete else ' …'}]"


@dataclass(frozen=True)
class _Piece:
    """Ranks with their first stored peers: an array for each execution, with a value per rank or for all."""

    ranks: Ints
    values: tuple[Ints, ...]
    complete: bool
    constant: bool


@dataclass(frozen=True)
class _StepClass:
    """Ranks with equal steps to their peers: for each along all dimensions, and a special value or 0."""

    ranks: RankList
    steps: tuple[tuple[tuple[int, ...], int], ...]
    complete: bool
    constant: bool


@dataclass(frozen=True)
class _Members:
    """Communicators of a family, as arrays over world ranks: own position, and where its members begin."""

    position: Ints
    start: Ints
    size: Ints
    members: Ints

    @cached_property
    def are_ordered(self) -> bool:
        """Whether each rank has the number that it has in MPI_COMM_WORLD."""
        return np.array_equal(self.members, np.arange(len(self.position)))


class GridNeighbours:
    """Names of peers that are at the same place beside each rank.

    Args:
        budget: ranks whose peers may be compared in all; further ones keep their distances.
    """

    def __init__(self, trace: Trace, grid: Grid, budget: int) -> None:
        self._trace, self._grid, self._remaining = trace, grid, budget
        self._members = cache(self._find_members)
        self._classes = cache(self._find_classes)
        self._places = [grid.columns[name] for name in grid.coords]

    def classes(self, event: Event, peer: Peer, taking_part: RankList) -> list[NamedPeers] | None:
        """Return groups of ranks with the names of their peers; None unless each peer has one.

        A group of ranks that share a stored peer is not divided: there are no more names than stored values.

        Args:
            taking_part: the ranks that execute the event.
        """
        family = self._family(event)
        return None if family is None else self._classes(family, peer, taking_part)

    def _family(self, event: Event) -> int | None:
        where = self._trace.ops[event.op].index("comm")
        family = None if where is None else event.params[where]
        return family.constant if isinstance(family, Vec) else None

    def _find_members(self, family: int) -> _Members | None:
        n = self._trace.nprocs
        if family == WORLD:
            everyone = np.arange(n)
            return _Members(everyone, np.zeros_like(everyone), np.full_like(everyone, n), everyone)
        if not 0 <= family < len(self._trace.comms) or self._trace.comms[family].remote_members is not None:
            return None
        try:
            layout = self._trace.layout(family)
            sizes = np.array(layout.sizes, dtype=np.int64)
            members = first_values(self._trace.comms[family].members, int(sizes.sum()))
        except (ScalatraceError, ValueError):
            return None
        if not len(members) or members.min() < 0 or (members == UNDEFINED).any():
            return None
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        position, start, size = np.full(n, -1), np.zeros(n, np.int64), np.zeros(n, np.int64)
        position[members] = np.arange(len(members)) - starts
        start[members], size[members] = starts, np.repeat(sizes, sizes)
        return _Members(position, start, size, members)

    def _find_classes(self, family: int, peer: Peer, taking_part: RankList) -> list[NamedPeers] | None:
        pieces = self._pieces(peer.value, taking_part)
        if pieces is None or (members := self._members(family)) is None:
            return None
        self._remaining -= sum(len(piece.ranks) * len(piece.values) for piece in pieces)
        if self._remaining < 0:
            return None
        classes: list[_StepClass] = []
        for piece in pieces:
            found = self._step_classes(piece, peer.encoding, members)
            if found is None or len(classes) + len(found) > MAX_STEP_CLASSES:
                return None
            classes += found
        if len(taking_part) == 1 and self._is_over_border(classes):
            return None  # on a periodic grid of few ranks, each is a neighbour of a single one
        best: list[NamedPeers] | None = None
        for is_folded in (False, True):  # on a side of two, one step back and one ahead lead to the same rank
            named = self._named(classes, is_folded)
            if named is not None and (best is None or len(named) < len(best)):
                best = named
        if best is None or not any(map(_is_place, best)):
            return None
        nstored = _count_stored(peer.value, pieces)
        # All send to one rank: that is at another place beside each of them.
        return best if len(best) < nstored + (peer.encoding is not Encoding.ABSOLUTE) else None

    def _pieces(self, value: Value, taking_part: RankList) -> list[_Piece] | None:
        """Return the ranks with their stored peers; None: these are too many, or not known."""
        if isinstance(value, Columns):
            own = ranks_in(value.ranks)
            return [_Piece(own, (first_values(value.vec, len(own)),), True, True)]
        classes: list[tuple[RankList, Vec]]
        if isinstance(value, Vec):
            classes = [(taking_part, value)]
        elif isinstance(value, Groups):
            classes = list(value.groups)
        elif isinstance(value, Formulas):
            try:
                classes = list(rank_classes(value, taking_part, MAX_FORMULA_CLASSES))
            except ScalatraceError:
                return None
        else:
            return None
        pieces = []
        for ranks, vec in classes:
            values, is_complete = listed(vec)
            columns = tuple(np.array([number], dtype=np.int64) for number in values)
            pieces.append(_Piece(ranks_in(ranks), columns, is_complete, vec.constant is not None))
        return pieces if all(len(piece.ranks) and piece.values for piece in pieces) else None

    def _step_classes(self, piece: _Piece, encoding: Encoding, members: _Members) -> list[_StepClass] | None:
        """Divide ranks by the steps to their successive peers; None: a peer is not in the communicator."""
        own = piece.ranks
        if all(len(values) == 1 and values[0] < SPECIAL_MAX for values in piece.values):
            nowhere = (0,) * len(self._grid.dims)
            steps = tuple((nowhere, int(values[0])) for values in piece.values)
            return [_StepClass(ranks_of(own), steps, piece.complete, piece.constant)]
        position, size = members.position[own], members.size[own]
        if position.min() < 0:
            return None
        rows: list[Ints] = []
        for values in piece.values:
            is_special = np.broadcast_to(values < SPECIAL_MAX, own.shape)
            peers = _decoded(encoding, np.where(values < SPECIAL_MAX, 0, values), position, size)
            if is_special.any():
                peers = np.where(is_special, position, peers)
            if (peers < 0).any() or (peers >= size).any():
                return None
            world = peers if members.are_ordered else members.members[members.start[own] + peers]
            rows += self._steps(own, world)
            rows.append(np.where(is_special, values, 0))
        first, like = distinct(np.array(rows))
        if len(first) > MAX_STEP_CLASSES:
            return None
        ndims, classes = len(self._grid.dims), []
        for number, example in enumerate(first.tolist()):
            column = [int(row[example]) for row in rows]
            cuts = range(0, len(column), ndims + 1)
            steps = tuple((tuple(column[at : at + ndims]), column[at + ndims]) for at in cuts)
            ranks = ranks_of(own if len(first) == 1 else own[like == number])
            classes.append(_StepClass(ranks, steps, piece.complete, piece.constant))
        return classes

    def _is_over_border(self, classes: Sequence[_StepClass]) -> bool:
        """Return whether a step of the first rank of a class leads over the border of the grid."""
        for one in classes:
            place = self._grid.place(one.ranks.first)
            for step, _ in one.steps:
                pairs = zip(self._grid.coords, self._grid.dims, step, strict=True)
                if any(not 0 <= place[name] + way < side for name, side, way in pairs):
                    return True
        return False

    def _steps(self, own: Ints, peers: Ints) -> Iterator[Ints]:
        """Yield the steps along each dimension from ranks to their peers, the shorter way around."""
        for side, place in zip(self._grid.dims, self._places, strict=True):
            step = place[peers] - place[own]
            if (is_long := 2 * np.abs(step) > side).any():
                step = np.where(is_long, step - np.sign(step) * side, step)
            yield step

    def _named(self, classes: Sequence[_StepClass], is_folded: bool) -> list[NamedPeers] | None:
        by_names: dict[tuple[tuple[str, ...], bool, bool], list[RankList]] = {}
        for one in classes:
            names = [self._name(step, special, is_folded) for step, special in one.steps]
            found = tuple(name for name in names if name is not None)
            if len(found) < len(names):
                return None
            by_names.setdefault((found, one.complete, one.constant), []).append(one.ranks)
        if len(by_names) > MAX_CLASSES:
            return None
        named = [NamedPeers(union_of(sets), *key) for key, sets in by_names.items()]
        return sorted(named, key=lambda peers: peers.ranks.first)

    def _name(self, step: Sequence[int], special: int, is_folded: bool) -> str | None:
        """Return the name of a step; None: it leads too far in several directions.

        Args:
            special: value of MPI that stands for no rank; 0: it is none.
            is_folded: steps of half a side count as ahead, which lead to the same ranks as those back.
        """
        if special:
            return special_name(special)
        sides = self._grid.dims
        if is_folded:
            pairs = zip(step, sides, strict=True)
            step = [abs(way) if 2 * abs(way) == side else way for way, side in pairs]
        if not any(step):
            return SELF
        if max(map(abs, step)) > 1 and sum(map(bool, step)) > 1:
            return None
        is_over = [is_folded and way != 0 and side == 2 for way, side in zip(step, sides, strict=True)]
        if len(step) > 2 or max(map(abs, step)) > 1 or any(is_over):
            return place_text(self._grid, step, is_over)
        return direction(self._grid, step)


def words(grid: Grid) -> tuple[str, ...]:
    """Return the words for the neighbours with the first coordinate less and more, and the second one."""
    vertical, horizontal = ("north", "south"), ("west", "east")
    return (*horizontal, *vertical) if grid.column_major else (*vertical, *horizontal)


def direction(grid: Grid, step: Sequence[int]) -> str:
    """Return the word of a neighbour on a grid of two dimensions, such as north-east."""
    named = words(grid)
    pieces = [pair[way > 0] for pair, way in zip((named[:2], named[2:]), step, strict=True) if way]
    return "-".join(sorted(pieces, key=("north", "south", "west", "east").index))


def place_text(grid: Grid, step: Sequence[int], is_over: Sequence[bool] = ()) -> str:
    """Return the place of a neighbour: `(x-1, y)`; `(1-x, y)`: the other rank of a side of two."""
    over = is_over or [False] * len(step)
    named = zip(grid.coords, step, over, strict=True)
    return f"({', '.join(_coordinate(name, way, other) for name, way, other in named)})"


def _coordinate(name: str, way: int, is_other: bool) -> str:
    if is_other:
        return f"1-{name}"
    return f"{name}{way:+d}" if way else name


def _is_place(peers: NamedPeers) -> bool:
    """Whether a name is more than a special value or the own rank."""
    return any((name[0].islower() and name != SELF) or name[0] == "(" for name in peers.names)


def _decoded(encoding: Encoding, values: Ints, position: Ints, size: Ints) -> Ints:
    """Return the peers of ranks at some positions, as `Encoding.decode`."""
    if encoding is Encoding.ABSOLUTE:
        return np.broadcast_to(values, position.shape)
    peers = position ^ values if encoding is Encoding.XOR else position + values
    return peers % size if encoding is Encoding.MODULO else peers


def _count_stored(value: Value, pieces: Sequence[_Piece]) -> int:
    """Return the number of different peers as they are stored: values, or parts of formulas."""
    if isinstance(value, Formulas):
        return len(value.parts)
    if isinstance(value, Columns):
        return len(np.unique(pieces[0].values[0]))
    return len({tuple(int(values[0]) for values in piece.values) for piece in pieces})
