"""The reader of expressions in trace files and plug-ins: Python's notation, of which it accepts this much:

names, integers, + - * // % ^ & << >>, unary minus, comparisons, calls of functions, `choose(cond, a, b)`,
`item(index, entry, ...)`. A comparison is the number 1 or 0; conditions are joined by * (and) and + (or).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import cast

from scalatrace.errors import FormulaError
from scalatrace.escapes import clean
from scalatrace.formula.conditions import all_of, either, entry, indicator
from scalatrace.formula.nodes import (
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Select,
    Special,
    Symbolic,
    Truth,
    Value,
    Var,
)

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "parse", "parse_condition", "parse_number"]

MAX_LENGTH = 1 << 16
"""Characters of a formula."""

MAX_DEPTH = 200
"""Expressions within each other."""

MAX_DIGITS = 20
"""Of an integer; more do not fit into 64 bits."""

NONE: Mapping[str, int] = MappingProxyType({})

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitXor: "^",
    ast.BitAnd: "&", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def parse(text: str, specials: Mapping[str, int] = NONE) -> Value:
    """Return the value of a text.

    Args:
        specials: names of symbols, with the integers that stand for them in files.

    Raises:
        FormulaError: it is no formula; says what is wrong and where.
    """
    return _parse_text(text, tuple(specials.items()))


def parse_number(text: str) -> Expr:
    """Return the expression of a text without symbols. Raises FormulaError."""
    result = parse(text)
    assert not isinstance(result, Symbolic)  # there are no names of symbols
    return result


@lru_cache(maxsize=1 << 16)
def parse_condition(text: str) -> Cond:
    """Return the condition of a text, which is 0 where it does not hold. Raises FormulaError."""
    return _Reader(text, NONE).condition(_tree(text), 0)


@lru_cache(maxsize=1 << 16)
def _parse_text(text: str, specials: tuple[tuple[str, int], ...]) -> Value:
    return _Reader(text, dict(specials)).value(_tree(text), 0)


def _tree(text: str) -> ast.expr:
    if type(text) is not str or len(text) > MAX_LENGTH:
        raise FormulaError(f"not a formula: {clean(str(text)[:40])} (at most {MAX_LENGTH} characters)")
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        reason = f"{error.msg}, character {error.offset}"
        raise FormulaError(f"not a formula: {clean(text[:80])} ({reason})") from None
    except (ValueError, RecursionError, MemoryError):
        raise FormulaError(f"not a formula: {clean(text[:80])}") from None


class _Reader:
    def __init__(self, text: str, specials: Mapping[str, int]) -> None:
        self._text, self._specials = text, specials
        self._names = {number: name for name, number in specials.items()}

    def value(self, node: ast.expr, depth: int) -> Value:
        """Return a number, a symbol, or a choice of such."""
        match node:
            case ast.Name(id=name) if name in self._specials:
                return Special(name)
            case ast.Call(func=ast.Name(id="choose"), args=[cond, a, b], keywords=[]):
                self._check(node, depth)
                then, otherwise = self.value(a, depth + 1), self.value(b, depth + 1)
                chosen = self.condition(cond, depth + 1)
                if isinstance(then, Symbolic) or isinstance(otherwise, Symbolic):
                    return Select(chosen, then, otherwise)
                return Choose(chosen, then, otherwise)
            case ast.Call(func=ast.Name(id="item"), args=[index, *entries], keywords=[]) if self._specials:
                self._check(node, depth)
                values = [self.value(argument, depth + 1) for argument in entries]
                table = [argument.value if isinstance(argument, Const) else argument for argument in values]
                if not all(isinstance(argument, int | Special) for argument in table):
                    raise self._wrong(node)
                return entry(cast("list[int | Special]", table), self.number(index, depth + 1))
        number = self.number(node, depth)
        if isinstance(number, Const) and number.value in self._names:
            return Special(self._names[number.value])
        return number

    def number(self, node: ast.expr, depth: int) -> Expr:
        self._check(node, depth)
        match node:
            case ast.Constant(value=value) if type(value) is int:
                return Const(self._check_limit(node, value))
            case ast.Name(id=name):
                return Var(name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if type(value) is int:
                return Const(self._check_limit(node, -value))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return Binary("*", Const(-1), self.number(inner, depth + 1))
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
                return Binary(_OPERATORS[type(op)], self.number(a, depth + 1), self.number(b, depth + 1))
            case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
                return indicator(self.condition(node, depth + 1))
            case ast.Call(func=ast.Name(id="choose"), args=[cond, a, b], keywords=[]):
                branches = self.number(a, depth + 1), self.number(b, depth + 1)
                return Choose(self.condition(cond, depth + 1), *branches)
            case ast.Call(func=ast.Name(id="item"), args=[index, *entries], keywords=[]):
                return Item(
                    tuple(self._entry(entry, depth) for entry in entries), self.number(index, depth + 1)
                )
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return Called(name, tuple(self.number(argument, depth + 1) for argument in args))
        raise self._wrong(node)

    def condition(self, node: ast.expr, depth: int) -> Cond:
        """Return a number as a condition: products and sums of conditions join them."""
        self._check(node, depth)
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return all_of(self.condition(left, depth + 1), self.condition(right, depth + 1))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return either(self.condition(left, depth + 1), self.condition(right, depth + 1))
            case ast.Constant(value=value) if type(value) is int:
                return Truth(bool(value))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                sides = self.number(left, depth + 1), self.number(right, depth + 1)
                return Compare(_COMPARISONS[type(op)], *sides)
        return Compare("!=", self.number(node, depth + 1), Const(0))

    def _entry(self, node: ast.expr, depth: int) -> int:
        number = self.number(node, depth + 1)
        if not isinstance(number, Const):
            raise self._wrong(node)
        return number.value

    def _check_limit(self, node: ast.expr, value: int) -> int:
        if not -(1 << 63) <= value < 1 << 63:
            raise self._wrong(node, "does not fit into 64 bits")
        return value

    def _check(self, node: ast.expr, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._wrong(node, f"is more than {MAX_DEPTH} expressions deep")

    def _wrong(self, node: ast.expr, problem: str = "") -> FormulaError:
        start = node.col_offset
        part = self._text.encode()[start : start + 40].decode(errors="replace")
        reason, text = f" {problem}" if problem else "", clean(self._text[:80])
        return FormulaError(f"not a formula: {text}: {part!r}{reason} (character {start + 1})")
