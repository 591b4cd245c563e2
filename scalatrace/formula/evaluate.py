"""Evaluate expressions: exactly for integers, for int64 arrays with an error at overflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from scalatrace.errors import FormulaError
from scalatrace.formula.evaluation.scalar import compiled
from scalatrace.formula.nodes import Cond, Expr, Value
from scalatrace.formula.parts import names_in
from scalatrace.formula.printing.text import format_text

__all__ = ["evaluate", "evaluate_all"]

NONE: Mapping[str, Any] = MappingProxyType({})


def evaluate(
    value: Value | Cond,
    names: Mapping[str, Any],
    arrays: Mapping[str, Sequence[int]] = NONE,
    specials: Mapping[str, int] = NONE,
) -> Any:
    """Return the value of an expression, or whether a condition holds.

    Args:
        names: what names stand for: integers, or int64 arrays that broadcast against each other.
        arrays: the entries of the arrays that `Element` nodes refer to.
        specials: the integers that stand for symbols.

    Returns:
        An int or a bool where all names stand for integers; else perhaps an array.

    Raises:
        FormulaError: a name is not given, or there is no value within 64 bits; names the formula.
    """
    try:
        values: dict[str, Any] = {}
        columns = False
        for name in _names(value):
            number = names[name]
            if type(number) is not int:
                columns = columns or getattr(number, "ndim", 0) > 0
                number = number if columns else int(number)
            values[name] = number
        if not columns:
            return compiled(value)(values, arrays, specials)
        from scalatrace.formula.evaluation.columns import (
            ColumnEvaluator,  # numpy: takes longer to import than most traces
        )

        evaluator = ColumnEvaluator(names, arrays, specials)
        return evaluator.mask(value) if isinstance(value, Cond) else evaluator.value(value)
    except KeyError as error:
        raise FormulaError(f"the formula {_shown(value)} needs a value for {error.args[0]}") from None
    except ZeroDivisionError:
        raise FormulaError(f"the formula {_shown(value)} divides by zero for these sizes") from None
    except FormulaError as error:
        raise FormulaError(f"the formula {_shown(value)} cannot be evaluated: {error}") from None


def evaluate_all(formulas: Sequence[Expr], names: Mapping[str, Any]) -> list[Any]:
    """Return the value of each formula; common parts are evaluated once.

    None: it has no value everywhere, since it divides by zero or a value does not fit into 64 bits.

    Raises:
        FormulaError: a name has no value.
    """
    from scalatrace.formula.evaluation.plan import plan_of

    try:
        return plan_of(tuple(formulas)).evaluate(names)
    except KeyError as error:
        name = error.args[0]
        without = next((formula for formula in formulas if name in names_in(formula)), formulas[0])
        raise FormulaError(f"the formula {_shown(without)} needs a value for {name}") from None


@lru_cache(maxsize=1 << 16)
def _names(value: Value | Cond) -> tuple[str, ...]:
    return tuple(names_in(value))


def _shown(value: Value | Cond) -> str:
    text = format_text(value)
    return text if len(text) <= 200 else text[:200] + "..."
