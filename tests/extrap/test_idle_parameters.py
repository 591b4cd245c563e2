"""Parameters that have nothing to do with the values, and three traces: equal or refused, never wrong."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from scalatrace import extrap
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, trace_of

LINES = [(2,), (3,), (4,), (6,), (8,), (12,)]
TARGETS = [(16,), (24,)]

COUNTS = {
    "n*n//(P*P)": lambda p: 240 * 240 // (p * p),
    "14400//(P*P)": lambda p: 14400 // (p * p),
    "9216//P": lambda p: 9216 // p,
    "100//P+P": lambda p: 100 // p + p,
    "-(-4096//P)": lambda p: -(-4096 // p),
    "100-100//P": lambda p: 100 - 100 // p,
}


@pytest.mark.parametrize("text", COUNTS)
@pytest.mark.parametrize("steps", [4, 5, 7, 8, 9])
def test_idle_parameter_makes_no_formula(text: str, steps: int) -> None:
    count: Callable[[int], int] = COUNTS[text]

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Alltoall", 1, sendcount=count(rank.dims[0]), comm="world")] * 2

    for lines in combinations(LINES, 3):
        given = [trace_of(body, dims) for dims in lines]
        for trace in given:
            trace.meta["param.steps"] = str(steps)
        for target in TARGETS:
            try:
                made = extrap.extrapolate(given, target[0], target, dims_of=lines)
            except ExtrapolationError:
                continue
            assert diff(made.trace, trace_of(body, target), ["times"]) == [], (lines, target)


def test_parameter_that_is_divided_is_found_among_idle_ones() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Alltoall", 1, sendcount=8 * (rank.n // rank.dims[0]), comm="world")] * 2

    lines = [(3,), (4,), (6,)]
    given = [trace_of(body, dims, 96) for dims in lines]
    for trace in given:
        trace.meta["param.steps"] = "5"
    made = extrap.extrapolate(given, 12, (12,), dims_of=lines)
    assert diff(made.trace, trace_of(body, (12,), 96), ["times"]) == []


def test_blocks_with_halos_are_what_programs_compute_with() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        x, y = rank.dims
        return [call("Allreduce", 1, count=8 * (rank.n // x + 2) * (rank.n // y + 2), comm="world")] * 2

    planes = [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4)]
    made = extrap.extrapolate([trace_of(body, dims, 240) for dims in planes], 20, (5, 4), dims_of=planes)
    assert diff(made.trace, trace_of(body, (5, 4), 240), ["times"]) == []


@pytest.mark.parametrize("constant", [1, 8, 9, 30, 100])
def test_lines_are_what_programs_compute_with(constant: int) -> None:
    """29-55//X has the values of 2*X+8 on 4 to 7 rows."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=2 * rank.dims[0] + constant, comm="world")] * 2

    planes = [(4, 4), (5, 4), (5, 5), (6, 5), (7, 6)]
    made = extrap.extrapolate([trace_of(body, dims) for dims in planes], 72, (8, 9), dims_of=planes)
    assert diff(made.trace, trace_of(body, (8, 9)), ["times"]) == []


@pytest.mark.parametrize("n", [55, 56, 57])
def test_remainders_of_blocks_are_no_lines(n: int) -> None:
    """55-55//X has the values of 2*X+34 on 4 to 7 rows."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Allreduce", 1, count=n - n // rank.dims[0], comm="world")] * 2

    lines = [(4,), (5,), (6,), (7,)]
    with pytest.raises(ExtrapolationError):
        extrap.extrapolate([trace_of(body, dims) for dims in lines], 12, (12,), dims_of=lines)
