"""Extrapolated traces against those of the same program on the larger grid, event by event."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import extrap
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import (
    Body,
    Rank,
    butterfly,
    collectors,
    halo,
    rows_and_columns,
    trace_of,
    wavefront,
)

PLANES = [(4, 4), (5, 4), (5, 5), (6, 5)]
CUBES = [(3, 3, 3), (4, 3, 3), (4, 4, 3), (4, 4, 4), (5, 4, 4)]
LINES = [(4,), (5,), (6,), (8,)]


def check(
    body: Body, small: list[tuple[int, ...]], large: tuple[int, ...], n: int = 0, groups: bool = False
) -> None:
    traces = [trace_of(body, dims, n, groups) for dims in small]
    real = trace_of(body, large, n, groups)
    made = extrap.extrapolate(traces, real.nprocs, large)
    assert diff(made.trace, real, ["times"]) == []
    assert made.trace.nevents() == real.nevents()


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize(
    ("small", "large"),
    [(LINES, (37,)), (PLANES, (9, 7)), pytest.param(CUBES, (6, 5, 3), marks=pytest.mark.slow)],
)
def test_halos(small: list[tuple[int, ...]], large: tuple[int, ...], wrap: bool) -> None:
    check(halo(wrap), small, large)


@pytest.mark.parametrize("n", [24, 31])
@pytest.mark.parametrize("large", [(8, 8), (10, 7)])
def test_wavefronts_with_blocks(n: int, large: tuple[int, ...]) -> None:
    check(wavefront, [*PLANES, (6, 6)], large, n)


def test_communicators_of_rows_and_columns() -> None:
    check(rows_and_columns, [(2, 3), (3, 3), (3, 4), (4, 4), (5, 4)], (6, 8), 48, groups=True)


def test_butterflies() -> None:
    check(butterfly, [(4,), (8,), (16,), (32,)], (128,))


def test_receives_from_everybody() -> None:
    check(collectors, LINES, (23,))


def test_weak_scaling() -> None:
    """Each side of the grid brings its own share of the problem."""
    small = [trace_of(wavefront, dims, 3 * dims[0] + 1) for dims in [*PLANES, (6, 6)]]
    real = trace_of(wavefront, (9, 9), 28)
    made = extrap.extrapolate(small, 81, (9, 9), {"n": 28})
    assert diff(made.trace, real, ["times"]) == []


@st.composite
def programs(draw: st.DrawFn) -> Body:
    """A few calls in a loop, made everywhere, on borders, or by the first rank; counts are linear."""
    kinds = draw(
        st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=5)
    )
    trips = draw(st.integers(1, 4))

    def body(rank: Rank) -> list[IssuedCall]:
        x, y = rank.place
        made: list[IssuedCall] = []
        for site, (kind, a, b) in enumerate(kinds):
            count = a + b * rank.dims[0] + (b % 2) * rank.dims[0] * rank.dims[1]
            if kind == 0:
                made.append(call("Allreduce", site, count=count, comm="world"))
            elif kind == 1 and (peer := rank.neighbour((0, 1), b % 2 == 0)) is not None:
                made.append(call("Send", site, count=count, dest=peer, tag=b, comm="world"))
            elif kind == 2 and (x == 0 or y == rank.dims[1] - 1):
                made.append(call("Send", site, count=a, dest=rank.number, tag=b, comm="world"))
            elif kind == 3 and rank.number == 0:
                made.append(call("Recv", site, count=a, source=b, tag=b, comm="world"))
            elif kind == 4:
                peer = rank.neighbour((1, 0), True)
                made.append(call("Send", site, count=a + x if b == 3 else a, dest=peer, tag=b, comm="world"))
        return made * trips + [call("Barrier", 99, comm="world")]

    return body


@given(programs())
@settings(max_examples=8, deadline=None)
def test_random_programs(body: Body) -> None:
    small = [(4, 4), (5, 4), (5, 5), (6, 5), (7, 6)]
    traces = [trace_of(body, dims) for dims in small]
    real = trace_of(body, (8, 9))
    made = extrap.extrapolate(traces, 72, (8, 9), dims_of=small)
    assert diff(made.trace, real, ["times"]) == []


def test_averaged_volumes() -> None:
    """What the recorder makes of the volumes of a sort: equal shares, rounded."""

    def body(rank: Rank) -> list[IssuedCall]:
        size = rank.dims[0]
        shares = ((2 * rank.n + size) // (2 * size),) * size
        return [call("Alltoallv", 40, sendcounts=shares, recvcounts=shares, comm="world")] * 3

    check(body, [(4,), (6,), (9,), (12,), (16,)], (37,), 64)


def test_tables_used_in_turns() -> None:
    """Arrays of two kinds by turns, for a number of calls that grows with the grid."""

    def body(rank: Rank) -> list[IssuedCall]:
        size = rank.dims[0]
        made = [call("Alltoallv", 41, sendcounts=(k % 2 + 1,) * size, comm="world") for k in range(2 * size)]
        return [*made, call("Barrier", 42, comm="world")]

    check(body, LINES, (19,))
