"""The formulas of a symbolic trace as expressions of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from scalatrace.codegen.errors import GenerateError
from scalatrace.formula import (
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Element,
    Expr,
    Function,
    Truth,
    Value,
    Var,
    add,
    choose,
    compare,
    format_text,
    indicator,
    is_nonzero,
    mul,
    sub,
)
from scalatrace.formula.domain import Domain
from scalatrace.formula.polynomials import combine, nonnegative, quotient
from scalatrace.formula.rewrite import ExprRewriter

__all__ = ["PROGRAM_FUNCTIONS", "FormulaReader", "divided_evenly"]

PROGRAM_FUNCTIONS = frozenset(
    ["log2", "ceil_log2", "trailing_zeros", "popcount", "min", "max", "block", "block_start", "diagonal"]
)
"""Functions that generated programs have; others are expanded to formulas of their arguments."""

NONE: Mapping[str, Expr] = MappingProxyType({})


def divided_evenly(formula: Value) -> tuple[Expr, Expr] | None:
    """Dividend and divisor of a formula that was found as a fraction: they divide where it holds.

    The dividend of a fraction is never a plain variable (`linear_combination`).
    """
    match formula:
        case Binary("//", Binary() as whole, Const() as by):
            return whole, by
    return None


class FormulaReader:
    """Turns formulas into expressions of a program: replaces names, decides what the domain decides.

    Args:
        names: what names stand for.
        functions: what formulas may call beyond the functions of programs; called with symbols for numbers.
    """

    def __init__(self, names: Mapping[str, Expr], functions: Mapping[str, Function]) -> None:
        self.names, self.functions = dict(names), functions

    def value(self, value: Value, domain: Domain, names: Mapping[str, Expr] = NONE) -> Value:
        """The value of a formula that may be a constant of MPI; arguments as in `number`."""
        return self._reading(domain, names).value(value)

    def number(self, value: Expr, domain: Domain, names: Mapping[str, Expr] = NONE) -> Expr:
        """The value of a formula; `names` has what names stand for beyond its own. Raises GenerateError."""
        return self._reading(domain, names).number(value)

    def condition(self, cond: Cond, domain: Domain) -> Cond:
        """A condition on the ranks of a program. Raises GenerateError."""
        return self._reading(domain, NONE).condition(cond)

    def _reading(self, domain: Domain, names: Mapping[str, Expr]) -> _Reading:
        return _Reading({**self.names, **names} if names else self.names, self.functions, domain)


class _Reading(ExprRewriter):
    """One reading of formulas, whose variables have a domain."""

    def __init__(self, names: Mapping[str, Expr], functions: Mapping[str, Function], domain: Domain) -> None:
        self.names, self.functions, self.domain = names, functions, domain

    def number(self, e: Expr) -> Expr:
        match e:
            case Binary("*", Const(-1), Binary("//", Binary("*", Const(-1), a), b)):
                divisor = self.number(b)
                return quotient(add(self.number(a), sub(divisor, Const(1))), divisor, self.domain)
            case Choose(Compare(op, a, b), Const(1), Const(0)):
                return indicator(decide_comparison(op, self.number(a), self.number(b), self.domain))
        return super().number(e)

    def condition(self, cond: Cond) -> Cond:
        match cond:
            case Compare("!=", a, Const(0)):
                return is_nonzero(self.number(a))
        return super().condition(cond)

    def variable(self, variable: Var) -> Expr:
        if variable.name not in self.names:
            raise _inexpressible(variable)
        return self.names[variable.name]

    def element(self, array: str, index: Expr) -> Expr:
        raise _inexpressible(Element(array, index))

    def binary(self, op: str, a: Expr, b: Expr) -> Expr:
        return combine(op, a, b, self.domain)

    def compare(self, op: str, a: Expr, b: Expr) -> Cond:
        return keep_comparison(op, a, b)

    def called(self, name: str, arguments: tuple[Expr, ...]) -> Expr:
        if name in PROGRAM_FUNCTIONS:
            return Called(name, arguments)
        if name not in self.functions:
            raise GenerateError(f"no formula knows the function {name}: a plug-in's (--plugin)?")
        if self.functions[name].texts:
            return Called(name, arguments)
        try:
            result = self.functions[name].scalar(*(_Symbol(e, self.domain) for e in arguments))
        except Exception as error:  # whatever a plug-in's function does with a symbol
            raise GenerateError(
                f"the function {name} is no plain formula of its arguments ({error}): no program can hold it"
            ) from None
        return _plain(result)


def _inexpressible(e: Expr) -> GenerateError:
    return GenerateError(f"the formula {format_text(e)} cannot be expressed in a program")


def decide_comparison(op: str, a: Expr, b: Expr, domain: Domain) -> Cond:
    """A comparison; decided where what is known of the variables decides it."""
    if op == ">" and nonnegative(sub(b, a), domain):
        return Truth(False)
    if op == "<" and nonnegative(sub(a, b), domain):
        return Truth(False)
    if op == ">" and nonnegative(sub(sub(a, b), Const(1)), domain):
        return Truth(True)
    if op == "<" and nonnegative(sub(sub(b, a), Const(1)), domain):
        return Truth(True)
    return keep_comparison(op, a, b)


def keep_comparison(op: str, a: Expr, b: Expr) -> Cond:
    """A comparison as it was written, except that a number stands behind: `x > 0`, not `0 < x`."""
    if isinstance(a, Const) and not isinstance(b, Const):
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        return keep_comparison(turned, b, a)
    if isinstance(a, Var) and isinstance(b, Const):
        return Compare(op, a, b)
    if isinstance(b, Const):
        return compare(op, a, b)
    return Compare(op, a, b)


class _Symbol:
    """A number that is not known yet: what a plug-in's function computes with it becomes an expression."""

    def __init__(self, e: Expr, domain: Domain) -> None:
        self.e, self.domain = e, domain

    def _with(self, op: str, other: Any, turned: bool = False) -> _Symbol:
        a, b = (_plain(other), self.e) if turned else (self.e, _plain(other))
        return _Symbol(combine(op, a, b, self.domain), self.domain)

    def _compare(self, op: str, other: Any) -> _Symbol:
        return _Symbol(choose(keep_comparison(op, self.e, _plain(other)), Const(1), Const(0)), self.domain)

    def __bool__(self) -> bool:
        raise TypeError("it uses if, and or or on a symbolic number")

    def __neg__(self) -> _Symbol:
        return _Symbol(mul(self.e, Const(-1)), self.domain)


def _operator(op: str, turned: bool) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda self, other: self._with(op, other, turned)


def _comparison(op: str) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda self, other: self._compare(op, other)


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
