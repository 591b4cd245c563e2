"""Exact solution of small linear systems with integer coefficients.

Fraction-free elimination (Bareiss) on Python integers. sympy's DomainMatrix over QQ gives the same and is the
oracle of the tests; importing it takes half as long as a whole extrapolation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

__all__ = ["solve_linear"]


def solve_linear(matrix: Sequence[Sequence[int]], right: Sequence[int]) -> tuple[list[int], int] | None:
    """Return numerators and the least common denominator of x in matrix @ x = right.

    Rows must stand in an order in which no pivot is zero; None where one is, or the matrix is singular.
    """
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    before = 1
    for i, row in enumerate(rows):
        pivot = row[i]
        if not pivot:
            return None
        for j, lower in enumerate(rows):
            if j != i:
                by = lower[i]
                rows[j] = [(pivot * x - by * y) // before for x, y in zip(lower, row, strict=True)]
        before = pivot
    common = gcd(before, *(row[-1] for row in rows))
    common = -common if before < 0 else common
    return [row[-1] // common for row in rows], before // common
