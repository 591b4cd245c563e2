"""Masks as ranklists, and equal columns of tables."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.values.from_arrays import distinct, ranks_of_mask
from scalatrace.trace.values.ranklist import RankList


@given(st.lists(st.booleans(), max_size=80))
def test_ranks_of_a_mask(mask: list[bool]) -> None:
    """They are where it is true."""
    assert ranks_of_mask(np.array(mask, dtype=bool)) == RankList(i for i, here in enumerate(mask) if here)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3)), min_size=1, max_size=60), st.booleans())
def test_columns_that_differ(columns: list[tuple[int, int]], far: bool) -> None:
    """The first of each kind, in the order of their values, and the kind of each; few numbers or many."""
    table = np.array(columns, dtype=np.int64).T * (1 << 40 if far else 1)
    first, like = distinct(table)
    kinds = sorted(set(columns))
    assert first.tolist() == [columns.index(kind) for kind in kinds]
    assert like.tolist() == [kinds.index(column) for column in columns]


@given(st.lists(st.tuples(*[st.sampled_from([-(1 << 62), -1, 0, 7, 1 << 61])] * 3), min_size=1, max_size=40))
def test_columns_with_special_values(columns: list[tuple[int, ...]]) -> None:
    """Values far from each other are numbered in the order of their values, too."""
    first, like = distinct(np.array(columns, dtype=np.int64).T)
    kinds = sorted(set(columns))
    assert first.tolist() == [columns.index(kind) for kind in kinds]
    assert like.tolist() == [kinds.index(column) for column in columns]
