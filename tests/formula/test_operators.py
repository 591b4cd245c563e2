"""Python's operators on expressions make what the notation of trace files says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.formula import Expr, Var, format_text, parse_number

NAMES = {name: Var(name) for name in ("P", "X", "Y", "n", "r", "x")}
OPERATORS = ("+", "-", "*", "//", "%", "&", "^", "<<", ">>")
WITH_INTEGER_FIRST = ("+", "-", "*", "//", "<<")

names = st.sampled_from(sorted(NAMES))
numbers = st.integers(0, 99).map(str)
texts = st.recursive(
    names,
    lambda inner: st.one_of(
        st.builds("({}{}{})".format, inner, st.sampled_from(OPERATORS), inner | numbers),
        st.builds("({}{}{})".format, numbers, st.sampled_from(WITH_INTEGER_FIRST), inner),
        st.builds("(-{})".format, inner),
    ),
    max_leaves=12,
)


@given(texts)
def test_operators_are_the_notation(text: str) -> None:
    formula: Expr = eval(text, {"__builtins__": {}}, NAMES)
    assert formula == parse_number(text)
    assert parse_number(format_text(formula)) == formula


@pytest.mark.parametrize("operand", ["X", 1.5, None, True])
def test_other_operands_are_refused(operand: object) -> None:
    with pytest.raises(TypeError, match="no expression and no integer"):
        NAMES["X"] + operand  # type: ignore[operator]


def test_equality_compares_expressions() -> None:
    assert NAMES["X"] * 2 == Var("X") * 2
    assert NAMES["X"] * 2 != 2 * NAMES["X"]
