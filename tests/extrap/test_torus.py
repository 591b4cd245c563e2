"""All neighbours on a torus, called from one line of a program, across faces, edges and corners."""

from __future__ import annotations

from itertools import product

import pytest

from scalatrace import extrap
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, trace_of

CASES = [
    ([(3, 3), (4, 3), (4, 4), (5, 4)], (5, 5)),
    pytest.param([(3, 3, 3), (4, 3, 3), (4, 4, 3), (4, 4, 4)], (5, 4, 4), marks=pytest.mark.slow),
]


def torus(rank: Rank) -> list[IssuedCall]:
    """Nonblocking calls with each neighbour in the order that PRK PIC has."""
    directions = [step for step in product((-1, 0, 1), repeat=len(rank.dims)) if any(step)]
    ordered = sorted(directions, key=lambda step: (sum(map(abs, step)), step))
    peers = [rank.neighbour(step, wrap=True) for step in ordered]
    calls = [call("Isend", 1, count=1, dest=peer, tag=0, comm="world") for peer in peers]
    calls += [call("Irecv", 2, count=1, source=peer, tag=0, comm="world") for peer in reversed(peers)]
    return [*calls, call("Waitall", 3, requests=tuple(range(len(calls))))] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("grids", "target"), CASES)
def test_neighbours_of_one_call_site(grids: list[tuple[int, ...]], target: tuple[int, ...]) -> None:
    nprocs = len(trace_of(torus, target).ranks)
    made = extrap.extrapolate([trace_of(torus, dims) for dims in grids], nprocs, target, dims_of=grids)
    assert diff(made.trace, trace_of(torus, target), ["times"]) == []
