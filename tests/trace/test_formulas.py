"""Formulas as elastic values: one rank at a time, in the file and in text, damaged or hostile."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.errors import FormatError, UsageError
from scalatrace.formula.functions import block, diagonal
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Columns, Formulas, Groups
from scalatrace.trace.model.nodes import Event, Node, Sequence
from scalatrace.trace.model.rank_classes import formula_totals, rank_classes
from scalatrace.trace.model.tables import Kind, Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import least_and_most
from scalatrace.trace.symbolic.counters import chain_of
from scalatrace.trace.symbolic.field import CYCLE, INDEXED, LOOPED, Part
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.formulas import part

GRIDS = st.builds(Grid, st.sampled_from([(12,), (3, 4), (4, 3), (3, 2, 2)]), st.booleans())
TEXTS = st.sampled_from(["x", "r", "P-1-r", "X*x+7", "(x==0)*5", "n//X", "log2(r+1)", "min(x,2)"])
COUNTED = st.sampled_from(["i+x", "r*i", "i%X"])
ALONG = st.sampled_from(["i1+r", "l1*X"])
PARTS = st.one_of(
    st.builds(part, TEXTS, st.none(), st.tuples(TEXTS)),
    st.builds(part, TEXTS, st.just(CYCLE), st.lists(TEXTS, min_size=2, max_size=3).map(tuple)),
    st.builds(part, TEXTS, st.just((None, (None, None, None))), st.tuples(TEXTS, st.just("2"), TEXTS, TEXTS)),
    st.builds(part, TEXTS, st.just(INDEXED), st.tuples(st.just("x+2"), COUNTED)),
    st.builds(part, TEXTS, st.just(LOOPED), st.tuples(st.sampled_from("12"), ALONG)),
    st.builds(part, TEXTS, st.none(), st.none()),
)
AROUND = st.sampled_from(
    [
        (Vec(3), Vec(2)),
        (Vec(2), Columns(RankList.all(12), Vec(((12, 1, 1),)))),
        (Vec(2), Groups([(RankList(range(6)), Vec(1)), (RankList(range(6, 12)), Vec((2, 1)))])),
    ]
)


@st.composite
def formulas(draw: st.DrawFn) -> Formulas:
    """Formulas over twelve ranks."""
    ranks = draw(st.sets(st.integers(0, 11), min_size=1).map(RankList))
    parts = draw(st.lists(PARTS, min_size=1, max_size=3))
    return Formulas(ranks, draw(GRIDS), (("n", draw(st.integers(0, 50))),), parts, draw(AROUND))


@settings(deadline=None)
@given(formulas())
def test_round_trips(value: Formulas) -> None:
    assert elastic.decode(elastic.encode(value), 12) == value
    event = Event(Vec(1), 0, 0, (value,))
    trace = Trace(12, nodes=[event], ops=[Op("Barrier", (("tag", Kind.INT),))])
    assert parse(text(trace)).nodes == trace.nodes


@settings(deadline=None)
@given(formulas())
def test_groups_are_what_each_rank_has(value: Formulas) -> None:
    everyone = RankList.all(12)
    found = {rank: vec for ranks, vec in rank_classes(value, everyone, 12) for rank in ranks}
    assert [found.get(rank) for rank in everyone] == [value.at(rank) for rank in everyone]


@settings(deadline=None)
@given(formulas())
def test_groups_are_the_same_where_equal_places_are_found_first(value: Formulas) -> None:
    everyone = RankList.all(12)
    with mock.patch("scalatrace.trace.model.rank_classes.MAX_SINGLE_PLACES", 0):
        found = {rank: vec for ranks, vec in rank_classes(value, everyone, 12) for rank in ranks}
    assert [found.get(rank) for rank in everyone] == [value.at(rank) for rank in everyone]


@settings(deadline=None)
@given(formulas(), st.lists(st.integers(1, 6), min_size=12, max_size=12))
def test_totals_are_the_sums_of_what_each_rank_has(value: Formulas, numbers: list[int]) -> None:
    """Within loops, a node is entered as often as these run; else any number of times."""
    ranks = [rank for rank in value.ranks if value.at(rank) is not None]
    counts = [_entries(value, rank, numbers[rank]) for rank in ranks]
    try:
        expected = [vec.total(n) for r, n in zip(ranks, counts, strict=True) if (vec := value.at(r))]
    except ValueError:
        with pytest.raises(FormatError, match=r"than it has values|ends [0-9]+ values too early"):
            formula_totals(value, np.array(ranks), np.array(counts), 12)
        return
    found = formula_totals(value, np.array(ranks, dtype=int), np.array(counts, dtype=int), 12)
    assert found.tolist() == expected


def _entries(value: Formulas, rank: int, number: int) -> int:
    loops = value.loops(rank) if value.around else ()
    chain = chain_of(loops or ())
    return number if chain is None else chain.runs


def test_totals_of_a_binomial_tree_of_a_million_ranks() -> None:
    """Each rank has its own vector: a message for each bit of its number."""
    nprocs = 1 << 20
    ranks = RankList.all(nprocs)
    value = Formulas(ranks, Grid((nprocs,)), (), [part("1", LOOPED, ("1", "(r>>i1)%2"))], (Vec(5), Vec(20)))
    trace = Trace(
        nprocs,
        nodes=[Sequence(Vec(5), (Sequence(Vec(20), (Event(value, 0, 0, ()),)),))],
        ops=[Op("Barrier", ())],
    )
    assert trace.nevents() == 5 * 20 * nprocs // 2
    assert least_and_most(trace) == (0, 100)


@pytest.mark.parametrize(
    ("text", "around", "why"),
    [
        ("0-x", (), "negative trip count"),
        ("9223372036854775807", (Vec(5),), "too often"),
        ("1//x", (), "formulas of a node's repeat fail"),
    ],
)
def test_repeats_without_a_total_are_one_error(text: str, around: tuple[Vec, ...], why: str) -> None:
    value = Formulas(RankList.all(4), Grid((4,)), (), [part("1", None, (text,))])
    node: Node = Event(value, 0, 0, ())
    for repeat in around:
        node = Sequence(repeat, (node,))
    with pytest.raises(FormatError, match=why):
        Trace(4, nodes=[node], ops=[Op("Barrier", ())]).nevents()


def test_totals_of_too_many_values_are_refused_at_once() -> None:
    value = Formulas(RankList.all(4), Grid((4,)), (), [part("1", INDEXED, ("1099511627776", "i"))])
    with pytest.raises(UsageError, match="cannot count calls: more than 268435456 values of a formula"):
        formula_totals(value, np.arange(4), np.ones(4, dtype=int), 4)


def test_repeats_inside_formulas_that_exceed_64_bits_are_one_error() -> None:
    inner = Event(Vec(1 << 62), 0, 0, ())
    repeat = Formulas(RankList.all(4), Grid((4,)), (), [part("1", None, ("x+2",))])
    for repeats in (inner, Event(Columns(RankList.all(4), Vec(((0, 1, 1 << 62),))), 0, 0, ())):
        with pytest.raises(FormatError, match="a node runs too often"):
            Trace(4, nodes=[Sequence(repeat, (repeats,))], ops=[Op("Barrier", ())]).nevents()


def test_many_places_with_few_values_are_few_classes() -> None:
    """A tag that depends on whether a rank is at a border, in two loops: four classes of a million places."""
    grid, everyone = Grid((1024, 1024)), RankList.all(1 << 20)
    text = "3*(x>0)*(i1==0)+2*(y>0)*(i2==1)"
    value = Formulas(everyone, grid, (), [part("1", LOOPED, ("2", text))], (Vec(4), Vec(3)))
    found = list(rank_classes(value, everyone, 4))
    assert len(found) == 4
    for ranks, vec in found:
        assert vec == value.at(ranks.first)


def test_too_many_places_are_not_looked_at() -> None:
    value = Formulas(RankList.all(12), Grid((12,)), (), [part("1", None, ("x",))])
    with pytest.raises(UsageError, match=r"differ at 12 places of the grid \(limit 11\)"):
        list(rank_classes(value, RankList.all(12), 11))


@given(GRIDS)
def test_places_of_ranks(grid: Grid) -> None:
    for rank in range(12):
        place = grid.place(rank)
        assert all(place[name] == grid.columns[name][rank] for name in (*grid.coords, "r"))
        assert grid.rank([place[name] for name in grid.coords]) == rank


@given(st.integers(0, 40), st.integers(1, 12), st.integers(-20, 20), st.sampled_from([1, -1]))
def test_points_of_a_diagonal(n: int, parts: int, shift: int, sign: int) -> None:
    cells = range(parts)
    assert diagonal(n, parts, shift, sign) == sum(
        block(n, parts, c) * block(n, parts, shift + sign * c) for c in cells
    )


GOOD: tuple[Any, ...] = ((12, 1, 0), (12,), 0, ("n", 3), ("1", None, ("x",)), ())


@pytest.mark.parametrize(
    ("position", "damaged"),
    [
        (1, (3, 5)), (1, ()), (1, (0, 12)), (1, 12), (1, (-3, -4)), (1, (1, 1, 1, 2, 6)), (2, 2),
        (3, ("n",)), (3, (1, "n")), (4, ("1", None)), (4, ("1", None, ("x", "y"))),
        (4, ("1", ("a",), ("x",))), (4, ("1", None, ("__import__('os')",))), (4, ("1", None, ("'a'",))),
        (4, ("1", LOOPED, ("1", "x"))), (4, ("1", LOOPED, ("x", "1"))), (4, ("1", INDEXED, ("x",))),
        (4, (3, None, ("x",))), (4, ("1", None, ("-" * 5000 + "1",))), (5, 3), (5, ({2: (None, 1)},)),
    ],
)  # fmt: skip
def test_what_is_damaged_is_refused(position: int, damaged: Any) -> None:
    ranks = ((12, 1, 0),)
    raw = (ranks, *GOOD[1:])
    assert isinstance(elastic.decode({3: raw}, 12), Formulas)
    with pytest.raises(ValueError, match=r"formula|grid|repeat|parameter"):
        elastic.decode({3: (*raw[:position], damaged, *raw[position + 1 :])}, 12)


@pytest.mark.parametrize(
    "failing",
    [
        part("1", None, ("1//x",)),
        part("1", None, ("y",)),
        part("1", None, ("9223372036854775807*9",)),
        part("1", ((None, None),), ("3", "x")),
        part("1", INDEXED, ("1<<40", "i")),
        part("1", None, ("no_function(x)",)),
    ],
)
def test_formulas_without_a_value_are_one_error(failing: Part) -> None:
    value = Formulas(RankList.all(12), Grid((12,)), (), [failing])
    with pytest.raises(FormatError, match="fail for rank 0"):
        value.at(0)
