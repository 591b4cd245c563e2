"""Quotients and remainders of polynomials are those of the numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.program.interpret import EvaluationSetting, value
from scalatrace.formula import Const, Expr, Var, add, mul, sub
from scalatrace.formula.domain import Domain
from scalatrace.formula.polynomials import nonnegative, quotient, remainder

SIDE, TURN, PLACE = Var("X", 1 << 31, 2), Var("i"), Var("j")
FACTS = Domain({TURN: Const(0), PLACE: Const(0)}, {TURN: Const(4), PLACE: sub(SIDE, Const(1))})


@st.composite
def expressions(draw: st.DrawFn) -> Expr:
    """Sums of products of a side and of variables below it."""
    total: Expr = Const(draw(st.integers(-3, 3)))
    for _ in range(draw(st.integers(0, 4))):
        factors = draw(st.lists(st.sampled_from([SIDE, TURN, PLACE]), min_size=1, max_size=2))
        part: Expr = Const(draw(st.integers(-3, 3)))
        for factor in factors:
            part = mul(part, factor)
        total = add(total, part)
    return total


def at(x: int, i: int, j: int) -> EvaluationSetting:
    return EvaluationSetting({"X": x, "i": i, "j": j % x}, lambda _: (0, 1))


@given(
    expressions(),
    st.sampled_from([SIDE, sub(SIDE, Const(1)), Const(3), Const(1)]),
    st.integers(2, 9),
    st.integers(0, 4),
    st.integers(0, 8),
)
def test_division(e: Expr, by: Expr, x: int, i: int, j: int) -> None:
    here = at(x, i, j)
    a, b = value(e, here), value(by, here)
    assert value(quotient(e, by, FACTS), here) == a // b
    assert value(remainder(e, by, FACTS), here) == a % b


@given(expressions(), st.integers(2, 9), st.integers(0, 4), st.integers(0, 8))
def test_what_is_never_negative(e: Expr, x: int, i: int, j: int) -> None:
    assert not nonnegative(e, FACTS) or value(e, at(x, i, j)) >= 0


def test_what_a_loop_over_a_side_becomes() -> None:
    turns = add(mul(TURN, SIDE), PLACE)
    assert remainder(turns, SIDE, FACTS) == PLACE
    assert quotient(turns, SIDE, FACTS) == TURN
