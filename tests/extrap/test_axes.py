"""Formulas and their rivals, compared over the axes of a grid: as over all ranks."""

from __future__ import annotations

import numpy as np
import pytest

from scalatrace.extrap.fit.undetermined.rivals import differing
from scalatrace.extrap.instantiate.ranks import Ranks
from scalatrace.formula import parse_number
from scalatrace.trace.symbolic.grid import Grid

PAIRS = {
    1: (("r", "X-1-r"), ("n//X", "(r+1)*n//X-r*n//X"), ("P", "X")),
    2: (("x", "y"), ("n//X", "-(-n//X)"), ("(x+1)*n//X-x*n//X", "n//X"), ("r+Y", "r+X"), ("x+i", "y+i")),
    3: (("x+y", "z"), ("r", "x+X*(y+Y*z)"), ("(z+1)*n//Z-z*n//Z", "n//Z"), ("X", "Z")),
}


@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize("dims", [(7,), (3, 5), (4, 4), (2, 3, 4)])
def test_ranks_on_which_formulas_differ(dims: tuple[int, ...], column_major: bool) -> None:
    ranks = Ranks(Grid(dims, column_major), {"n": 17})
    for left, right in PAIRS[len(dims)]:
        pair = parse_number(left), parse_number(right)
        expected = np.broadcast_to(differing(*pair, ranks.env), (ranks.grid.nprocs,))
        for _ in range(2):  # computed, and kept
            assert ranks.differing(*pair).tolist() == expected.tolist()
