"""What the traces do not determine is refused: numbers of stages, products that a line goes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError, UndeterminedError
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.vec import PROC_NULL
from support.calls import IssuedCall, call
from support.grids import Body, Rank, halo, trace_of


def _exchange(site: int, dest: int, source: int) -> IssuedCall:
    own = {"sendcount": 3, "sendtag": 0, "recvcount": 3, "recvtag": 0}
    return call("Sendrecv", site, dest=dest, source=source, comm="world", **own)


def dissemination(rank: Rank) -> list[IssuedCall]:
    """Each rank signals ranks at distances 1, 2, 4, ..., in each of three steps."""
    size = prod(rank.dims)
    distances = [1 << k for k in range((size - 1).bit_length())]
    return [_exchange(1, (rank.number + d) % size, (rank.number - d) % size) for d in distances] * 3


def folded_butterfly(rank: Rank) -> list[IssuedCall]:
    """Recursive doubling; the ranks beyond a power of two pair up with others first and last."""
    size, own = prod(rank.dims), rank.number
    most = 1 << (size.bit_length() - 1)
    rest = size - most
    if own < 2 * rest and own % 2 == 0:
        return [
            call("Send", 2, count=4, dest=own + 1, tag=0, comm="world"),
            call("Recv", 5, count=4, source=own + 1, tag=0, comm="world"),
        ]
    new = own // 2 if own < 2 * rest else own - rest
    partners = [new ^ (1 << k) for k in range(most.bit_length() - 1)]
    ranks = [2 * p + 1 if p < rest else p + rest for p in partners]
    made = [_exchange(3, p, p) for p in ranks]
    if own >= 2 * rest:
        return made
    first = call("Recv", 4, count=4, source=own - 1, tag=0, comm="world")
    return [first, *made, call("Send", 6, count=4, dest=own - 1, tag=0, comm="world")]


def binomial(rank: Rank) -> list[IssuedCall]:
    """Rank 0 gathers along a tree: how many calls it makes follows from the ranks that there are."""
    made, size = [], prod(rank.dims)
    for bit in range(size.bit_length()):
        if rank.number >> bit & 1:
            return [*made, call("Send", 7, count=3, dest=rank.number - (1 << bit), tag=0, comm="world")]
        if rank.number + (1 << bit) < size:
            made.append(call("Recv", 8, count=3, source=rank.number + (1 << bit), tag=0, comm="world"))
    return made


def _lines(sizes: Sequence[int]) -> list[tuple[int]]:
    return [(n,) for n in sizes]


@pytest.mark.parametrize("program", [dissemination, folded_butterfly])
@pytest.mark.parametrize("sizes", [(20, 25, 30), (9, 12, 15), (17, 18, 20, 25, 30)])
def test_stages_that_are_as_many_in_all_traces(program: Body, sizes: Sequence[int]) -> None:
    given = [trace_of(program, dims) for dims in _lines(sizes)]
    with pytest.raises(UndeterminedError, match=r"cannot tell \d+ from .*log2\(P\)"):
        extrap.extrapolate(given, 40)
    within = 28 if sizes[0] > 9 else 14
    made = extrap.extrapolate(given, within)
    assert diff(made.trace, trace_of(program, (within,)), ["times"]) == []


@pytest.mark.parametrize("program", [dissemination, folded_butterfly, binomial])
def test_more_stages_decide(program: Body) -> None:
    given = [trace_of(program, dims) for dims in _lines((6, 7, 12, 15, 20, 25))]
    made = extrap.extrapolate(given, 70)
    assert diff(made.trace, trace_of(program, (70,)), ["times"]) == []


def test_trees_whose_calls_follow_from_the_ranks() -> None:
    given = [trace_of(binomial, dims) for dims in _lines((20, 25, 30))]
    made = extrap.extrapolate(given, 40)
    assert diff(made.trace, trace_of(binomial, (40,)), ["times"]) == []


def test_steps_are_no_stages() -> None:
    """Five time steps of a halo on 20 to 30 ranks, of which five is a logarithm."""
    grids = [(5, 4), (5, 5), (6, 5)]
    given = [trace_of(halo(wrap=False, loops=5), dims) for dims in grids]
    made = extrap.extrapolate(given, 64)
    assert diff(made.trace, trace_of(halo(wrap=False, loops=5), (8, 8)), ["times"]) == []


def slabs(rank: Rank) -> list[IssuedCall]:
    """A part of a cube that is divided three times."""
    (x, y), n = rank.dims, rank.n
    return [call("Bcast", 1, count=(n // x) * (n // x) * (n // y), root=0, comm="world"), *halo(True)(rank)]


@pytest.mark.slow
def test_a_line_through_three_values_of_a_product() -> None:
    grids = [(2, 2), (3, 2), (4, 3)]
    given = [trace_of(slabs, dims, 48) for dims in grids]
    with pytest.raises(UndeterminedError, match="the traces cannot tell"):
        extrap.extrapolate(given, 16, (4, 4), dims_of=grids, params={"n": 48})
    more = [*grids, (3, 3), (4, 2)]
    given = [trace_of(slabs, dims, 48) for dims in more]
    made = extrap.extrapolate(given, 16, (4, 4), dims_of=more, params={"n": 48})
    assert diff(made.trace, trace_of(slabs, (4, 4), 48), ["times"]) == []


def red_and_black(rank: Rank) -> list[IssuedCall]:
    """Ranks of one colour of a chessboard send first, the others receive first."""
    made = []
    for colour in (0, 1):
        for step in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            if (peer := rank.neighbour(step, False)) is not None:
                sends = sum(rank.place) % 2 == colour
                made.append(
                    call("Send", 1, count=8, dest=peer, tag=0, comm="world")
                    if sends
                    else call("Recv", 2, count=8, source=peer, tag=0, comm="world")
                )
    return made * 5


@pytest.mark.slow
def test_chessboards() -> None:
    grids = [(3, 2), (3, 3), (4, 3), (4, 4), (5, 4)]
    given = [trace_of(red_and_black, dims) for dims in grids]
    for target in ((5, 5), (6, 5), (7, 7)):
        made = extrap.extrapolate(given, prod(target), target)
        assert diff(made.trace, trace_of(red_and_black, target), ["times"]) == []


def cartesian(rank: Rank) -> list[IssuedCall]:
    """A halo on a communicator whose sides are those of the grid."""
    return [call("Cart_create", 9, comm="world", dims=rank.dims), *halo(wrap=False)(rank)]


def test_sides_of_a_grid_are_nothing_else() -> None:
    """X is 4, 5 and 6, as ceil_log2(P) is on 16, 25 and 36 ranks."""
    grids = [(4, 4), (5, 5), (6, 6)]
    made = extrap.extrapolate([trace_of(cartesian, dims) for dims in grids], 64, (8, 8), dims_of=grids)
    assert diff(made.trace, trace_of(cartesian, (8, 8)), ["times"]) == []


def pieces(number: Callable[[int], int]) -> Body:
    """Gather pieces whose length depends on the number of ranks."""
    return lambda rank: [
        call("Gather", 1, sendcount=number(prod(rank.dims)), recvcount=0, root=0, comm="world")
    ]


@pytest.mark.parametrize("number", [lambda p: 5 + (p - 1).bit_length(), lambda p: 2 * (p - 1).bit_length()])
def test_logarithms_that_are_sides_in_all_traces(number: Callable[[int], int]) -> None:
    """X and ceil_log2(P) are 2, 4, 5 and 6, also with a constant or a factor."""
    grids = [(2, 2), (4, 4), (5, 5), (6, 6)]
    given = [trace_of(pieces(number), dims) for dims in grids]
    with pytest.raises(UndeterminedError, match="ceil_log2"):
        extrap.extrapolate(given, 49, (7, 7), dims_of=grids)
    given.append(trace_of(pieces(number), (3, 3)))
    made = extrap.extrapolate(given, 49, (7, 7), dims_of=[*grids, (3, 3)])
    assert diff(made.trace, trace_of(pieces(number), (7, 7)), ["times"]) == []


def from_the_other_half(rank: Rank) -> list[IssuedCall]:
    """Odd rows receive from the rank half of all ranks behind; those in the first half get no elements."""
    (x, _), size = rank.place, prod(rank.dims)
    if not x % 2:
        return [call("Barrier", 2, comm="world")]
    source = (rank.number - size // 2) % size
    received = call("Irecv", 1, count=int(2 * x >= rank.dims[0]), source=source, tag=1, comm="world")
    return [received, call("Barrier", 2, comm="world")]


def test_two_sizes_confirm_no_factor() -> None:
    """The second row of 5x5 and 6x6 ranks receives from y+6*(X-2), and that of 8x8 does not."""
    grids = [(2, 2), (5, 5), (6, 6)]
    given = [trace_of(from_the_other_half, dims) for dims in grids]
    real = trace_of(from_the_other_half, (8, 8))
    try:
        made = extrap.extrapolate(given, 64, (8, 8), dims_of=grids)
    except ExtrapolationError:
        return
    assert diff(made.trace, real, ["times"]) == []


def halo_of_pairs(rank: Rank) -> list[IssuedCall]:
    """Both receives of a step have one call site; those from nobody have no elements, of another type."""
    made = []
    for _ in range(4):
        for octant in range(8):
            for axis, step in ((0, 1 - 2 * (octant & 1)), (1, 1 - (octant & 2))):
                peer = rank.neighbour((step, 0) if axis == 0 else (0, step), False)
                count = 0 if peer is None else 5 * (rank.n // rank.dims[1 - axis])
                datatype = "MPI_BYTE" if peer is None else "MPI_DOUBLE"
                source = PROC_NULL if peer is None else peer
                made.append(
                    call("Recv", 1, count=count, datatype=datatype, source=source, tag=0, comm="world")
                )
    return made * 2


@pytest.mark.slow
def test_sizes_of_predefined_types_are_known() -> None:
    """An inner column is on grids with Y = 3 only: 8 bytes may not be Y+5 there."""
    grids = [(2, 2), (3, 2), (4, 2), (3, 3), (4, 3)]
    given = [trace_of(halo_of_pairs, dims, 120) for dims in grids]
    made = extrap.extrapolate(given, 16, (4, 4), dims_of=grids, params={"n": 120})
    assert diff(made.trace, trace_of(halo_of_pairs, (4, 4), 120), ["times"]) == []
