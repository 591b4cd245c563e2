"""What traces show on one side of a dimension only: steps in the grid are known, other values refused."""

from __future__ import annotations

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, halo, trace_of

GRIDS = [(3, 2), (3, 3), (5, 2), (5, 3)]
"""Ranks inside the second dimension are on three columns only."""


def test_distance_to_the_next_row_is_that_of_the_grid() -> None:
    body = halo(wrap=False)
    made = extrap.extrapolate([trace_of(body, dims) for dims in GRIDS], 35, (7, 5), dims_of=GRIDS)
    assert diff(made.trace, trace_of(body, (7, 5)), ["times"]) == []


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
