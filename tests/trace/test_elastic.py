"""Elastic values: one vector for all, for groups, or a value for each rank."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Columns, Elastic, Groups, gather
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.traces import elastics, ints


@given(elastics(6, ints, partial=True))
def test_round_trip(value: Elastic) -> None:
    assert elastic.decode(elastic.encode(value), 6) == value


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.dictionaries(st.integers(0, 9), st.lists(ints, min_size=n, max_size=n), min_size=1)
    )
)
def test_gather_gives_every_rank_its_values(values: dict[int, list[int]]) -> None:
    gathered = gather(values)
    for rank, run in values.items():
        vec = elastic.at(gathered, rank)
        assert vec is not None
        assert vec.first(len(run)) == tuple(run)


def test_gather_chooses_the_smallest() -> None:
    assert gather({r: [4, 4] for r in range(9)}) == Vec(4)
    assert isinstance(gather({r: [r, r] for r in range(9)}), Columns)
    assert isinstance(gather({r: [r % 2, 5] for r in range(9)}), Groups)


def test_ranks_outside_have_no_value() -> None:
    groups = Groups([(RankList([0, 4]), Vec(1)), (RankList([2]), Vec(2))])
    assert [groups.at(r) for r in range(5)] == [Vec(1), None, Vec(2), None, Vec(1)]
    columns = Columns(RankList([1, 3]), Vec((7, 9)))
    assert [columns.value(r) for r in range(4)] == [None, 7, None, 9]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "not a value vector"),
        ({2: ()}, "pair of histogram"),
        ({2: (None, "x")}, "pair of histogram"),
        ({3: (1, 1)}, "formulas have a wrong number of parts"),
        ({0: ()}, "number of group entries"),
        ({0: (0,)}, "number of group entries"),
        ({0: (0, 1, 0, 2)}, "overlap"),
        ({0: (1, 1, 0, 2)}, "out of order"),
        ({0: ((), 1, 0, 1)}, "empty"),
        ({0: ((), 1)}, "empty"),
        ({1: ((0, 1), (3,))}, "1 entries for 2 ranks"),
        ({1: (0, 1, 1, 1)}, "number of group entries"),
        ({"0": (0, 1)}, "not a value vector"),
        ({0: (9, 1)}, "ranklist"),
    ],
)
def test_refuses(raw: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        elastic.decode(raw, 6)
