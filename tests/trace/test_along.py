"""Values of a formula along loops: the same for few executions, evaluated one by one, and for many."""

from __future__ import annotations

import pytest

from scalatrace.errors import FormulaError
from scalatrace.formula import parse_number
from scalatrace.trace.symbolic import evaluate
from scalatrace.trace.symbolic.counters import chain_of
from scalatrace.trace.values.vec import Vec

PLACE = {"X": 5, "Y": 3, "x": 2, "y": 1, "r": 11, "P": 15}
LOOPS = [(Vec(3),), (Vec(2), Vec(4)), (Vec(2), Vec((1, 6)))]


@pytest.mark.parametrize("loops", LOOPS)
def test_few_executions_have_the_values_of_many(
    loops: tuple[Vec, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = chain_of(loops)
    assert chain is not None
    name = next(iter(chain.columns(0)))
    for text in (f"(x-{name}+X)%X", f"r+{name}*Y", f"{name}//2", "7"):
        formula = parse_number(text)
        found = []
        for limit in (chain.runs - 1, chain.runs):
            monkeypatch.setattr(evaluate, "MAX_SCALAR_RUNS", limit)
            found.append(evaluate.along(formula, PLACE, loops, endless=True).terms)
        assert found[0] == found[1]


def test_a_value_that_one_execution_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = chain_of((Vec(3),))
    assert chain is not None
    formula = parse_number(f"X//(2-{next(iter(chain.columns(0)))})")
    for limit in (0, 16):
        monkeypatch.setattr(evaluate, "MAX_SCALAR_RUNS", limit)
        with pytest.raises(FormulaError):
            evaluate.along(formula, PLACE, (Vec(3),), endless=False)
