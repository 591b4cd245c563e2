"""Expressions as text, for languages that write them as C or Python do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scalatrace.codegen.expr import (
    AllOf,
    AnyOf,
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Member,
    Own,
    Size,
    Truth,
    Var,
    bounds,
)

__all__ = ["Infix", "Notation"]

FUNCTIONS = {"log2": "log_2", "min": "smaller", "max": "larger"}
"""Names that the languages have otherwise."""

CHOOSE, OR, AND, COMPARE, SUM, PRODUCT, ATOM = range(7)


@dataclass(frozen=True)
class Notation:
    """What differs between the languages.

    Attributes:
        conjunction, disjunction: "&&", "or".
        quotient: integer division.
        choice: (condition, then, otherwise) -> text.
        member: (value, name of the set, its values, outside) -> text.
        truth: of always and never.
        floored: whether `%` of a negative number is not negative.
    """

    conjunction: str
    disjunction: str
    quotient: str
    choice: Callable[[str, str, str], str]
    member: Callable[[str, tuple[int, ...], bool], str]
    truth: tuple[str, str]
    floored: bool


class Infix:
    """Turns expressions into text.

    Attributes:
        table: gives the name of a static table.
        constant: spells an integer.
        family: spells the number of a communicator.
        helpers: pieces of the library that texts made so far need.
        renamed: variables that have another name in the text.
    """

    def __init__(
        self,
        notation: Notation,
        table: Callable[[tuple[int, ...]], str],
        constant: Callable[[int], str],
        family: Callable[[Expr], str],
    ) -> None:
        self.notation, self.table, self.constant, self.family = notation, table, constant, family
        self.helpers: set[str] = set()
        self.renamed: dict[str, str] = {}
        self._texts: dict[int, tuple[Expr, tuple[str, int]]] = {}

    def expr(self, e: Expr) -> str:
        """The text of an expression, without parentheses around it."""
        return self._expr(e)[0]

    def cond(self, cond: Cond) -> str:
        """The text of a condition."""
        return self._cond(cond)[0]

    def _expr(self, e: Expr) -> tuple[str, int]:
        if isinstance(e, Const | Var):
            return self._text_of(e)
        if id(e) not in self._texts:  # one object stands in many places, itself long
            self._texts[id(e)] = e, self._text_of(e)
        return self._texts[id(e)][1]

    def _text_of(self, e: Expr) -> tuple[str, int]:
        match e:
            case Const(value):
                text = self.constant(value)
                return text, ATOM if not text.startswith("-") else PRODUCT
            case Var(name):
                return self.renamed.get(name, name), ATOM
            case Own(family):
                return f"own[{self.family(family)}]", ATOM
            case Size(family):
                return f"size[{self.family(family)}]", ATOM
            case Item(table, index):
                return f"{self.table(table)}[{self.expr(index)}]", ATOM
            case Choose(cond, a, b):
                parts = (self._at(self._cond(cond), OR), self._at(self._expr(a), OR), self._expr(b)[0])
                return self.notation.choice(*parts), CHOOSE
            case Called(name, arguments):
                name = FUNCTIONS.get(name, name)
                self.helpers.add(name)
                return f"{name}({', '.join(map(self.expr, arguments))})", ATOM
            case Binary(op, a, b):
                return self._binary(op, a, b)

    def _binary(self, op: str, a: Expr, b: Expr) -> tuple[str, int]:
        if op in ("^", "&", "<<", ">>"):
            return f"({self._at(self._expr(a), ATOM)} {op} {self._at(self._expr(b), ATOM)})", ATOM
        low = bounds(a)
        if op == "%" and not self.notation.floored and not (low and low[0] >= 0) and not _own_sum(a):
            self.helpers.add("mod")
            return f"mod({self.expr(a)}, {self.expr(b)})", ATOM
        if op == "//" and not self.notation.floored and not (low and low[0] >= 0):
            self.helpers.add("floored")
            return f"floored({self.expr(a)}, {self.expr(b)})", ATOM
        level = SUM if op in "+-" else PRODUCT
        sign = self.notation.quotient if op in ("/", "//") else op
        # The right side needs parentheses at the same level; so does a product that is not taken as a whole.
        left = self._at(self._expr(a), level)
        return f"{left} {sign} {self._at(self._expr(b), level + 1)}", level

    def _cond(self, cond: Cond) -> tuple[str, int]:
        match cond:
            case Truth(value):
                return self.notation.truth[not value], ATOM
            case Compare(op, a, b):
                return f"{self._at(self._expr(a), SUM)} {op} {self._at(self._expr(b), SUM)}", COMPARE
            case AllOf(parts):
                return f" {self.notation.conjunction} ".join(
                    self._at(self._cond(p), COMPARE) for p in parts
                ), AND
            case AnyOf(parts):
                return f" {self.notation.disjunction} ".join(
                    self._at(self._cond(p), COMPARE) for p in parts
                ), OR
            case Member(e, values, outside):
                if len(values) <= 3:
                    return self._comparisons(e, values, outside)
                return self.notation.member(self.expr(e), values, outside), COMPARE

    def _comparisons(self, e: Expr, values: tuple[int, ...], outside: bool) -> tuple[str, int]:
        op = "!=" if outside else "=="
        parts = tuple(Compare(op, e, Const(value)) for value in values)
        return self._cond(AllOf(parts) if outside else AnyOf(parts))

    @staticmethod
    def _at(part: tuple[str, int], level: int) -> str:
        text, own = part
        return text if own >= level else f"({text})"


def _own_sum(e: Expr) -> bool:
    """Whether an expression adds up what is not negative."""
    match e:
        case Own() | Size():
            return True
        case Binary("+" | "*", a, b):
            return _own_sum(a) and _own_sum(b)
    low = bounds(e)
    return low is not None and low[0] >= 0
