"""The size of a problem that no parameter gives is found from the blocks of uneven divisions."""

from __future__ import annotations

import pytest

from scalatrace import Trace, extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import prepared
from scalatrace.extrap.fit.problem_size import problem_sizes
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.vec import PROC_NULL
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

GRIDS = [(3, 3), (4, 3), (4, 4), (5, 4), (5, 5)]


def borders(n: int, factor: int, constant: int, larger_last: bool = False) -> Body:
    """A program that sends borders of its blocks of n x n points to the lower neighbours."""

    def block(rank: Rank, axis: int) -> int:
        side, place = rank.dims[axis], rank.place[axis]
        return (place + 1) * n // side - place * n // side if larger_last else rank.block(axis)

    def body(rank: Rank) -> list[IssuedCall]:
        rank.n = n
        calls = []
        for line, (step, across) in enumerate((((-1, 0), 1), ((0, -1), 0))):
            for sign, name in ((1, "dest"), (-1, "source")):
                peer = rank.neighbour([sign * one for one in step], wrap=False)
                if peer is not None:
                    given = {"count": factor * block(rank, across) + constant, name: peer, "tag": line}
                    calls.append(
                        call("Send" if sign > 0 else "Recv", 10 * line + sign, comm="world", **given)
                    )
        return [*calls * 3, call("Allreduce", 30, count=1, comm="world")]

    return body


def traces(body: Body) -> list[Trace]:
    return [trace_of(body, dims) for dims in GRIDS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "factor", "constant", "larger_last"),
    [
        (33, 5, 0, True),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (33, 5, 0, False), (97, 20, 100, False), (97, 20, 100, True), (101, 1, 2, False),
                (101, 1, 2, True),
            )
        ),
    ],
)  # fmt: skip
def test_result_is_that_of_the_real_run(n: int, factor: int, constant: int, larger_last: bool) -> None:
    body = borders(n, factor, constant, larger_last)
    made = extrap.extrapolate(traces(body), 42, (7, 6), dims_of=GRIDS)
    assert diff(made.trace, trace_of(body, (7, 6)), ["times"]) == []
    assert f"problem size n = {n} found" in made.evidence
    assert made.trace.meta["found-size"] == f"n={n}"


@pytest.mark.slow
def test_remainder_of_one_may_belong_to_the_last_block() -> None:
    """Of 96 points on 3, 4 and 5 columns the last block has one more at most: it may have all the rest."""
    body = borders(96, 20, 100, larger_last=True)
    with pytest.raises(ExtrapolationError, match="the traces cannot tell"):
        extrap.extrapolate(traces(body), 42, (7, 6), dims_of=GRIDS)
    even = extrap.extrapolate(traces(body), 48, (8, 6), dims_of=GRIDS)
    assert diff(even.trace, trace_of(body, (8, 6)), ["times"]) == []


@pytest.mark.slow
def test_size_that_all_traces_divide_is_not_found() -> None:
    """60 points on 3, 4 and 5 columns: 12 or 7200 may as well be divided; 7 does not divide 60."""
    given = traces(borders(60, 7, 9))
    ordered, runs, _ = prepared(given, GRIDS)
    assert len(problem_sizes(ordered, runs)) != 1
    with pytest.raises(ExtrapolationError, match="the traces cannot tell"):
        extrap.extrapolate(given, 42, (7, 6), dims_of=GRIDS)


def test_values_without_blocks_have_no_size() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        size = {9: 17, 12: 5, 16: 90, 20: 41, 25: 13}[rank.dims[0] * rank.dims[1]]
        return [call("Allreduce", 1, count=size, comm="world")]

    with pytest.raises(ExtrapolationError, match="no formula found for count of Allreduce"):
        extrap.extrapolate(traces(body), 42, (7, 6), dims_of=GRIDS)


def test_blocks_of_one_call_site_tell_a_size() -> None:
    """60 things on a line of 4, 5, 7 and 8 ranks: the first blocks are longer."""
    grids = [(4,), (5,), (7,), (8,)]

    def body(rank: Rank) -> list[IssuedCall]:
        rank.n = 60
        return [call("Gatherv", 1, sendcount=rank.block(0), root=0, comm="world")] * 3

    made = extrap.extrapolate([trace_of(body, dims) for dims in grids], 11, (11,), dims_of=grids)
    assert diff(made.trace, trace_of(body, (11,)), ["times"]) == []


@pytest.mark.slow
def test_size_along_one_dimension_is_not_that_along_the_other() -> None:
    """47 points along the first dimension and 46 along the second: both give the counts on few columns."""

    def body(rank: Rank) -> list[IssuedCall]:
        calls = []
        for axis, (n, step) in enumerate(((47, (0, 1)), (46, (1, 0)))):
            side, place = rank.dims[axis], rank.place[axis]
            count = 8 * ((place + 1) * n // side - place * n // side + 1)
            for op, name, sign in (("Isend", "dest", 1), ("Irecv", "source", -1)):
                peer = rank.neighbour([sign * one for one in step], wrap=False)
                if peer is not None:
                    given = {"count": count, name: peer, "tag": axis}
                    calls.append(call(op, 10 * axis + sign, comm="world", **given))
        return [*calls * 3, call("Allreduce", 30, count=1, comm="world")]

    grids = [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4)]
    try:
        made = extrap.extrapolate([trace_of(body, dims) for dims in grids], 20, (4, 5), dims_of=grids)
    except ExtrapolationError:
        return
    assert diff(made.trace, trace_of(body, (4, 5)), ["times"]) == []


def test_parameter_that_is_no_size_of_the_blocks() -> None:
    """4096 rows on 2, 4 and 8 ranks; the parameter 6 is half the logarithm of that."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Allgather", 1, sendcount=4096 // rank.dims[0], comm="world")] * 3

    lines = [(2,), (4,), (8,)]
    given = [trace_of(body, dims, n=6) for dims in lines]
    with pytest.raises(ExtrapolationError, match=r"cannot tell .* from 4096//X"):
        extrap.extrapolate(given, 16, (16,), dims_of=lines)


@pytest.mark.parametrize("nprocs", [10, 11])
def test_line_that_is_blocks_of_some_size_is_no_rule(nprocs: int) -> None:
    """Blocks of 36 cells, rounded up, have 9, 8, 6 and 5 on 4, 5, 7 and 8 ranks: 13-P fits."""
    grids = [(4,), (5,), (7,), (8,)]

    def body(rank: Rank) -> list[IssuedCall]:
        block = -(-36 // rank.dims[0])
        return [call("Allreduce", 1, count=100 + 20 * block, comm="world")]

    given = [trace_of(body, dims) for dims in grids]
    with pytest.raises(ExtrapolationError, match="the traces cannot tell"):
        extrap.extrapolate(given, nprocs, (nprocs,), dims_of=grids)


def test_numbers_are_divided_whole_if_that_is_accepted() -> None:
    """Of 1400 elements on 2, 4 and 8 ranks, 700, 350 and 175: 175*(8//X) is 0 on 16 ranks, 1400//X is not."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Allgather", 1, sendcount=1400 // rank.dims[0], comm="world")] * 3

    lines = [(2,), (4,), (8,)]
    given = [trace_of(body, dims) for dims in lines]
    with pytest.raises(
        ExtrapolationError, match=r"cannot tell 1400//X from .*\n.*\nnext: give the size of the pro"
    ):
        extrap.extrapolate(given, 16, (16,), dims_of=lines)
    made = extrap.extrapolate(given, 16, (16,), dims_of=lines, accept_unconfirmed=True)
    assert diff(made.trace, trace_of(body, (16,)), ["times"]) == []


def even_blocks(n: int) -> Body:
    """A program that sends rows of n//X points, with 0 points to neighbours that do not exist."""

    def body(rank: Rank) -> list[IssuedCall]:
        calls = []
        for axis, steps in enumerate((((-1, 0), (1, 0)), ((0, -1), (0, 1)))):
            for number, step in enumerate(steps):
                for name, sign in (("dest", 1), ("source", -1)):
                    peer = rank.neighbour([sign * one for one in step], wrap=False)
                    count = 0 if peer is None else n // rank.dims[1 - axis]
                    given = {"count": count, name: PROC_NULL if peer is None else peer}
                    site, tag = 10 * axis + 2 * number + (sign > 0), 2 * axis + number
                    calls.append(call("Send" if sign > 0 else "Recv", site, comm="world", tag=tag, **given))
        return [*calls * 3, call("Allreduce", 30, count=1, comm="world")]

    return body


@pytest.mark.slow
def test_sizes_that_explain_the_traces_alike_decide_where_they_agree() -> None:
    """Blocks of 107, 80, 64, 53 and 46 points are those of 322 or 323: of 323 points alone 19 on 17."""
    squares = [(side, side) for side in (3, 4, 5, 6, 7)]
    given = [trace_of(even_blocks(322), dims) for dims in squares]
    made = extrap.extrapolate(given, 64, (8, 8), dims_of=squares)
    assert diff(made.trace, trace_of(even_blocks(322), (8, 8)), ["times"]) == []
    assert "problem size n = 322 or 323" in made.evidence
    with pytest.raises(ExtrapolationError, match=r"the traces cannot tell n//. from \(.*n.*\)//."):
        extrap.extrapolate(given, 289, (17, 17), dims_of=squares)
