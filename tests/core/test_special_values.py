"""Special values of MPI are symbols: no progression of a value vector leads from or to one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from core.test_wide_values import core_of, written
from scalatrace.trace.model.elastic import at
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.from_arrays import vec_of_array
from scalatrace.trace.values.vec import ANY_TAG, PROC_NULL, SPECIAL, Vec

values_lists = st.lists(
    st.sampled_from([*SPECIAL.values(), -1, 0, 1, 2, -1000000006, -1000000000, PROC_NULL + 1000000000]),
    max_size=60,
) | st.lists(st.sampled_from([PROC_NULL, ANY_TAG, 0, 1]), max_size=8).map(lambda some: some * 7)


def loops_with_stride(terms: Any) -> Iterator[Any]:
    """The loops of a vector, at any depth, that add something each time."""
    for term in terms if isinstance(terms, tuple) else ():
        if isinstance(term, tuple):
            if term[1] and term[0] != 1:
                yield term
            yield from loops_with_stride(term[2:])


def counts_from_special(vec: Vec, n: int) -> bool:
    """Whether one of the first n values of a loop with a stride is special."""
    return any(
        value in Vec((loop,)).first(min(n, Vec((loop,)).length or n))
        for loop in loops_with_stride(vec.terms)
        for value in SPECIAL.values()
    )


@given(values_lists)
@example([PROC_NULL, -1] * 9)
@example([-1, *range(PROC_NULL - 40, PROC_NULL + 5)])
@example([PROC_NULL, PROC_NULL + 1000000000, PROC_NULL + 2000000000] * 5)
@example([ANY_TAG, PROC_NULL - 3, PROC_NULL - 2, PROC_NULL - 1, PROC_NULL, 7])
def test_no_progression_over_special_values(values: list[int]) -> None:
    for vec in (vec_of(values), vec_of_array(np.array(values, dtype=np.int64))) if values else ():
        assert list(vec.first(len(values))) == values
        assert not counts_from_special(vec, len(values))
    trace = written(core_of(values))
    assert [call.values[0] for call in trace.walk(0)] == values
    for leaf in trace.leaves():
        vec = at(leaf.params[0], 0)
        assert not counts_from_special(vec, len(values))
