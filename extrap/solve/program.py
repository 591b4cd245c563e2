"""Evaluate many formulas over columns of small numbers; common parts are evaluated once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import mul, neg
from typing import Any

import numpy as np

from scalatrace.trace.symbolic.expression import BINARY, COMPARE, FUNCTIONS, evaluate, parse

__all__ = ["Program", "program"]

ARITHMETIC: dict[Any, Callable[..., Any]] = {
    **BINARY,
    **{kind: lambda a, b, holds=holds: holds(a, b) * 1 for kind, holds in COMPARE.items()},
    ast.Mult: mul,  # of small numbers: nothing can overflow
    ast.USub: neg,
}


class Program:
    """The steps of some formulas. Each step's result has a slot; equal parts of formulas share theirs."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Raises FormulaError when one of the texts is no formula."""
        self.texts = tuple(texts)
        self._known: dict[Any, int] = {}
        self._steps: list[tuple[Any, tuple[Any, ...]]] = []
        self._results = [self._slot(parse(text)) for text in texts]

    def values(self, columns: Mapping[str, Any]) -> list[Any]:
        """What each formula is for these numbers: an array, or an integer; None where it divides by zero.

        Raises:
            FormulaError, UsageError: one has no value for another reason.
        """
        slots: list[Any] = []
        failed: dict[int, bool] = {}  # slot -> whether it divides by zero
        with np.errstate(divide="raise", invalid="raise"):
            for operation, args in self._steps:
                try:
                    if failed and not failed.keys().isdisjoint(args):
                        raise ZeroDivisionError
                    slots.append(_done(operation, args, slots, columns))
                except Exception as error:
                    zero = isinstance(error, ArithmeticError)
                    failed[len(slots)] = zero and all(failed.get(arg, True) for arg in args)
                    slots.append(None)
        return [
            evaluate(text, columns) if failed.get(slot) is False else slots[slot]  # tells what is wrong
            for text, slot in zip(self.texts, self._results, strict=True)
        ]

    def _slot(self, node: ast.expr) -> int:
        """Where the result of a part of a formula is."""
        match node:
            case ast.Name(id=name):
                return self._step(None, name)
            case ast.Constant(value=number):
                return self._step(None, number)
            case ast.UnaryOp(op=op, operand=inner):
                return self._step(type(op), self._slot(inner))
            case (
                ast.BinOp(left=left, op=op, right=right)
                | ast.Compare(left=left, ops=[op], comparators=[right])
            ):
                return self._step(type(op), self._slot(left), self._slot(right))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._step(name, *map(self._slot, args))
        return self._step(ast.unparse(node))  # which fails, and is told

    def _step(self, operation: Any, *args: Any) -> int:
        key = operation, args
        if key not in self._known:
            self._known[key] = len(self._steps)
            self._steps.append(key)
        return self._known[key]


def _done(operation: Any, args: tuple[Any, ...], slots: Sequence[Any], columns: Mapping[str, Any]) -> Any:
    if operation is None:
        return columns[args[0]] if type(args[0]) is str else args[0]
    function = FUNCTIONS[operation] if type(operation) is str else ARITHMETIC[operation]
    return function(*[slots[arg] for arg in args])


@lru_cache(maxsize=32)
def program(texts: tuple[str, ...]) -> Program:
    """The program of formulas, which are the same for many points."""
    return Program(texts)
