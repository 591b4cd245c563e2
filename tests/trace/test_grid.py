"""Grids of ranks."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.symbolic.grid import balanced


@pytest.mark.parametrize(
    ("nprocs", "dims"),
    [
        (7, (7,)), (12, (4, 3)), (16, (4, 4)), (13, (13, 1)),
        (24, (4, 3, 2)), (27, (3, 3, 3)), (30, (5, 3, 2)), (16, (2, 2, 2, 2)),
    ],
)  # fmt: skip
def test_dimensions_are_as_close_as_can_be(nprocs: int, dims: tuple[int, ...]) -> None:
    assert balanced(nprocs, len(dims)) == dims


@given(nprocs=st.integers(1, 200), ndims=st.integers(1, 3))
def test_no_other_dimensions_are_closer(nprocs: int, ndims: int) -> None:
    found = balanced(nprocs, ndims)
    assert prod(found) == nprocs
    assert list(found) == sorted(found, reverse=True)
    divisors = [d for d in range(1, nprocs + 1) if nprocs % d == 0]
    every = (dims for dims in product(divisors, repeat=ndims) if prod(dims) == nprocs)
    assert max(found) - min(found) == min(max(dims) - min(dims) for dims in every)
