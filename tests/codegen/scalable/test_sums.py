"""Sums over the turns of a loop, against adding up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.builders.formula import FormulaReader
from scalatrace.codegen.builders.sums import sum_of_turns
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.interpret import InterpretSetting, value
from scalatrace.formula import Const, Expr, Var, evaluate, parse_number
from scalatrace.formula.domain import Domain

X, Y = Var("X", None, 1), Var("y", None)
TEXTS = (
    "4*((i1%X==y))",
    "4*((l1>0)*(i1%X==y))+4*((l1>0)*((i1+1)%X==y))",
    "((l1>0))+((l1==0)*(X-y))",
    "((l1==0)*(i1+y))",
    "3-((l1>0)*(2*i1))",
    "(i1%X<y)+(y+1)*(i1%X>0)",
    "((i1+2)%X==y-1)",
    "(i1%X==1)+(i1%X<2)",
    "i1*i1",
    "3*i1*i1*y-i1*(i1+1)",
)


@given(st.sampled_from(TEXTS), st.integers(1, 5), st.integers(1, 12), st.data())
def test_sums_are_what_adding_up_gives(text: str, x: int, times: int, data: st.DataObject) -> None:
    y = data.draw(st.integers(0, 6))
    n = data.draw(st.integers(0, times - 1))
    turns = [
        evaluate(parse_number(text), {"X": x, "y": y, "i1": i, "l1": times - 1 - i}) for i in range(times)
    ]

    def total(count: Expr) -> int:
        reader = FormulaReader({"X": X, "y": Y}, {})
        e = sum_of_turns(parse_number(text), count, Const(times), reader, Domain(), {})
        return value(e, InterpretSetting({"X": x, "y": y, "n": n}, lambda family: (0, 1)))

    assert total(Var("n", None)) == sum(turns[:n])
    assert total(Const(times)) == sum(turns)


@pytest.mark.parametrize("text", ["(i1%X==0)*(i1%y==0)", "i1*l1", "l1", "3*l1", "(i1%X==i1)", "i1//X"])
def test_sums_without_closed_formula_are_refused(text: str) -> None:
    reader = FormulaReader({"X": X, "y": Y}, {})
    with pytest.raises(GenerateError, match="no closed formula"):
        sum_of_turns(parse_number(text), Var("n", None), Const(9), reader, Domain(), {})
