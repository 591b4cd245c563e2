"""Ranklists against Python's sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.values.ranklist import RankList
from support.traces import expand

sets = st.sets(st.integers(0, 40))


def test_figure_2_2() -> None:
    """The inner 3 x 3 block of a 5 x 5 grid (dissertation, Figure 2.2)."""
    block = RankList(6 + 5 * y + x for y in range(3) for x in range(3))
    assert str(block) == "<2 6 3 5 3 1>"
    assert block.terms == ((3, 5, (3, 1, 6)),)
    assert RankList.parse("<2 6 3 5 3 1>") == block


@given(sets, sets)
def test_is_a_set(a: set[int], b: set[int]) -> None:
    x, y = RankList(a), RankList(b)
    assert (list(x), len(x)) == (sorted(a), len(a))
    assert list(x | y) == sorted(a | b)
    assert list(x & y) == sorted(a & b)
    assert list(x - y) == sorted(a - b)
    assert (x <= y, x.isdisjoint(y), x == y) == (a <= b, a.isdisjoint(b), a == b)
    assert (hash(x) == hash(y)) or a != b
    assert [r for r in range(-2, 45) if r in x] == sorted(a)
    assert [x.index(r) for r in x] == list(range(len(a)))
    assert [x[i] for i in range(len(a))] == sorted(a)


@given(sets)
def test_round_trips(ranks: set[int]) -> None:
    ranklist = RankList(ranks)
    assert expand(ranklist.terms, 100) == sorted(ranks)
    assert RankList.from_terms(ranklist.terms) == ranklist
    assert RankList.parse(str(ranklist)) == ranklist


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_grids_are_one_term(n: int) -> None:
    inner = [z * 144 + y * 12 + x for z in range(n) for y in range(1, n + 1) for x in range(1, n + 1)]
    assert len(RankList(inner).terms) == 1


def test_equal_sets_are_equal_however_written() -> None:
    written = [((4, 1, 0),), (0, 1, 2, 3), ((2, 2, (2, 1, 0)),), ((2, 2, 0, 1),), ((1, 9, 0), (3, 1, 1))]
    assert {RankList.from_terms(terms) for terms in written} == {RankList.all(4)}


@pytest.mark.parametrize(
    "terms",
    [
        (1, 1),
        (2, 1),
        ((2, 0, 5),),
        ((2, 1, 0, 1),),
        ((0, 1, 0),),
        ((-1, 1, 0),),
        (-1,),
        ((1 << 60, 1, 0),),
        ((2, 1),),
        ("a",),
        (True,),
        (((2, 1, 0), 1, 0),),
        None,
        [1],
        ((1 << 30, 1 << 30, (1 << 30, 1, 0)),),
    ],
)
def test_refuses_what_is_no_ranklist(terms: object) -> None:
    with pytest.raises(ValueError, match="ranklist"):
        RankList.from_terms(terms, 1000)


@pytest.mark.parametrize("text", ["", "<>|", "<1 0>", "<0 1", "<2 6 3 5 3>", "6", "<0 -1>", "<0 1> <0 2>"])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="ranklist"):
        RankList.parse(text)


def test_deep_nesting_is_refused() -> None:
    terms: object = 0
    for _ in range(5000):
        terms = (1, 1, terms)
    with pytest.raises(ValueError, match="deeply"):
        RankList.from_terms((terms,))


def test_missing_rank_has_no_index() -> None:
    with pytest.raises(ValueError, match="not in"):
        RankList([1, 3]).index(2)
