"""Sizes of a problem that the command lines of the traces have, and no parameter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scalatrace import Trace, extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import Extrapolation
from scalatrace.extrap.grid.arguments import numbers_in_arguments
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.grid import Grid
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

LINES = [(2,), (3,), (4,), (5,), (6,)]
PLANES = [(3, 3), (4, 3), (4, 4), (5, 4)]


def traces(body: Body, dims_of: Sequence[tuple[int, ...]], arguments: str) -> list[Trace]:
    result = [trace_of(body, dims) for dims in dims_of]
    for trace, dims in zip(result, dims_of, strict=True):
        sides = dict(zip("XY", dims, strict=False))
        trace.meta["program"] = f"./solve {arguments.format(**sides)}"
    return result


def made_of(given: list[Trace], dims_of: Sequence[tuple[int, ...]], dims: tuple[int, ...]) -> Extrapolation:
    nprocs = dims[0] * (dims[1] if len(dims) > 1 else 1)
    return extrap.extrapolate(given, nprocs, dims, dims_of=dims_of)


def transposition(rank: Rank) -> list[IssuedCall]:
    """240x240 numbers: each pair of ranks exchanges a square."""
    return [call("Alltoall", 1, sendcount=(240 // rank.dims[0]) ** 2, comm="world")] * 3


def lines_of_a_file(rank: Rank) -> list[IssuedCall]:
    """240x240 points on a plane: a rank writes its lines one by one; only two trip counts are seen."""
    return [call("Bcast", 2, count=4, root=0, comm="world")] * (240 // rank.dims[1])


def shares_of_work(rank: Rank) -> list[IssuedCall]:
    """1000 tasks of 48 numbers: the last rank has fewer."""
    share = -(-1000 // rank.dims[0])
    own = min(share, 1000 - share * rank.place[0])
    return [call("Gatherv", 1, sendcount=48 * own, root=0, comm="world")] * 2


@pytest.mark.parametrize(
    ("body", "dims_of", "arguments", "dims", "size"),
    [
        (transposition, LINES, "10 240", (8,), 240),
        (lines_of_a_file, PLANES, "--size=240 10 {X} {Y}", (6, 5), 240),
        (shares_of_work, LINES, "-t 1000 -o out.h5", (8,), 1000),
    ],
)
def test_argument_is_the_size_where_the_values_follow_from_it(
    body: Body, dims_of: Sequence[tuple[int, ...]], arguments: str, dims: tuple[int, ...], size: int
) -> None:
    made = made_of(traces(body, dims_of, arguments), dims_of, dims)
    assert diff(made.trace, trace_of(body, dims), ["times"]) == []
    assert f"n = {size}: an argument" in made.evidence
    assert made.trace.meta["found-size"] == f"n={size}"


def test_without_the_argument_the_traces_do_not_determine_it() -> None:
    for arguments in ("10", "square240"):
        with pytest.raises(ExtrapolationError, match="cannot tell"):
            made_of(traces(transposition, LINES, arguments), LINES, (8,))


@pytest.mark.parametrize(("number", "dims"), [(100, 8), (500, 16), (50, 16), (25, 8)])
def test_argument_that_is_a_part_of_the_size_by_chance_decides_nothing(number: int, dims: int) -> None:
    """Of 1000 elements 10*(100//X) are equal shares on 2, 4, 5 and 10 ranks, and 1000//X."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Allgather", 1, sendcount=1000 // rank.dims[0], comm="world")] * 3

    lines = [(2,), (4,), (5,), (10,)]
    try:
        made = made_of(traces(body, lines, str(number)), lines, (dims,))
    except ExtrapolationError:
        return
    assert diff(made.trace, trace_of(body, (dims,)), ["times"]) == []


def test_numbers_of_all_command_lines_are_taken() -> None:
    given = traces(transposition, PLANES, "run.240 --size=96 -n 240 {X} {Y} 4 5 --seed 7 -0.5")
    grids = [Grid(dims) for dims in PLANES]
    assert numbers_in_arguments(given, grids) == [240, 96, 7]
    del given[0].meta["program"]
    assert numbers_in_arguments(given, grids) == []
