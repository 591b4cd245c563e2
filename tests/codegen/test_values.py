"""Value vectors as expressions: every value and every sum, whatever the index is made of."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalatrace.codegen.program.by_rank import of_elastic
from scalatrace.codegen.program.interpret import InterpretSetting, value
from scalatrace.codegen.program.values import of_vec, prefix_of_vec
from scalatrace.formula import Binary, Const, Item, Lookup, Special, Var, add, leaves, length, mod, mul
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import PROC_NULL, Vec
from support.traces import endless, expand

values = st.integers(-5, 9)


def at(**variables: int) -> InterpretSetting:
    return InterpretSetting(variables, lambda _: (0, 1))


@given(endless(values), st.integers(0, 40))
def test_every_value(vec: Vec, n: int) -> None:
    assert value(of_vec(vec, Var("n")), at(n=n)) == expand(vec.terms, n + 1)[n]


@given(endless(st.integers(0, 3)), st.integers(0, 40))
def test_every_sum(vec: Vec, n: int) -> None:
    assert value(prefix_of_vec(vec, Var("n")), at(n=n)) == sum(expand(vec.terms, n))


@given(endless(values), st.integers(1, 6), st.integers(1, 6))
def test_in_nested_loops(vec: Vec, outer: int, inner: int) -> None:
    i, j = Var("i", outer), Var("j", inner)
    e = of_vec(vec, add(mul(i, Const(inner)), j))
    found = [value(e, at(i=a, j=b)) for a in range(outer) for b in range(inner)]
    assert found == expand(vec.terms, outer * inner)


@pytest.mark.parametrize("cycles", [False, True])
@given(loops=st.lists(st.lists(st.integers(0, 5), min_size=5, max_size=6), min_size=4, max_size=5))
@example(loops=[[0, 0, 0, 0, 1], [0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]])
@example(loops=[[1, 2, 0, 1, 1], [0, 1, 3, 0, 2, 1], [2, 0, 1, 1, 0], [1, 1, 0, 3, 0], [3, 0, 0, 1, 2]])
def test_irregular_loops_in_each_other_are_no_longer_than_their_numbers(
    cycles: bool, loops: list[list[int]]
) -> None:
    index, expected = Var("n", 60), range(60)
    for runs in loops:
        numbers = (runs * 12)[:60] if cycles else [number for number in runs for _ in range(12)]
        index = mod(prefix_of_vec(vec_of(numbers), index), 60)
        expected = [sum(numbers[:n]) % 60 for n in expected]
        assert [value(index, at(n=n)) for n in range(60)] == expected
    assert length(index) < 600


@pytest.mark.parametrize(
    "numbers", [(2, 2, PROC_NULL, PROC_NULL), (0, 0, PROC_NULL, PROC_NULL), (1, PROC_NULL) * 3]
)
def test_no_progression_leads_to_a_constant_of_mpi(numbers: tuple[int, ...]) -> None:
    everyone = RankList.all(len(numbers))
    groups = tuple((RankList(r for r in everyone if numbers[r] == n), Vec(n)) for n in set(numbers))
    e = of_elastic(Groups(groups), everyone, len(numbers), lambda vec: of_vec(vec, Const(0)))
    assert all(isinstance(leaf, Const | Special | Item | Lookup) for leaf in leaves(e))
    assert tuple(value(e, at(rank=rank)) for rank in everyone) == numbers


def test_a_cycle_as_long_as_the_inner_loop_needs_its_variable_only() -> None:
    i, j = Var("i", 10), Var("j", 4)
    index = add(mul(i, Const(4)), j)
    assert of_vec(Vec(((0, 0, 7, 1, 5, 2),)), index) == Item((7, 1, 5, 2), j)
    assert of_vec(Vec(((0, 0, (4, 1, 3)),)), index) == Binary("+", j, Const(3))


def test_a_cycle_that_begins_in_its_middle_is_turned() -> None:
    j = Var("j", 4)
    assert of_vec(Vec((5, 2, (0, 0, 7, 1, 5, 2))), j) == Item((5, 2, 7, 1), j)


lists = st.lists(values, min_size=1, max_size=12)


@given(
    st.lists(lists, min_size=1, max_size=9),
    st.lists(st.integers(0, 8), min_size=1, max_size=12),
    st.booleans(),
)
@example(numbers=[[3, 5], [6, 2], [4] * 10], owners=[0, 1, 2], is_limited=False)
@example(
    numbers=[[3, 5], [6, 2], [4, 1, 1], [5, 6, 7, 9, 0], [7, 1], [4] * 9],
    owners=[0, 1, 2, 3, 4, 5],
    is_limited=True,
)
def test_each_rank_reads_its_own_values(
    numbers: list[list[int]], owners: list[int], is_limited: bool
) -> None:
    """Also where loops of other ranks are longer: the evaluation refuses an index outside a table."""
    lists_of_ranks = [numbers[owner % len(numbers)] for owner in owners]
    everyone, longest = RankList.all(len(owners)), max(map(len, lists_of_ranks))
    ranks_of: dict[tuple[int, ...], list[int]] = {}
    for rank, own in enumerate(lists_of_ranks):
        ranks_of.setdefault(tuple(own), []).append(rank)
    groups = [(RankList(ranks), vec_of(own)) for own, ranks in ranks_of.items()]
    n = Var("n", longest)
    limit = longest if is_limited else None
    e = of_elastic(Groups(groups), everyone, len(owners), lambda vec: of_vec(vec, n, longest), limit)
    for rank, own in enumerate(lists_of_ranks):
        assert [value(e, at(rank=rank, n=i)) for i in range(len(own))] == own


@given(st.lists(st.lists(values, min_size=1, max_size=4), min_size=5, max_size=9), st.data())
def test_each_rank_reads_its_own_cycle(cycles: list[list[int]], data: st.DataObject) -> None:
    """Also where the first turn begins in the middle of the cycle, and behind other loops."""
    everyone = RankList.all(len(cycles))
    begins = [data.draw(st.integers(0, len(cycle) - 1)) for cycle in cycles]
    vecs = [Vec((*cycle[begin:], (0, 0, *cycle))) for cycle, begin in zip(cycles, begins, strict=True)]
    groups = Groups([(RankList([rank]), vec) for rank, vec in enumerate(vecs)])
    i, j = Var("i", 5), Var("j", 4)
    index = add(mul(i, Const(4)), j)
    e = of_elastic(groups, everyone, len(cycles), lambda vec: of_vec(vec, index, 20), 20)
    for rank in everyone:
        assert [value(e, at(rank=rank, i=n // 4, j=n % 4)) for n in range(20)] == list(vecs[rank].first(20))


def test_lists_of_many_ranks_are_a_table() -> None:
    """Neighbours of eight ranks, as in a halo exchange on 2 x 2 x 2 of them."""
    j = Var("j", 7)
    vecs = [Vec(tuple(n for n in range(8) if n != rank)) for rank in range(8)]
    groups = Groups([(RankList([rank]), vec) for rank, vec in enumerate(vecs)])
    e = of_elastic(groups, RankList.all(8), 8, lambda vec: of_vec(vec, j, 7), 7)
    assert isinstance(e, Item)
    assert e.table == tuple(n for vec in vecs for n in vec.first(7))


def irregular(random: Random, npieces: int) -> Vec:
    """Runs of different kinds that follow no rule, and a cycle at the end."""
    terms: list[Any] = []
    for _ in range(npieces):
        n, value = random.randint(9, 40), random.randint(0, 99)
        inner = random.choice([(value,), (value, 5), (value, (3, 2, 1)), ((40, 0, 1), (2, 1, 50, value))])
        terms += [(n, random.choice([0, 0, 2]), *inner), random.choice([value, PROC_NULL]), value]
    return Vec((*terms, (0, 0, 4, 4, 7)))


@pytest.mark.parametrize("npieces", [10, 400])
def test_many_irregular_pieces_are_searched(npieces: int) -> None:
    vec, random = irregular(Random(npieces), npieces), Random(1)
    n = Var("n")
    e, total = of_vec(vec, n), prefix_of_vec(Vec(tuple(t for t in vec.terms if t != PROC_NULL)), n)
    ends = [random.randrange(50 * npieces) for _ in range(300)]
    plain = Vec(tuple(t for t in vec.terms if t != PROC_NULL))
    assert [value(e, at(n=i)) for i in ends] == [vec[i] for i in ends]
    assert [value(total, at(n=i)) for i in ends] == [plain.total(i) for i in ends]
    assert e == of_vec(vec, n)


def test_pieces_of_many_ranks_are_searched() -> None:
    nprocs = 300
    everyone = RankList.all(nprocs)
    vecs = [Vec(((rank + 2, 3, 1), (0, 0, rank, 1))) for rank in everyone]
    groups = Groups([(RankList([rank]), vec) for rank, vec in enumerate(vecs)])
    e = of_elastic(groups, everyone, nprocs, lambda vec: of_vec(vec, Var("n")))
    for rank in range(0, nprocs, 7):
        assert [value(e, at(rank=rank, n=n)) for n in range(20)] == list(vecs[rank].first(20))
