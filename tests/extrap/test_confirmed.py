"""Extrapolation is right or refused: sizes that confirm formulas, held-out traces, divisions, arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import scalatrace
from scalatrace import Trace, extrap
from scalatrace.cli import main
from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.extrapolate import of_model
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.io.writer import save
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Rank, halo, trace_of
from support.rings import Extra, ring

LINE = [(4,), (8,), (16,)]
BLOCKS = [(3, 3), (3, 4), (4, 4), (4, 5), (5, 5), (5, 6)]  # all sides divide 60


def counted(count: Callable[[Rank], int]) -> Callable[[Rank], list[IssuedCall]]:
    """A program with one call of this count."""
    return lambda rank: [call("Allreduce", 5, count=count(rank), comm="world")]


def blocks(rank: Rank) -> list[IssuedCall]:
    """The part of n things that each rank has along both dimensions, to a neighbour."""
    (x, y), (sides_x, sides_y) = rank.place, rank.dims
    rows = (x + 1) * rank.n // sides_x - x * rank.n // sides_x
    columns = (y + 1) * rank.n // sides_y - y * rank.n // sides_y
    return [call("Bcast", 6, count=8 * rows, root=0, comm="world"), *counted(lambda _: columns)(rank)]


def traces_of(
    body: Callable[[Rank], list[IssuedCall]], sizes: list[tuple[int, ...]], n: int = 0
) -> list[Trace]:
    return [trace_of(body, dims, n) for dims in sizes]


def test_formula_needs_one_size_more_than_unknowns() -> None:
    """Three unknowns go through any three points."""
    body = counted(lambda rank: {4: 1000, 8: 310, 16: 77, 32: 30}[rank.dims[0]])
    with pytest.raises(ExtrapolationError, match=r"no formula found for count of Allreduce at app\.py:5"):
        extrap.extrapolate(traces_of(body, LINE), 32, (32,), dims_of=LINE)


def test_no_formula_rests_on_one_trace() -> None:
    """A feature that only one trace has could explain any value there."""
    counts = {4: 40, 8: 80, 10: 777, 16: 160, 32: 320}
    sizes = [(size,) for size in counts]
    body = counted(lambda rank: counts[rank.dims[0]])
    with pytest.raises(ExtrapolationError, match="no formula found"):
        extrap.extrapolate(traces_of(body, sizes, 64), 12, (12,), dims_of=sizes)


def test_two_sizes_do_not_confirm_a_line() -> None:
    body = counted(lambda rank: 3 * rank.dims[0] + 1)
    with pytest.raises(ExtrapolationError, match="no formula found"):
        extrap.extrapolate(traces_of(body, LINE[:2]), 32, (32,), dims_of=LINE[:2])
    assert extrap.extrapolate(traces_of(body, LINE), 32, (32,), dims_of=LINE)


def test_class_of_ranks_of_one_size_is_not_confirmed() -> None:
    """Ranks deep inside are in the largest trace only."""
    sizes = [(3,), (4,), (5,)]
    body = counted(lambda rank: 9 if 1 < rank.place[0] < rank.dims[0] - 2 else 7)
    with pytest.raises(ExtrapolationError, match="no formula found"):
        extrap.extrapolate(traces_of(body, sizes), 8, (8,), dims_of=sizes)


def test_transposition_is_found_from_three_sizes() -> None:
    body = counted(lambda rank: rank.n // rank.dims[0] ** 2)
    made = extrap.extrapolate(traces_of(body, LINE, 1 << 18), 32, (32,), dims_of=LINE)
    assert diff(made.trace, trace_of(body, (32,), 1 << 18), ["times"]) == []


def test_transposition_that_does_not_divide_is_refused() -> None:
    body = counted(lambda rank: rank.n // rank.dims[0] ** 2)
    with pytest.raises(ExtrapolationError, match="the traces cannot tell"):
        extrap.extrapolate(traces_of(body, LINE, 1 << 18), 24, (24,), dims_of=LINE)


def test_largest_trace_is_predicted_first() -> None:
    """All small runs have an odd number of ranks; the largest breaks the rule that they show."""
    sizes = [(3,), (5,), (7,), (9,), (10,)]
    body = counted(lambda rank: 1000 * rank.dims[0] + 3000 * (rank.dims[0] % 2))
    with pytest.raises(ExtrapolationError) as caught:
        extrap.extrapolate(traces_of(body, sizes), 64, (64,), dims_of=sizes)
    assert "does not hold for 10 ranks (10), rank 0:\n  predicted 13000, recorded 10000" in str(caught.value)
    assert extrap.extrapolate(traces_of(body, sizes[:4]), 65, (65,), dims_of=sizes[:4])


def test_largest_trace_that_the_smaller_ones_mispredict() -> None:
    """All small runs have an even number of ranks, so they predict 9 where ranks in pairs give 8."""
    sizes = [(4,), (6,), (8,), (9,)]
    body = counted(lambda rank: rank.dims[0] // 2 * 2)
    with pytest.raises(
        ExtrapolationError, match=r"does not hold for 9 ranks \(9\), rank 0:\n  predicted 9, "
    ):
        extrap.extrapolate(traces_of(body, sizes), 64, (64,), dims_of=sizes)
    assert extrap.extrapolate(traces_of(body, sizes[:3]), 64, (64,), dims_of=sizes[:3])


def test_formula_of_chance_is_refused() -> None:
    """Two coefficients and a choice of two of many features pass through three sizes, in many ways."""
    sizes = [(2, 2), (3, 3), (4, 4)]
    body = counted(lambda rank: 10 * (rank.dims[0] - 1) * (rank.n // rank.dims[0]) ** 2)
    with pytest.raises(ExtrapolationError, match="no formula found"):
        extrap.extrapolate(traces_of(body, sizes, 36), 36, (6, 6), dims_of=sizes)


def test_uneven_largest_trace_tells_how_a_parameter_is_divided() -> None:
    """The smaller traces are even: they predict nothing for the largest, and the largest decides."""
    sizes = [(4,), (8,), (16,), (20,)]
    body = counted(lambda rank: -(-rank.n // rank.dims[0]))
    made = extrap.extrapolate(traces_of(body, sizes, 64), 24, (24,), dims_of=sizes)
    assert diff(made.trace, trace_of(body, (24,), 64), ["times"]) == []


@pytest.mark.parametrize("rank_count", [42, 49])
def test_division_that_was_always_even(rank_count: int) -> None:
    """60 things over 7 ranks: the traces do not tell how the remainder is shared."""
    target = (rank_count // 7, 7)
    traces = traces_of(blocks, BLOCKS, 60)
    with pytest.raises(ExtrapolationError, match=r"count of \w+ at app\.py:\d:main: the traces cannot tell"):
        extrap.extrapolate(traces, rank_count, target, dims_of=BLOCKS)
    even = extrap.extrapolate(traces, 60, (6, 10), dims_of=BLOCKS)
    assert diff(even.trace, trace_of(blocks, (6, 10), 60), ["times"]) == []


def test_division_with_small_remainders_only() -> None:
    """33 over 3, 4 and 8 has at most one thing left over, which is on rank 0 (as in NPB LU)."""
    sizes = [(3,), (4,), (8,)]
    first = extrap.extrapolate(
        traces_of(counted(lambda rank: 5 * rank.block(0)), sizes, 33), 5, (5,), dims_of=sizes
    )
    assert diff(first.trace, trace_of(counted(lambda rank: 5 * rank.block(0)), (5,), 33), ["times"]) == []

    def others(rank: Rank) -> list[IssuedCall]:
        return counted(lambda _: 5 * rank.block(0))(rank) if rank.number else []

    with pytest.raises(ExtrapolationError, match="the traces cannot tell"):
        extrap.extrapolate(traces_of(others, sizes, 33), 5, (5,), dims_of=sizes)


def test_uneven_division_is_told_by_uneven_traces() -> None:
    sizes = [(3,), (5,), (7,), (9,)]
    body = counted(lambda rank: rank.block(0))
    made = extrap.extrapolate(traces_of(body, sizes, 62), 11, (11,), dims_of=sizes)
    assert diff(made.trace, trace_of(body, (11,), 62), ["times"]) == []


def test_symbolic_trace_keeps_what_is_not_told(tmp_path: Path) -> None:
    _, model, _ = extrap.model_of(traces_of(blocks, BLOCKS, 60), BLOCKS)
    save(model, tmp_path / "app.stx")
    read = load_symbolic(tmp_path / "app.stx")
    assert of_model(read, 60, (6, 10)).trace.nprocs == 60
    with pytest.raises(ExtrapolationError, match="the traces cannot tell"):
        of_model(read, 42, (6, 7))


def named(trace: Trace, program: str) -> Trace:
    trace.meta["program"] = program
    return trace


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        (["app -n 64", "app -n 80", "app -n 96"], "3 ranks: 64; 4 ranks: 80; 6 ranks: 96"),
        (["app a", "app b", "app b"], "3 ranks: a; 4 ranks: b; 6 ranks: b"),
        (["app", "app -v", "app"], "-v (3 ranks: not given; 4 ranks: given; 6 ranks: not given)"),
        (["app 0.5", "app 0.25", "app 0.125"], "3 ranks: 0.5; 4 ranks: 0.25"),
        (["lu.x", "sp.x", "lu.x"], "3 ranks: lu.x; 4 ranks: sp.x"),
    ],
)
def test_other_arguments(programs: list[str], message: str) -> None:
    sizes = [(3,), (4,), (6,)]
    traces = [named(trace_of(halo(False), dims), text) for dims, text in zip(sizes, programs, strict=True)]
    with pytest.raises(InputError, match=re.escape(message)):
        extrap.extrapolate(traces, 8, dims_of=sizes)


@pytest.mark.parametrize(
    "programs",
    [
        ["python -u /a/app.py 3", "python -u /b/app.py 4", "python -u app.py 6"],  # the number of ranks
        ["app -n 64", "app -n 80", "app -n 96"],  # noted as a parameter
        ["app --grid 3x64", "app --grid 4x80", "app --grid 6x96"],
    ],
)
def test_arguments_that_follow_from_sizes(programs: list[str]) -> None:
    sizes = [(3,), (4,), (6,)]
    traces = [named(trace_of(halo(False), dims), text) for dims, text in zip(sizes, programs, strict=True)]
    for trace, n in zip(traces, (64, 80, 96), strict=True):
        trace.meta["param.n"] = str(n)
    assert extrap.extrapolate(traces, 8, params={"n": 128}, dims_of=sizes).trace.nprocs == 8


def test_lossy_fails_when_much_is_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for size in (4, 5, 6, 8):
        extras = [Extra(step, 2, 0, "blocking") for step in range(3)] if size == 4 else []
        paths.append(str(tmp_path / f"{size}.st"))
        scalatrace.save(ring(size, 1, extras), paths[-1])
    out = tmp_path / "big.st"
    command = ["extrapolate", *paths, "--dims-of", "4,5,6,8", "-P", "12", "--lossy", "-o", str(out)]
    assert main([*command, "--max-dropped", "0.01"]) == 1
    message = capsys.readouterr().err
    assert "of the events of 4 ranks (4) would be dropped, more than 1% (--max-dropped)" in message
    assert not out.exists()
    assert main([*command, "--max-dropped", "0.5"]) == 0
    assert main([*command, "--max-dropped", "2"]) == 2


def test_the_shortest_formula_of_five_values_is_believed() -> None:
    """`-2*X+4*(n//(X*X))+38` gives 36, 30, 22, 20 and 16 too, but 6 on 16 ranks."""
    body = counted(lambda rank: 3 * rank.n // rank.dims[0])
    sizes: list[tuple[int, ...]] = [(5,), (6,), (8,), (9,), (11,)]
    traces = [trace_of(body, dims, 60) for dims in sizes]
    made = extrap.extrapolate(traces, 16, (16,), {"n": 60}, dims_of=sizes)
    assert diff(made.trace, trace_of(body, (16,), 60), ["times"]) == []
