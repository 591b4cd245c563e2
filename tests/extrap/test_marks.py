"""A library that is called from one line makes unlike calls at one call site: they are told apart."""

from __future__ import annotations

from itertools import product

import pytest

from scalatrace import Trace, extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.vec import ANY_SOURCE
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

SITE = 20
GRIDS = [(3, 2), (3, 3), (4, 3), (4, 4)]


def solver(phases: int = 2) -> Body:
    """Ranks ask all neighbours from any rank, then exchange borders of their blocks, all at one call site."""

    def body(rank: Rank) -> list[IssuedCall]:
        steps = [step for step in product((-1, 0, 1), repeat=2) if any(step)]
        found = [(step, peer) for step in steps if (peer := rank.neighbour(step, wrap=False)) is not None]
        calls = [call("Bcast", SITE, count=4, root=0, comm="world")]
        requests = tuple(range(2 * len(found) - 1, -1, -1))
        for phase in range(phases):
            for name in ("source", "dest"):
                for step, peer in found:
                    other = ANY_SOURCE if name == "source" and not phase else peer
                    given = {"count": _border(rank, step) if phase else 1, name: other, "tag": 7 + phase}
                    op = "Irecv" if name == "source" else "Isend"
                    calls.append(call(op, SITE, comm="world", **given))
            calls.append(call("Waitall", SITE, requests=requests))
        return [*calls, call("Barrier", SITE + 1, comm="world")]

    return body


def _border(rank: Rank, step: tuple[int, ...]) -> int:
    """The points of a border with the neighbour: those of a side, or one at a corner."""
    if all(step):
        return 1
    return rank.block(0 if step[1] else 1)


def traces(n: int) -> list[Trace]:
    return [trace_of(solver(), dims, n) for dims in GRIDS]


@pytest.mark.slow
@pytest.mark.parametrize("target", [(5, 4), pytest.param((6, 5), marks=pytest.mark.slow)])
def test_calls_of_one_site_are_told_apart(target: tuple[int, int]) -> None:
    made = extrap.extrapolate(traces(61), target[0] * target[1], target, {"n": 61}, dims_of=GRIDS)
    assert diff(made.trace, trace_of(solver(), target, 61), ["times"]) == []


def test_constants_of_one_side_are_shares_of_the_problem_too() -> None:
    """Ranks inside the second dimension are in traces of three columns only: 24 points are 8 there."""
    grids = [(2, 2), (3, 2), (3, 3), (4, 3)]

    def body(rank: Rank) -> list[IssuedCall]:
        inside = 0 < rank.place[1] < rank.dims[1] - 1
        count = 24 // rank.dims[1] if inside else 1
        return [call("Allreduce", 1 if inside else 2, count=count, comm="world")]

    with pytest.raises(ExtrapolationError, match="cannot tell 8 from n//Y"):
        extrap.extrapolate([trace_of(body, dims, 24) for dims in grids], 16, (4, 4), {"n": 24}, dims_of=grids)


def test_begins_and_ends_of_kernels_are_told_apart() -> None:
    """A `with` line makes both events: sizes that fall with each iteration alternate with zeros there."""

    def body(rank: Rank) -> list[IssuedCall]:
        (nprocs,) = rank.dims
        calls = []
        for size in (size for _ in range(3) for size in range(nprocs, 1, -1)):
            calls.append(call("Pcontrol", SITE, level=1001, size0=840 // nprocs, size1=size))
            calls.append(call("Pcontrol", SITE, level=1002, size0=0, size1=0))
            calls.append(call("Bcast", SITE + 1, count=8, root=0, comm="world"))
        return calls

    lines = [(3,), (4,), (5,), (6,), (7,)]
    made = extrap.extrapolate(
        [trace_of(body, dims, 840) for dims in lines], 8, (8,), {"n": 840}, dims_of=lines
    )
    assert diff(made.trace, trace_of(body, (8,), 840), ["times"]) == []
