"""Counts and offsets of blocks in the arrays of collectives: the first blocks are longer, on some sizes."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod
from pathlib import Path

import pytest

from scalatrace import extrap
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.extrapolate import model_of, of_model
from scalatrace.extrap.fit.lists.array_forms import ArrayProgression, BlockForm, array_form, array_terms
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import Vec
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

LINE = [(4,), (5,), (6,), (8,), (9,), (12,)]


def blocks(n: int, nprocs: int) -> list[int]:
    """The parts of n, the longer ones first."""
    return [n // nprocs + (q < n % nprocs) for q in range(nprocs)]


def gathered(rank: Rank) -> list[IssuedCall]:
    """Every rank's part of a vector, of three vectors, and where the parts begin."""
    parts = blocks(rank.n, prod(rank.dims))
    starts = tuple(accumulate(parts[:-1], initial=0))
    three = tuple(3 * part for part in parts)
    return [
        call("Gatherv", 1, recvcounts=tuple(parts), displs=starts, root=0, comm="world"),
        call("Gatherv", 2, recvcounts=three, displs=tuple(3 * s for s in starts), root=0, comm="world"),
    ] * 3


def from_root(rank: Rank) -> list[IssuedCall]:
    """Rank 0 sends and receives the parts one by one."""
    parts = blocks(rank.n, prod(rank.dims))
    others = range(1, prod(rank.dims))
    if rank.number:
        return [
            call("Recv", 3, count=parts[rank.number], source=0, tag=1, comm="world"),
            call("Send", 4, count=parts[rank.number], dest=0, tag=2, comm="world"),
        ] * 2
    made = [call("Send", 5, count=parts[q], dest=q, tag=1, comm="world") for q in others]
    return [*made, *(call("Recv", 6, count=parts[q], source=q, tag=2, comm="world") for q in others)] * 2


@pytest.mark.parametrize("program", [gathered, from_root])
@pytest.mark.parametrize("n", [100, 101])
def test_blocks_are_extrapolated(program: Body, n: int) -> None:
    given = [trace_of(program, dims, n) for dims in LINE]
    made = extrap.extrapolate(given, 15, params={"n": n})
    assert diff(made.trace, trace_of(program, (15,), n), ["times"]) == []
    for target in (15, 16, 40):
        bound = of_model(made.model, target, params={"n": n})
        assert diff(bound.trace, trace_of(program, (target,), n), ["times"]) == []


def test_formulas_of_blocks_are_saved(tmp_path: Path) -> None:
    given = [trace_of(gathered, dims, 100) for dims in LINE]
    save(model_of(given)[1], tmp_path / "a.stx")
    made = of_model(load_symbolic(tmp_path / "a.stx"), 7, params={"n": 100})
    assert diff(made.trace, trace_of(gathered, (7,), 100), ["times"]) == []


def test_blocks_of_another_kind_are_not_taken_for_these() -> None:
    def last_is_longer(rank: Rank) -> list[IssuedCall]:
        nprocs = prod(rank.dims)
        parts = [rank.n // nprocs] * (nprocs - 1)
        return [call("Allgatherv", 1, recvcounts=(*parts, rank.n - sum(parts)), comm="world")]

    given = [trace_of(last_is_longer, dims, 100) for dims in LINE]
    try:
        made = extrap.extrapolate(given, 16, params={"n": 100})
    except ScalatraceError:
        return
    assert diff(made.trace, trace_of(last_is_longer, (16,), 100), ["times"]) == []


def _array(*values: int) -> IntArray:
    return IntArray(len(values), vec_of(values))


def test_forms() -> None:
    assert array_form([[_array(1, 0), _array(), _array(2, 1, 0), _array(0)]] * 3) == ArrayProgression(-1)
    assert array_terms(_array(2, 1, 0), ArrayProgression(-1)) == ((0, -1, 2),)
    assert array_form([[_array(4, 4, 4), _array(5, 4, 4)]] * 3) == BlockForm(1, False)
    assert array_form([[_array(8, 6), _array(4, 4, 4)]] * 3) == BlockForm(2, False)
    assert array_form([[_array(0, 5, 9, 13), _array(0, 3, 6)]] * 3) == BlockForm(1, True)
    sizes = [[_array(0, 9)], [_array(0, 4, 8, 12)], [_array(0, 2, 4, 6, 8, 10, 12, 14)]]
    assert array_form(sizes) == ArrayProgression(None)
    assert array_terms(_array(0, 9), ArrayProgression(None)) == ((0, 9, 0),)
    assert array_form(sizes[:2]) is None
    for none in (
        [_array(4, 4)],
        [_array(4, 5, 7, 8)],
        [_array(5, 4), _array(6, 4)],
        [_array(5, 4, 5)],
        [_array(5)],
    ):
        assert array_form([none] * 3) is None
    assert array_terms(_array(5, 4, 4), BlockForm(1, False)) == ((1, 0, 5), (0, 0, 4))
    assert array_terms(_array(4, 4), BlockForm(1, False)) == ((0, 0, 5), (0, 0, 4))
    assert array_terms(_array(0, 5, 9, 13), BlockForm(1, True)) == ((1, 5, 0), (0, 4, 5))
    assert Vec(((1, 5, 0), (0, 4, 5))).first(4) == (0, 5, 9, 13)


def rounded_down(rank: Rank) -> list[IssuedCall]:
    """Rank 0 receives parts whose borders are rounded down."""
    nprocs = prod(rank.dims)
    borders = [q * rank.n // nprocs for q in range(nprocs + 1)]
    parts = [b - a for a, b in pairwise(borders)]
    if rank.number:
        return [call("Send", 7, count=parts[rank.number], dest=0, tag=1, comm="world")]
    return [call("Recv", 8, count=parts[q], source=q, tag=1, comm="world") for q in range(1, nprocs)]


def test_blocks_are_no_cycle_of_roundings() -> None:
    """On 6 and 12 ranks the parts of 100 repeat every three ranks, on 16 they do not."""
    given = [trace_of(rounded_down, dims, 100) for dims in [(4,), (5,), (6,), (12,)]]
    made = extrap.extrapolate(given, 16, params={"n": 100})
    assert diff(made.trace, trace_of(rounded_down, (16,), 100), ["times"]) == []


def test_distances_of_few_traces_are_no_progression() -> None:
    """Only ranks of the third row have two numbers, on one size: their distance may be that of this size."""
    one, two = [_array(0)], [_array(0), _array(0, 9)]
    assert array_form([one, one, one, two]) is None
    assert array_form([one, two, two, two]) == ArrayProgression(9)

    def body(rank: Rank) -> list[IssuedCall]:
        starts = tuple(k * prod(rank.dims) for k in range(rank.place[0]))
        return [call("Gatherv", 1, displs=starts, comm="world")] if starts else []

    grids = [(2, 2), (2, 3), (2, 5), (3, 3)]
    with pytest.raises(ScalatraceError):
        extrap.extrapolate([trace_of(body, dims) for dims in grids], 16, (4, 4), dims_of=grids)
