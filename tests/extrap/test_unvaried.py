"""A parameter with one value in all traces shows nothing of what depends on it."""

from __future__ import annotations

import re

import pytest

from scalatrace import Trace, extrap
from scalatrace.extrap.errors import InputError
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

LINES = [(3,), (4,), (5,), (7,)]
SIZE = 12


def cholesky(rank: Rank) -> list[IssuedCall]:
    """Columns in turn: what is left of each goes to all."""
    nprocs = rank.dims[0]
    return [call("Bcast", 1, count=rank.n - k, root=k % nprocs, comm="world") for k in range(rank.n)]


def shortest_paths(rank: Rank) -> list[IssuedCall]:
    """Each of n rows goes to all; the sum of a square of n x n follows (Floyd and Warshall)."""
    return [
        *[call("Bcast", 1, count=rank.n, root=0, comm="world")] * rank.n,
        call("Allreduce", 2, count=rank.n**2, comm="world"),
    ]


def jacobi(rank: Rank) -> list[IssuedCall]:
    """Columns of a square of n x n to the right neighbour."""
    nprocs = rank.dims[0]
    given = {"dest": (rank.number + 1) % nprocs, "source": (rank.number - 1) % nprocs}
    return [call("Sendrecv", 1, sendcount=rank.n, recvcount=rank.n, tag=0, comm="world", **given)] * 4


def pipeline(rank: Rank) -> list[IssuedCall]:
    """n parts of a batch pass the line of ranks."""
    calls = []
    if rank.number:
        calls.append(call("Recv", 1, count=1, source=rank.number - 1, tag=0, comm="world"))
    if rank.number < rank.dims[0] - 1:
        calls.append(call("Send", 2, count=1, dest=rank.number + 1, tag=0, comm="world"))
    return calls * rank.n


def traces(body: Body, sizes: list[tuple[tuple[int, ...], int]]) -> list[Trace]:
    return [trace_of(body, dims, n) for dims, n in sizes]


@pytest.mark.parametrize("body", [cholesky, shortest_paths, jacobi, pipeline])
def test_another_value_is_refused_until_a_trace_shows_it(body: Body) -> None:
    sizes = [(dims, SIZE) for dims in LINES]
    with pytest.raises(
        InputError, match=f"all traces have n = {SIZE}, the result is to have n = 24"
    ) as error:
        extrap.extrapolate(traces(body, sizes), 8, (8,), {"n": 24}, dims_of=LINES)
    named = re.search(r"(\d+) ranks \((\d+)\) with n = (\d+)", str(error.value))
    assert named is not None
    side, n = int(named[2]), int(named[3])
    sizes.append(((side,), n))
    made = extrap.extrapolate(traces(body, sizes), 8, (8,), {"n": 24}, dims_of=[dims for dims, _ in sizes])
    assert diff(made.trace, trace_of(body, (8,), 24), ["times"]) == []


@pytest.mark.parametrize("body", [cholesky, shortest_paths, jacobi, pipeline])
def test_same_value_needs_no_other(body: Body) -> None:
    given = traces(body, [(dims, SIZE) for dims in LINES])
    made = extrap.extrapolate(given, 8, (8,), dims_of=LINES)
    assert diff(made.trace, trace_of(body, (8,), SIZE), ["times"]) == []


def test_no_value_depends_on_it() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=rank.dims[0], comm="world")] * rank.dims[0]

    made = extrap.extrapolate(
        [trace_of(body, dims, SIZE) for dims in LINES], 8, (8,), {"n": 24}, dims_of=LINES
    )
    assert diff(made.trace, trace_of(body, (8,), 24), ["times"]) == []


def test_value_is_used_where_what_is_unconfirmed_is_accepted() -> None:
    given = traces(jacobi, [(dims, SIZE) for dims in LINES])
    made = extrap.extrapolate(given, 8, (8,), {"n": 24}, dims_of=LINES, accept_unconfirmed=True)
    assert made.trace.nprocs == 8


def tiles(rank: Rank) -> list[IssuedCall]:
    """Blocks of n cells, and ten time steps."""
    return [call("Allreduce", 1, count=rank.n // rank.dims[0], comm="world")] * 10


def test_blocks_of_it_are_no_blocks_of_a_number() -> None:
    """240//X would take ten bits more than n//X; 10 is no short formula of n."""
    lines = [(3,), (4,), (5,), (6,)]
    made = extrap.extrapolate(
        traces(tiles, [(dims, 240) for dims in lines]), 8, (8,), {"n": 480}, dims_of=lines
    )
    assert diff(made.trace, trace_of(tiles, (8,), 480), ["times"]) == []


@pytest.mark.parametrize("n", [4, 20])
def test_small_numbers_may_be_it(n: int) -> None:
    """With n = 20, 10 may be n//2; with n = 4, n may be a 4."""
    lines = [(1,), (2,), (4,), (3,)]
    with pytest.raises(InputError, match=f"all traces have n = {n}"):
        extrap.extrapolate(traces(tiles, [(dims, n) for dims in lines]), 5, (5,), {"n": 40}, dims_of=lines)


@pytest.mark.parametrize("n", [0, 1, 100])
def test_numbers_that_are_made_of_it_are_refused(n: int) -> None:
    """Seven levels are ceil_log2(100); of 0 and 1 nothing is made but small numbers."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=rank.dims[0], comm="world")] * 7

    lines = [(3,), (4,), (5,), (6,)]
    given = traces(body, [(dims, n) for dims in lines])
    if n == 100:
        with pytest.raises(InputError, match="all traces have n = 100"):
            extrap.extrapolate(given, 8, (8,), {"n": 1000}, dims_of=lines)
        return
    try:
        made = extrap.extrapolate(given, 8, (8,), {"n": 1000}, dims_of=lines)
    except InputError:
        return
    assert diff(made.trace, trace_of(body, (8,), 1000), ["times"]) == []


def test_two_of_one_value() -> None:
    """Whether blocks are of n or of m, no trace shows."""
    lines = [(3,), (4,), (5,), (6,)]
    given = traces(tiles, [(dims, 240) for dims in lines])
    for trace in given:
        trace.meta["param.m"] = "240"
    with pytest.raises(InputError, match="all traces have"):
        extrap.extrapolate(given, 8, (8,), {"n": 480, "m": 240}, dims_of=lines)
