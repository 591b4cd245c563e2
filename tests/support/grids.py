"""Programs on grids of ranks, as what each rank calls: for extrapolation, which has to predict them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from scalatrace import Trace
from support.calls import Groups, IssuedCall, call, record

Place = tuple[int, ...]
Body = Callable[["Rank"], list[IssuedCall]]


class Rank:
    """A rank of a grid, row-major, and what it can call."""

    def __init__(self, number: int, dims: Sequence[int], n: int) -> None:
        self.number, self.dims, self.n = number, tuple(dims), n
        place, rest = list[int](), number
        for side in reversed(self.dims):
            place.insert(0, rest % side)
            rest //= side
        self.place: Place = tuple(place)

    def at(self, place: Sequence[int]) -> int | None:
        """The rank of a place; None outside."""
        if any(not 0 <= x < side for x, side in zip(place, self.dims, strict=True)):
            return None
        number = 0
        for x, side in zip(place, self.dims, strict=True):
            number = number * side + x
        return number

    def neighbour(self, step: Sequence[int], wrap: bool) -> int | None:
        """The rank at some distance."""
        there = [x + d for x, d in zip(self.place, step, strict=True)]
        if wrap:
            there = [x % side for x, side in zip(there, self.dims, strict=True)]
        return self.at(there)

    def block(self, axis: int) -> int:
        """Its part of n things along a dimension."""
        side = self.dims[axis]
        return self.n // side + (self.place[axis] < self.n % side)


def steps(ndims: int) -> list[Place]:
    """The neighbours across faces."""
    return [p for p in product((-1, 0, 1), repeat=ndims) if sum(map(abs, p)) == 1]


def halo(wrap: bool, loops: int = 5) -> Body:
    """Irecv and Isend with each neighbour, then Waitall."""

    def body(rank: Rank) -> list[IssuedCall]:
        peers = [p for step in steps(len(rank.dims)) if (p := rank.neighbour(step, wrap)) is not None]
        calls = [call("Irecv", 10, count=64, source=p, tag=1, comm="world") for p in peers]
        calls += [call("Isend", 11, count=64, dest=p, tag=1, comm="world") for p in peers]
        calls.append(call("Waitall", 12, requests=tuple(range(2 * len(peers) - 1, -1, -1))))
        return calls * loops + [call("Allreduce", 20, count=1, comm="world")]

    return body


def wavefront(rank: Rank) -> list[IssuedCall]:
    """A sweep from the first corner; counts are parts of n."""
    west, north = rank.neighbour((0, -1), False), rank.neighbour((-1, 0), False)
    east, south = rank.neighbour((0, 1), False), rank.neighbour((1, 0), False)
    calls = []
    for source, site, axis in ((west, 30, 0), (north, 31, 1)):
        if source is not None:
            calls.append(call("Recv", site, count=rank.block(axis), source=source, tag=2, comm="world"))
    for dest, site, axis in ((east, 32, 0), (south, 33, 1)):
        if dest is not None:
            calls.append(call("Send", site, count=rank.block(axis), dest=dest, tag=2, comm="world"))
    return calls * 4 + [call("Barrier", 40, comm="world")]


def rows_and_columns(rank: Rank) -> list[IssuedCall]:
    """A transposition in rows, another in columns; what is exchanged shrinks with both sides."""
    x, y = rank.dims
    return [
        call("Alltoall", 50, count=(rank.n // x) * (rank.n // y), comm="row"),
        call("Alltoall", 51, count=(rank.n // y) ** 2, comm="column"),
        call("Bcast", 52, count=3, root=0, comm="world"),
    ] * 3


def butterfly(rank: Rank) -> list[IssuedCall]:
    """Partners at every power of two."""
    size = prod(rank.dims)
    calls = []
    for bit in range(size.bit_length() - 1):
        calls.append(call("Send", 60, count=4, dest=rank.number ^ (1 << bit), tag=0, comm="world"))
        calls.append(call("Recv", 61, count=4, source=rank.number ^ (1 << bit), tag=0, comm="world"))
    return calls


def collectors(rank: Rank) -> list[IssuedCall]:
    """Everybody sends to rank 0, which takes them in order."""
    size = prod(rank.dims)
    if rank.number:
        return [call("Send", 70, count=5, dest=0, tag=3, comm="world")]
    return [call("Recv", 71, count=5, source=r, tag=3, comm="world") for r in range(1, size)]


def panels(rank: Rank) -> list[IssuedCall]:
    """A factorisation by panels: the column whose turn it is reduces, the rest, which shrinks, is sent."""
    (x, y), (row, column) = rank.dims, rank.place
    made: list[IssuedCall] = []
    for k in range(2 * x):
        if k % y == column:
            made += [call("Allreduce", 80, count=1, comm="column")] * 2
        made.append(call("Bcast", 81, count=4 * (2 - (k - row + x - 1) // x) + 1, root=k % y, comm="row"))
        if k < 2 * x - 1:
            made.append(call("Bcast", 82, count=3, root=k % x, comm="column"))
    return made


def ends(rank: Rank) -> list[IssuedCall]:
    """The first iteration has one call more, the last one fewer; a few ranks make another call."""
    x, y = rank.place
    made: list[IssuedCall] = []
    for k in range(2 * rank.dims[0]):
        made += [call("Barrier", 90, comm="world")] * (rank.dims[1] - y if k == 0 else 1)
        if (k + 1) % rank.dims[0] == x:
            made.append(call("Allreduce", 91, count=k + 1, comm="row"))
    return made


def groups_of(dims: Sequence[int]) -> Groups:
    """Rows and columns of a plane."""
    x, y = dims
    return {
        "row": [[i * y + j for j in range(y)] for i in range(x)],
        "column": [[i * y + j for i in range(x)] for j in range(y)],
    }


def trace_of(body: Body, dims: Sequence[int], n: int = 0, groups: bool = False) -> Trace:
    """The trace of a program on a grid; with its parameter n noted, if it has one."""
    calls = [body(Rank(number, dims, n)) for number in range(prod(dims))]
    trace = record(calls, groups_of(dims) if groups else None)
    if n:
        trace.meta["param.n"] = str(n)
    return trace
