"""Linear systems, polynomials and LaTeX, with sympy as the oracle."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.polys.matrices import DomainMatrix
from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

from scalatrace.formula import (
    Binary,
    Const,
    Expr,
    Special,
    Var,
    evaluate,
    latex,
    parse,
    parse_condition,
    parse_number,
)
from scalatrace.formula.domain import Domain
from scalatrace.formula.linear import solve_linear
from scalatrace.formula.polynomials import nonnegative, quotient, remainder
from scalatrace.formula.summation import sum_over

X, Y, ITERATION = Var("X", None, 1), Var("Y", None, 1), Var("i", None, 0)
SMALL = st.integers(-30, 30)
EXPONENTS = st.integers(0, 1)
TERMS = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 2), EXPONENTS, EXPONENTS), max_size=4)


def _rows(n: int) -> st.SearchStrategy[list[int]]:
    return st.lists(SMALL, min_size=n, max_size=n)


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(st.lists(_rows(n), min_size=n, max_size=n), _rows(n))))
def test_linear_systems(system: tuple[list[list[int]], list[int]]) -> None:
    matrix, right = system
    n = len(matrix)
    exact = DomainMatrix([[sympy.QQ(x) for x in row] for row in matrix], (n, n), sympy.QQ)
    found = solve_linear(matrix, right)
    try:
        wanted = exact.lu_solve(DomainMatrix([[sympy.QQ(x)] for x in right], (n, 1), sympy.QQ))
    except DMNonInvertibleMatrixError:
        assert found is None
        return
    if found is not None:  # None also where a row would have to move
        numerators, denominator = found
        assert denominator > 0
        assert [sympy.Rational(x, denominator) for x in numerators] == [
            sympy.Rational(str(row[0])) for row in wanted.to_list()
        ]


def _polynomial(terms: list[tuple[int, int, int, int]]) -> tuple[Expr, Any]:
    """A polynomial of X, Y and i from coefficients and exponents: as an expression, and sympy's."""
    x, y, i = sympy.symbols("X Y i")
    total: Expr = Const(0)
    oracle: Any = sympy.Integer(0)
    for k, a, b, c in terms:
        term: Expr = Const(k)
        for factor in (*[X] * a, *[Y] * b, *[ITERATION] * c):
            term = Binary("*", term, factor)
        total, oracle = Binary("+", total, term), oracle + k * x**a * y**b * i**c
    return total, oracle


@settings(deadline=None)
@given(TERMS)
def test_division_of_polynomials(terms: list[tuple[int, int, int, int]]) -> None:
    """X times quotient plus remainder is the dividend, as a polynomial and in values."""
    e, oracle = _polynomial([(k, a + 1, b, c) for k, a, b, c in terms])
    whole, rest = quotient(e, X, Domain()), remainder(e, X, Domain())
    assert rest == Const(0)
    x, y, i = sympy.symbols("X Y i")
    back = sympy.sympify(str(_text(whole)), locals={"X": x, "Y": y, "i": i}) * x
    assert sympy.expand(back - oracle) == 0


def _text(e: Expr) -> str:
    from scalatrace.formula import format_text

    return format_text(e)


@settings(deadline=None)
@given(
    TERMS,
    st.integers(1, 9), st.integers(1, 9), st.integers(0, 9),
)  # fmt: skip
def test_quotients_and_remainders_have_the_values(
    terms: list[tuple[int, int, int, int]], x: int, y: int, i: int
) -> None:
    e, _ = _polynomial(terms)
    names = {"X": x, "Y": y, "i": i}
    value = evaluate(e, names)
    assert evaluate(remainder(e, Y, Domain()), names) == value % y
    assert evaluate(quotient(e, Y, Domain()), names) == value // y
    if nonnegative(e, Domain()):
        assert value >= 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("n//X+x", r"\left\lfloor \frac{n}{X} \right\rfloor + x"),
        ("2*(x-1)", r"2 \cdot (x - 1)"),
        ("-x+3", "-x + 3"),
        ("(x+1)%X", r"(x + 1) \bmod X"),
        ("log2(P)", r"\left\lfloor \log_2 P \right\rfloor"),
        (
            "choose(x==0,PROC_NULL,x-1)",
            r"\begin{cases} \mathtt{PROC\_NULL} & x = 0 \\ x - 1 & \text{otherwise} \end{cases}",
        ),
        ("4+(x<X-1)", r"4 + \left[x < X - 1\right]"),
    ],
)
def test_latex(text: str, wanted: str) -> None:
    value = parse(text, {"PROC_NULL": -1})
    assert latex(value) == wanted
    assert value._repr_latex_() == f"${wanted}$"


def test_latex_of_conditions() -> None:
    assert latex(parse_condition("(x==0)*(y>1)")) == r"x = 0 \land y > 1"
    assert Special("ANY_TAG")._repr_latex_() == r"$\mathtt{ANY\_TAG}$"
    assert parse_number("7")._repr_latex_() == "$7$"


@settings(deadline=None)
@given(TERMS, st.integers(0, 12), st.integers(1, 9), st.integers(1, 9))
def test_sums_over_a_variable(terms: list[tuple[int, int, int, int]], count: int, x: int, y: int) -> None:
    """Of polynomials in X, against adding up."""
    e, _ = _polynomial(terms)
    n = Var("n", None, 0)
    closed = sum_over(e, X, n, Domain())
    assert closed is not None
    names = {"Y": y, "i": x}
    assert evaluate(closed, {**names, "n": count}) == sum(
        evaluate(e, {**names, "X": k}) for k in range(count)
    )


def test_sums_of_other_formulas_are_none() -> None:
    assert sum_over(parse_number("log2(X)"), Var("X"), Const(4), Domain()) is None
    assert sum_over(parse_number("X*X*X*X*X*X*X"), Var("X"), Const(4), Domain()) is None
