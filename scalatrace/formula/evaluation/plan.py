"""Evaluation plans: expressions over the same columns as a list of steps, reused for other columns.

    x//Y + x, (x//Y)*Y   ->   0: x   1: Y   2: 0//1   3: 2+0   4: 2*1

Equal parts are one step. Operators, functions and indicators of comparisons are steps of their own; any other
expression is one step, evaluated by `ColumnEvaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from scalatrace.errors import FormulaError
from scalatrace.formula import nodes
from scalatrace.formula.bounds import Interval
from scalatrace.formula.evaluation.columns import COMPARE, ColumnEvaluator, binary, call, indicator, spanned

__all__ = ["Plan", "plan_of"]

BINARY, CALL, INDICATOR, OTHER = range(4)
BIT: Interval = (0, 1)


class Plan:
    """The steps of expressions."""

    def __init__(self, formulas: Sequence[nodes.Expr]) -> None:
        self._numbers: dict[nodes.Expr, int] = {}
        self._constants: list[tuple[int, int]] = []
        self._names: list[tuple[int, str]] = []
        self._steps: list[tuple[int, int, Any, tuple[int, ...]]] = []
        self._results = [self._number(formula) for formula in formulas]

    def _number(self, e: nodes.Expr) -> int:
        """Return the number of an expression, whose steps are added if they are new."""
        if e not in self._numbers:
            step: tuple[int, Any, tuple[int, ...]] = OTHER, e, ()
            match e:
                case nodes.Binary(op, a, b):
                    step = BINARY, op, (self._number(a), self._number(b))
                case nodes.Called(name, arguments):
                    step = CALL, name, tuple(map(self._number, arguments))
                case nodes.Choose(nodes.Compare(op, a, b), nodes.Const(1), nodes.Const(0)):
                    step = INDICATOR, COMPARE[op], (self._number(a), self._number(b))
            number = self._numbers[e] = len(self._numbers)
            if isinstance(e, nodes.Const):
                self._constants.append((number, e.value))
            elif isinstance(e, nodes.Var):
                self._names.append((number, e.name))
            else:
                self._steps.append((number, *step))
        return self._numbers[e]

    def evaluate(self, names: Mapping[str, Any]) -> list[Any]:
        """Return the value of each expression, as `scalatrace.formula.evaluate_all` does.

        Raises:
            KeyError: a name has no value.
        """
        columns = ColumnEvaluator(names)
        values: list[Any] = [None] * len(self._numbers)
        intervals: list[Interval] = [BIT] * len(values)
        for number, value in self._constants:
            values[number], intervals[number] = value, (value, value)
        for number, name in self._names:
            values[number] = names[name]
            intervals[number] = spanned(names[name])
        for number, kind, payload, operands in self._steps:
            arguments = [values[i] for i in operands]
            try:
                if kind == BINARY:
                    (a, b), (i, k) = arguments, operands
                    if a is None or b is None:
                        continue
                    values[number], intervals[number] = binary(payload, a, b, intervals[i], intervals[k])
                elif any(operand is None for operand in arguments):
                    continue
                elif kind == CALL:
                    spans = [intervals[operand] for operand in operands]
                    values[number], intervals[number] = call(payload, arguments, spans)
                elif kind == INDICATOR:
                    values[number] = indicator(payload(*arguments))
                else:
                    values[number] = columns.value(payload)
                    intervals[number] = spanned(values[number])
            except (ZeroDivisionError, FormulaError):
                continue  # nor has what uses it a value
        return [values[number] for number in self._results]


@lru_cache(maxsize=64)
def plan_of(formulas: tuple[nodes.Expr, ...]) -> Plan:
    """Return the plan of these expressions; the latest plans are cached."""
    return Plan(formulas)
