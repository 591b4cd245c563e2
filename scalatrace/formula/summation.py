"""Closed forms of sums over a variable, by sympy (imported when one is asked for: it takes half a second)."""

from __future__ import annotations

from functools import lru_cache
from math import lcm

from scalatrace.formula.arithmetic import add, mul
from scalatrace.formula.domain import Domain
from scalatrace.formula.nodes import Const, Expr, Var
from scalatrace.formula.parts import names_in
from scalatrace.formula.polynomials import monomials, quotient

__all__ = ["MAX_DEGREE", "sum_over"]

MAX_DEGREE = 6
"""Powers of the variable that are summed; a sum of the next would need coefficients of many digits."""


def sum_over(e: Expr, variable: Var, count: Expr, domain: Domain) -> Expr | None:
    """Return the sum of a polynomial in a variable from 0 to below count.

    Returns:
        An expression without the variable; None when the expression is no such polynomial.
    """
    total: Expr = Const(0)
    for factors, coefficient in monomials(e).items():
        constants = [factor for factor in factors if factor != variable]
        degree = len(factors) - len(constants)
        if degree > MAX_DEGREE or variable.name in names_in(*constants):
            return None
        part = mul(_power_sum(degree, count, domain), Const(coefficient))
        for factor in constants:
            part = mul(part, factor)
        total = add(total, part)
    return total


def _power_sum(degree: int, count: Expr, domain: Domain) -> Expr:
    """Return the sum of k ** degree for k from 0 to below count."""
    numerators, denominator = _faulhaber(degree)
    total: Expr = Const(0)
    power: Expr = Const(1)
    for numerator in numerators:
        total = add(total, mul(power, Const(numerator)))
        power = mul(power, count)
    return quotient(total, Const(denominator), domain)


@lru_cache
def _faulhaber(degree: int) -> tuple[tuple[int, ...], int]:
    """Coefficients of Faulhaber's polynomial in the count, the constant first, over one denominator."""
    import sympy  # type: ignore[import-untyped]

    k, n = sympy.symbols("k n", integer=True, nonnegative=True)
    closed = sympy.Poly(sympy.summation(k**degree, (k, 0, n - 1)), n)
    rational = list(reversed(closed.all_coeffs()))
    denominator = lcm(*(int(c.q) for c in rational))
    return tuple(int(c * denominator) for c in rational), denominator
