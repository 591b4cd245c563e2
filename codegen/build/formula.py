"""The formulas of a symbolic trace as expressions of a program."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from scalatrace.codegen.build.algebra import Facts, nonnegative, quotient, remainder
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.expr import (
    Binary,
    Called,
    Compare,
    Cond,
    Const,
    Expr,
    Truth,
    Var,
    add,
    all_of,
    choose,
    compare,
    either,
    is_nonzero,
    mul,
    sub,
)
from scalatrace.codegen.program.interpret import FUNCTIONS
from scalatrace.errors import FormulaError
from scalatrace.trace.symbolic.expression import parse

__all__ = ["Reader", "divided_evenly"]

COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
SHIFTS: dict[type[ast.operator], str] = {ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitXor: "^"}

NOTHING: Mapping[str, Expr] = {}

_EVENLY = re.compile(r"\((?P<whole>.*)\)//(?P<by>\d+)")


def divided_evenly(text: str) -> tuple[str, str] | None:
    """Dividend and divisor of a formula that was found as a fraction: they divide where it holds."""
    match = _EVENLY.fullmatch(text)
    if match is None:
        return None
    depth = 0
    for char in match["whole"]:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return None
    return match["whole"], match["by"]


class Reader:
    """Turns formulas into expressions.

    Args:
        names: what names stand for.
        functions: what formulas may call beyond those that programs have; called with symbols for numbers.
    """

    def __init__(self, names: Mapping[str, Expr], functions: Mapping[str, Callable[..., Any]]) -> None:
        self.names, self.functions = dict(names), functions

    def number(self, text: str, facts: Facts, names: Mapping[str, Expr] = NOTHING) -> Expr:
        """The value of a formula; `names` has what names stand for beyond its own. Raises GenerateError."""
        return self._number(_parsed(text), facts, names)

    def condition(self, text: str, facts: Facts) -> Cond:
        """A formula that is 0 where a condition does not hold. Raises GenerateError."""
        return self._condition(_parsed(text), facts)

    def _condition(self, node: ast.expr, facts: Facts) -> Cond:
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return all_of(self._condition(left, facts), self._condition(right, facts))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return either(self._condition(left, facts), self._condition(right, facts))
            case ast.Constant(value=int() as number):
                return Truth(bool(number))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
                return compared(COMPARE[type(op)], self._number(left, facts), self._number(right, facts))
        return is_nonzero(self._number(node, facts))

    def _number(self, node: ast.expr, facts: Facts, names: Mapping[str, Expr] = NOTHING) -> Expr:
        def of(inner: ast.expr) -> Expr:
            return self._number(inner, facts, names)

        match node:
            case ast.Constant(value=int() as number):
                return Const(int(number))
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.UnaryOp(operand=ast.BinOp(ast.UnaryOp(operand=a), ast.FloorDiv(), b)):
                return quotient(add(of(a), sub(of(b), Const(1))), of(b), facts)  # rounded up
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return mul(of(inner), Const(-1))
            case ast.BinOp(left=a, op=op, right=b):
                return self._binary(op, of(a), of(b), facts)
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in COMPARE:
                return choose(decided(COMPARE[type(op)], of(a), of(b), facts), Const(1), Const(0))
            case ast.Call(func=ast.Name(id="choose"), args=[cond, a, b], keywords=[]):
                return choose(self._condition(cond, facts), of(a), of(b))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._called(name, [of(arg) for arg in args], facts)
        raise GenerateError(f"the formula {ast.unparse(node)} has no form in a generated program")

    def _binary(self, op: ast.operator, a: Expr, b: Expr, facts: Facts) -> Expr:
        match op:
            case ast.Add():
                return add(a, b)
            case ast.Sub():
                return sub(a, b)
            case ast.Mult():
                return mul(a, b)
            case ast.FloorDiv():
                return quotient(a, b, facts)
            case ast.Mod():
                return remainder(a, b, facts)
        return Binary(SHIFTS[type(op)], a, b)

    def _called(self, name: str, arguments: list[Expr], facts: Facts) -> Expr:
        if name in FUNCTIONS:
            return Called(name, tuple(arguments))
        if name not in self.functions:
            raise GenerateError(f"no formula knows the function {name}: a plug-in's (--plugin)?")
        try:
            made = self.functions[name](*(_Symbol(e, facts) for e in arguments))
        except Exception as error:  # whatever a plug-in's function does with a symbol
            raise GenerateError(
                f"the function {name} is no plain formula of its arguments ({error}): no program can hold it"
            ) from None
        return _plain(made)


def decided(op: str, a: Expr, b: Expr, facts: Facts) -> Cond:
    """A comparison; decided where what is known of the variables decides it."""
    if op == ">" and nonnegative(sub(b, a), facts):
        return Truth(False)
    if op == "<" and nonnegative(sub(a, b), facts):
        return Truth(False)
    if op == ">" and nonnegative(sub(sub(a, b), Const(1)), facts):
        return Truth(True)
    if op == "<" and nonnegative(sub(sub(b, a), Const(1)), facts):
        return Truth(True)
    return compared(op, a, b)


def compared(op: str, a: Expr, b: Expr) -> Cond:
    """A comparison as it was written, except that a number stands behind: `x > 0`, not `0 < x`."""
    if isinstance(a, Const) and not isinstance(b, Const):
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        return compared(turned, b, a)
    if isinstance(a, Var) and isinstance(b, Const):
        return Compare(op, a, b)
    if isinstance(b, Const):
        return compare(op, a, b)
    return Compare(op, a, b)


class _Symbol:
    """A number that is not known yet: what a plug-in's function computes with it becomes an expression."""

    def __init__(self, e: Expr, facts: Facts) -> None:
        self.e, self.facts = e, facts

    def _with(self, op: str, other: Any, turned: bool = False) -> _Symbol:
        a, b = (_plain(other), self.e) if turned else (self.e, _plain(other))
        made = {
            "+": lambda: add(a, b),
            "-": lambda: sub(a, b),
            "*": lambda: mul(a, b),
            "//": lambda: quotient(a, b, self.facts),
            "%": lambda: remainder(a, b, self.facts),
        }.get(op, lambda: Binary(op, a, b))()
        return _Symbol(made, self.facts)

    def _compared(self, op: str, other: Any) -> _Symbol:
        return _Symbol(choose(compared(op, self.e, _plain(other)), Const(1), Const(0)), self.facts)

    def __bool__(self) -> bool:
        raise TypeError("it asks whether a number holds")

    def __neg__(self) -> _Symbol:
        return _Symbol(mul(self.e, Const(-1)), self.facts)


def _operator(op: str, turned: bool) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda self, other: self._with(op, other, turned)


def _comparison(op: str) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda self, other: self._compared(op, other)


for _name, _op in {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "xor": "^", "and": "&",
    "lshift": "<<", "rshift": ">>",
}.items():  # fmt: skip
    setattr(_Symbol, f"__{_name}__", _operator(_op, False))
    setattr(_Symbol, f"__r{_name}__", _operator(_op, True))
for _name, _op in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(_Symbol, f"__{_name}__", _comparison(_op))


def _plain(value: Any) -> Expr:
    if isinstance(value, _Symbol):
        return value.e
    if isinstance(value, int):
        return Const(int(value))
    raise TypeError(f"it gives {type(value).__name__}")


def _parsed(text: str) -> ast.expr:
    try:
        return parse(text)
    except FormulaError:
        raise GenerateError(f"not a formula: {text[:80]}") from None
