"""What traces show on one side of a dimension only: steps in the grid are known, other values refused."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError, UndeterminedError
from scalatrace.extrap.extrapolate import model_of, of_model
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, halo, trace_of

GRIDS = [(3, 2), (3, 3), (5, 2), (5, 3)]
"""Ranks inside the second dimension are on three columns only."""


def test_distance_to_the_next_row_is_that_of_the_grid() -> None:
    body = halo(wrap=False)
    made = extrap.extrapolate([trace_of(body, dims) for dims in GRIDS], 35, (7, 5), dims_of=GRIDS)
    assert diff(made.trace, trace_of(body, (7, 5)), ["times"]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "count", ["Y", "7", *(pytest.param(text, marks=pytest.mark.slow) for text in ("2*Y", "Y+1"))]
)
def test_counts_of_one_side_are_refused_on_other_sides(count: str) -> None:
    """Inner columns send a number that may follow from the number of columns, or not."""
    given = [trace_of(inner_columns(count), dims) for dims in GRIDS]
    with pytest.raises(ExtrapolationError, match=r"count of Isend .* cannot tell"):
        extrap.extrapolate(given, 35, (7, 5), dims_of=GRIDS)
    made = extrap.extrapolate(given, 21, (7, 3), dims_of=GRIDS)
    assert diff(made.trace, trace_of(inner_columns(count), (7, 3)), ["times"]) == []


def inner_columns(count: str) -> Body:
    """A halo exchange, and messages of inner columns along the first dimension."""

    def body(rank: Rank) -> list[IssuedCall]:
        n = eval(count, {"Y": rank.dims[1]})
        calls = halo(wrap=False)(rank)
        if 0 < rank.place[1] < rank.dims[1] - 1:
            for op, name, step in (("Isend", "dest", 1), ("Irecv", "source", -1)):
                if (peer := rank.neighbour((step, 0), wrap=False)) is not None:
                    given = {"count": n, name: peer, "tag": 3, "comm": "world"}
                    calls.append(call(op, 30 + step, **given))
        return calls

    return body


def test_constant_distance_of_one_side_is_no_step_of_the_grid() -> None:
    """Inner columns send to the rank 3 further, on three columns that in the next row."""

    def body(rank: Rank) -> list[IssuedCall]:
        calls = halo(wrap=False)(rank)
        inner = 0 < rank.place[1] < rank.dims[1] - 1
        if inner and rank.number + 3 < rank.dims[0] * rank.dims[1]:
            calls.append(call("Isend", 30, count=1, dest=rank.number + 3, tag=0, comm="world"))
        return calls

    given = [trace_of(body, dims) for dims in GRIDS]
    with pytest.raises(ExtrapolationError, match=r"dest of Isend .* cannot tell 3 from Y"):
        extrap.extrapolate(given, 35, (7, 5), dims_of=GRIDS, check=False)


@pytest.mark.parametrize("dims", [(9,), *(pytest.param((n,), marks=pytest.mark.slow) for n in (10, 11))])
@pytest.mark.parametrize("count", ["b+x", "100+b*x", "2*b+3*x"])
def test_blocks_in_sums_are_no_lines(count: str, dims: tuple[int]) -> None:
    """Blocks of 36 cells, rounded up, are 13-P on 4, 5, 7 and 8 ranks."""
    lines = [(4,), (5,), (7,), (8,)]

    def body(rank: Rank) -> list[IssuedCall]:
        values = {"b": -(-36 // rank.dims[0]), "x": rank.place[0]}
        return [call("Gather", 1, sendcount=eval(count, values), root=0, comm="world")]

    model = model_of([trace_of(body, one) for one in lines], lines)[1]
    try:
        made = of_model(model, dims[0], dims).trace
    except UndeterminedError:
        return
    assert diff(made, trace_of(body, dims), ["times"]) == []


@pytest.mark.parametrize(("dims", "refused"), [((7, 5), True), ((7, 3), False)])
def test_trip_count_that_is_a_side_is_refused_on_other_sides(dims: tuple[int, int], refused: bool) -> None:
    """Inner columns call Barrier three times on three columns: always, or as often as there are columns?"""

    def body(rank: Rank) -> list[IssuedCall]:
        inside = 0 < rank.place[1] < rank.dims[1] - 1
        calls = [call("Send", 2, count=1, dest=rank.number, tag=0, comm="world")] * (3 * inside)
        return [*halo(wrap=False)(rank), *calls]

    given = [trace_of(body, dims) for dims in GRIDS]
    if refused:
        with pytest.raises(ExtrapolationError, match=r"repeat of Send .* cannot tell 3 from Y"):
            extrap.extrapolate(given, dims[0] * dims[1], dims, dims_of=GRIDS, check=False)
    else:
        made = extrap.extrapolate(given, dims[0] * dims[1], dims, dims_of=GRIDS, check=False)
        assert diff(made.trace, trace_of(body, dims), ["times"]) == []
