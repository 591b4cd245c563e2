"""Subsets of features that cannot give values without a constant: never one that can."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.extrap.solve.directions import out_of_reach, scale_rows

POINTS = 6
numbers = st.integers(-(1 << 20), 1 << 20)
rows = st.lists(st.lists(numbers, min_size=POINTS, max_size=POINTS), min_size=3, max_size=3)
factors = st.lists(st.integers(-1000, 1000), min_size=2, max_size=2)


@given(rows, factors)
def test_sums_of_multiples_are_within_reach(table: list[list[int]], chosen: list[int]) -> None:
    features = np.array(table, dtype=np.int64)
    unit = scale_rows(features.astype(np.float64))
    values = chosen[0] * features[0] + chosen[1] * features[2]
    assert out_of_reach(unit, np.array([[0, 2], [2, 0]]), values) == [False, False]
    assert out_of_reach(unit, np.array([[0, 1, 2]]), values) == [False]


@given(rows, factors, st.integers(1, 9))
def test_others_are_found(table: list[list[int]], chosen: list[int], constant: int) -> None:
    features = np.array(table, dtype=np.int64)
    values = chosen[0] * features[0] + chosen[1] * features[2] + constant
    pair = features[[0, 2]].astype(np.float64)
    rest = values - pair.T @ np.linalg.lstsq(pair.T, values.astype(np.float64), rcond=None)[0]
    if np.square(rest).sum() > 1e-8 * np.square(values.astype(np.float64)).sum():
        assert out_of_reach(scale_rows(features.astype(np.float64)), np.array([[0, 2]]), values) == [True]


def test_rows_of_zeros() -> None:
    unit = scale_rows(np.array([[0.0, 0.0], [3.0, 4.0]]))
    assert unit.tolist() == [[0.0, 0.0], [0.6, 0.8]]
    assert out_of_reach(unit, np.array([[0, 1]]), np.array([6, 8])) == [False]
    assert out_of_reach(unit, np.array([[0, 1]]), np.array([6, 9])) == [True]
