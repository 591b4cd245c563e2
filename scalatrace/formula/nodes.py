"""Nodes of expressions and conditions: small immutable values that know their hash, bounds and length.

    Expr     : an integer                     Const Var Element Binary Choose Item Search Called
    Cond     : a truth value                  Truth Compare AllOf AnyOf Member
    Symbolic : a symbol, or a choice of such  Special Select Lookup
    Value    : an integer or symbol           Expr or Symbolic

A Special is no number. No arithmetic accepts one: its parts are of type Expr.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = [
    "FALSE", "TRUE", "AllOf", "AnyOf", "Arithmetic", "Binary", "Called", "Choose", "Compare", "Cond", "Const",
    "Element", "Expr", "Item", "Lookup", "Member", "Search", "Select", "Special", "Symbolic", "Truth",
    "Value", "Var",
]  # fmt: skip


class _Shown:
    """Shown as LaTeX by notebooks; `scalatrace.formula.printing.latex` sets how."""

    __slots__ = ()
    latex: ClassVar[Callable[[Any], str]]

    def _repr_latex_(self) -> str:
        return f"${type(self).latex(self)}$"


def show_with(latex: Callable[[Any], str]) -> None:
    """Print expressions by a function where notebooks show them."""
    _Shown.latex = staticmethod(latex)


class Arithmetic:
    """Python's operators, for expressions: they make a node each, and simplify nothing.

    `==` compares expressions as values; conditions are made by functions (`scalatrace.formula.compare`).
    """

    __slots__ = ()

    def __add__(self, other: Expr | int) -> Binary:
        return Binary("+", _expr(self), _expr(other))

    def __radd__(self, other: int) -> Binary:
        return Binary("+", Const(other), _expr(self))

    def __sub__(self, other: Expr | int) -> Binary:
        return Binary("-", _expr(self), _expr(other))

    def __rsub__(self, other: int) -> Binary:
        return Binary("-", Const(other), _expr(self))

    def __mul__(self, other: Expr | int) -> Binary:
        return Binary("*", _expr(self), _expr(other))

    def __rmul__(self, other: int) -> Binary:
        return Binary("*", Const(other), _expr(self))

    def __floordiv__(self, other: Expr | int) -> Binary:
        return Binary("//", _expr(self), _expr(other))

    def __rfloordiv__(self, other: int) -> Binary:
        return Binary("//", Const(other), _expr(self))

    def __mod__(self, other: Expr | int) -> Binary:
        return Binary("%", _expr(self), _expr(other))

    def __and__(self, other: Expr | int) -> Binary:
        return Binary("&", _expr(self), _expr(other))

    def __xor__(self, other: Expr | int) -> Binary:
        return Binary("^", _expr(self), _expr(other))

    def __lshift__(self, other: Expr | int) -> Binary:
        return Binary("<<", _expr(self), _expr(other))

    def __rlshift__(self, other: int) -> Binary:
        return Binary("<<", Const(other), _expr(self))

    def __rshift__(self, other: Expr | int) -> Binary:
        return Binary(">>", _expr(self), _expr(other))

    def __neg__(self) -> Binary:
        return Binary("*", Const(-1), _expr(self))


def _expr(operand: Any) -> Expr:
    if isinstance(operand, Arithmetic):
        return operand  # type: ignore[return-value]
    if type(operand) is int:
        return Const(operand)
    raise TypeError(f"{operand!r} is no expression and no integer")


class _Hashed(_Shown):
    """Remembers its hash, limits and length: expressions hold expressions, the same one many times over."""

    __slots__ = ("_bounds", "_hash", "_length", "_linear")
    _hash: int
    _linear: tuple[int, dict[Expr, int]]
    _bounds: tuple[int, int] | None
    _length: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            names: tuple[str, ...] = type(self).__slots__
            result = hash((type(self).__name__, *(getattr(self, name) for name in names)))
            object.__setattr__(self, "_hash", result)
            return result


@dataclass(frozen=True, slots=True)
class Const(_Shown, Arithmetic):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Var(_Shown, Arithmetic):
    """A variable from `least` to below `limit` (None: unknown)."""

    name: str
    limit: int | None = None
    least: int = 0


@dataclass(frozen=True, slots=True)
class Element(_Hashed, Arithmetic):
    """An entry of an array that is known at run time only."""

    array: str
    index: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Binary(_Hashed, Arithmetic):
    """`+ - * // % ^ & << >>`; `/` is `//` of numbers that are not negative.

    `//` and `%` are floored. Shift amounts are clipped to 0..62.
    """

    op: str
    left: Expr
    right: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Choose(_Hashed, Arithmetic):
    """One of two values."""

    cond: Cond
    then: Expr
    otherwise: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Item(_Hashed, Arithmetic):
    """An entry of a static table."""

    table: tuple[int, ...]
    index: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Search(_Hashed, Arithmetic):
    """How many entries of an ascending static table are at most an index: in which piece the index is.

    The table has the first index of each piece but the first one.
    """

    table: tuple[int, ...]
    index: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Called(_Hashed, Arithmetic):
    """A function of integers, by its name in `scalatrace.formula.functions`."""

    name: str
    arguments: tuple[Expr, ...]
    __hash__ = _Hashed.__hash__


Expr = Const | Var | Element | Binary | Choose | Item | Search | Called


@dataclass(frozen=True, slots=True)
class Special(_Shown):
    """A named symbol that is no number, such as MPI_PROC_NULL."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(_Hashed):
    """One of two values, at least one of which is no number."""

    cond: Cond
    then: Value
    otherwise: Value
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Lookup(_Hashed):
    """An entry of a static table, some of whose entries are no numbers."""

    table: tuple[int | Special, ...]
    index: Expr
    __hash__ = _Hashed.__hash__


Symbolic = Special | Select | Lookup
Value = Expr | Symbolic


@dataclass(frozen=True, slots=True)
class Truth(_Shown):
    """True or false, always."""

    value: bool


@dataclass(frozen=True, slots=True)
class Compare(_Hashed):
    """`== != < >=` and so on."""

    op: str
    left: Expr
    right: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class AllOf(_Hashed):
    """Each of several conditions."""

    parts: tuple[Cond, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class AnyOf(_Hashed):
    """At least one of several conditions."""

    parts: tuple[Cond, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Member(_Hashed):
    """Whether a value is one of a set (or, `outside`, none of it)."""

    expr: Expr
    values: tuple[int, ...]
    outside: bool = False
    __hash__ = _Hashed.__hash__


Cond = Truth | Compare | AllOf | AnyOf | Member
TRUE, FALSE = Truth(True), Truth(False)
