"""The first values of a vec as an array, and folding that stops early."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.values.compress import MAX_FOLDED, fold_terms
from scalatrace.trace.values.from_arrays import first_values, vec_of_array
from scalatrace.trace.values.vec import Vec

NUMBERS = st.integers(-9, 300)
TERMS = st.recursive(
    NUMBERS,
    lambda terms: st.tuples(
        st.integers(1, 4), st.integers(-3, 3), st.lists(terms, min_size=1, max_size=3)
    ).map(lambda loop: (loop[0], loop[1], *loop[2])),
    max_leaves=6,
)


@given(st.lists(TERMS, min_size=1, max_size=4), st.booleans(), st.integers(0, 60))
def test_are_those_of_the_walk(terms: list[object], endless: bool, n: int) -> None:
    *_, last = terms
    if endless and isinstance(last, tuple):
        terms[-1] = (0, *last[1:])
    vec = Vec.decode(tuple(terms))
    if vec.length is not None and vec.length < n:
        with pytest.raises(ValueError, match=f"ends after {vec.length} of {n} values"):
            first_values(vec, n)
    else:
        assert tuple(first_values(vec, n).tolist()) == vec.first(n)


def test_a_constant() -> None:
    assert first_values(Vec(7), 3).tolist() == [7, 7, 7]


@pytest.mark.parametrize("count", [10, 4000, 100_000])
def test_few_terms_are_wanted(count: int) -> None:
    random = np.random.default_rng(1).integers(0, 1 << 40, count)
    vec = vec_of_array(random, 8)
    assert (first_values(vec, count) == random).all()


def test_what_folds_is_folded_where_few_terms_are_wanted() -> None:
    values = [*range(0, 5000, 5), *([1, 2, 9, 4] * 500)]
    assert fold_terms(values, 2) == fold_terms(values)
    unlike = [k * k for k in range(2 * MAX_FOLDED)]
    assert len(fold_terms(unlike, 2)) == len(unlike)
