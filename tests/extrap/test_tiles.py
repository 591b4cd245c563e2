"""Grids that only the blocks of an array show, which ranks read and write through views of a file."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.extrap.grid.tiles import tiled_grids
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.grid import Grid
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

ELEMENTS = 101


def view_of(transposed: bool, short: int = 0) -> Body:
    """The view of a rank's block, cut evenly; `short`: rows that no block has."""

    def body(rank: Rank) -> list[IssuedCall]:
        dims = rank.dims[::-1] if transposed else rank.dims
        places = divmod(rank.number, rank.dims[1])
        place = places[::-1] if transposed else places
        n = ELEMENTS - short
        starts = [p * n // side for p, side in zip(place, dims, strict=True)]
        block = [(p + 1) * n // side - s for p, side, s in zip(place, dims, starts, strict=True)]
        texts = ("[" + ",".join(map(str, row)) + "]" for row in ([ELEMENTS] * 2, block, starts))
        size = 8 * block[0] * block[1]
        view = Datatype(f"subarray({','.join(texts)},C,MPI_DOUBLE)", size, 8 * ELEMENTS**2)
        return [
            call("Type_commit", 1, datatype=view, comm="world"),
            call("Allreduce", 2, count=block[0] * block[1], comm="world"),
        ]

    return body


@pytest.mark.parametrize("transposed", [False, True])
def test_blocks_show_the_grid(transposed: bool) -> None:
    grids, body = [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4)], view_of(transposed)
    traces = [trace_of(body, dims, ELEMENTS) for dims in grids]
    (found,) = tiled_grids(traces[3])
    assert found == (Grid((3, 4), column_major=True) if transposed else Grid((4, 3)))
    target = (5, 4)
    made = extrap.extrapolate(traces, 20, target[::-1] if transposed else target)
    assert diff(made.trace, trace_of(body, target, ELEMENTS), ["times"]) == []


def test_blocks_with_gaps_show_none() -> None:
    assert tiled_grids(trace_of(view_of(False, short=1), (4, 3), 1)) == set()
