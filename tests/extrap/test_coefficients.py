"""Coefficients through points: exact, whole or rational, and none where no formula holds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.extrap.solve.exact import exact, fit_coefficients
from scalatrace.extrap.solve.features import Feature
from scalatrace.formula import Var, evaluate, format_text

POINTS = 24
CHOSEN = [Feature(Var(name), 1.0) for name in "abc"]

rows = st.lists(
    st.lists(st.integers(-(1 << 20), 1 << 20), min_size=POINTS, max_size=POINTS), min_size=1, max_size=3
)
factors = st.fractions(-50, 50, max_denominator=4).filter(bool)


@given(rows, st.data(), st.integers(-9, 9))
def test_a_formula_is_found_and_holds(table: list[list[int]], data: st.DataObject, constant: int) -> None:
    """Values made by a formula have one with these values; others have none."""
    wanted = [data.draw(factors) for _ in table]
    scale = 2 * 2 * 3  # all denominators divide it
    features = np.array(table, dtype=np.int64) * scale
    values = np.array(
        [
            constant + int(sum(f * int(x) for f, x in zip(wanted, column, strict=True)))
            for column in features.T
        ]
    )
    found = exact(CHOSEN[: len(table)], fit_coefficients(features, values), POINTS, 0)
    if np.linalg.matrix_rank(features - features[:, :1]) < len(table):
        return
    assert found is not None
    columns = dict(zip("abc", features, strict=False))
    assert np.array_equal(np.broadcast_to(evaluate(found.formula, columns), values.shape), values)
    values[data.draw(st.integers(0, POINTS - 1))] += 1
    again = exact(CHOSEN[: len(table)], fit_coefficients(features, values), POINTS, 0)
    assert again is None or np.array_equal(evaluate(again.formula, columns), values)


def test_the_denominator_is_the_least() -> None:
    """Thirds and halves are sixths, and nothing smaller or larger."""
    a, b = np.arange(12) * 6, np.arange(12) ** 2 * 6
    values = a // 2 - 2 * b // 3
    found = exact(CHOSEN[:2], fit_coefficients(np.array([a, b]), values), 12, 0)
    assert found is not None
    assert format_text(found.formula) == "(3*a-4*b)//6"
