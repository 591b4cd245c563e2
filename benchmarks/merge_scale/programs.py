"""Programs without a machine: what each rank calls in a step, on grids of a power of two of ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Neighbours = list[tuple[int, int]]
"""(peer, tag) of the messages sent; each is answered by one from the same peer."""


@dataclass(frozen=True)
class Message:
    op: str
    peer: int
    tag: int
    site: str


@dataclass(frozen=True)
class Wait:
    nrequests: int


Step = list[Message | Wait]


def _grid(rank: int, nprocs: int, ndims: int) -> tuple[list[int], list[int]]:
    """Return the sides of a grid and the rank's place in it, row-major; the sides are powers of two."""
    bits = nprocs.bit_length() - 1
    sides = [1 << (bits // ndims + (i < bits % ndims)) for i in range(ndims)]
    place, rest = [], rank
    for side in reversed(sides):
        place.insert(0, rest % side)
        rest //= side
    return sides, place


def _rank(sides: list[int], place: list[int]) -> int:
    number = 0
    for side, x in zip(sides, place, strict=True):
        number = number * side + x
    return number


def neighbours(rank: int, nprocs: int, ndims: int) -> Neighbours:
    """Both neighbours in each dimension, where there is one."""
    sides, place = _grid(rank, nprocs, ndims)
    result = []
    for d in range(ndims):
        for step in (-1, 1):
            if 0 <= place[d] + step < sides[d]:
                there = [x + step * (i == d) for i, x in enumerate(place)]
                result.append((_rank(sides, there), 2 * d + (step > 0)))
    return result


def halo(ndims: int) -> Callable[[int, int], Step]:
    """Return the step of a stencil."""

    def step(rank: int, nprocs: int) -> Step:
        around = neighbours(rank, nprocs, ndims)
        made: Step = [Message(op, peer, tag, op) for op in ("Irecv", "Isend") for peer, tag in around]
        return [*made, Wait(2 * len(around))]

    return step


def wavefront(rank: int, nprocs: int) -> Step:
    """Two sweeps over a 2-D grid: from west and north, to east and south, and back."""
    sides, place = _grid(rank, nprocs, 2)
    result: Step = []
    for step in (-1, 1):
        for op, sign in (("Recv", step), ("Send", -step)):
            for d in (0, 1):
                if 0 <= place[d] + sign < sides[d]:
                    there = [x + sign * (i == d) for i, x in enumerate(place)]
                    result.append(Message(op, _rank(sides, there), d, f"sweep{step}{op}{d}"))
    return result


def butterfly(rank: int, nprocs: int) -> Step:
    """Partners at every power of two."""
    return [
        Message(op, rank ^ (1 << bit), bit, site)
        for bit in range(nprocs.bit_length() - 1)
        for op, site in (("Send", "exchange"), ("Recv", "exchange2"))
    ]


PROGRAMS: dict[str, Callable[[int, int], Step]] = {
    "stencil2d": halo(2),
    "stencil3d": halo(3),
    "wavefront": wavefront,
    "butterfly": butterfly,
}
