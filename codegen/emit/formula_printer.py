"""Expressions as text in C and Python: the printer of `scalatrace.formula` with what the programs define."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scalatrace.formula import Binary, Cond, Element, Expr, Special, Value, bounds
from scalatrace.formula.bounds import MAX_SHIFT
from scalatrace.formula.printing.base import ATOM, CHOICE, OR, PRODUCT, SUM, Printed, Printer

__all__ = ["Infix", "Notation"]

INT_MAX = 2**31 - 1

FUNCTIONS = {"log2": "log_2", "min": "smaller", "max": "larger"}
"""Names that the languages have otherwise."""


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


class Infix(Printer):
    """Prints expressions in C or Python.

    Attributes:
        table: gives the name of a static table.
        spelled: gives the text of an integer.
        named: gives the text of a constant of MPI.
        family: gives the text of the number of a communicator.
        helpers: pieces of the library that texts made so far need.
        renamed: variables that have another name in the text.
    """

    def __init__(
        self,
        notation: Notation,
        table: Callable[[tuple[int | Special, ...]], str],
        spelled: Callable[[int], str],
        named: Callable[[str], str],
        family: Callable[[Expr], str],
    ) -> None:
        super().__init__()
        self.notation, self.table, self.family = notation, table, family
        self.spelled, self.named = spelled, named
        self.helpers: set[str] = set()
        self.renamed: dict[str, str] = {}

    @property
    def conjunction(self) -> str:  # type: ignore[override]
        return self.notation.conjunction

    @property
    def disjunction(self) -> str:  # type: ignore[override]
        return self.notation.disjunction

    def variable(self, name: str) -> str:
        return self.renamed.get(name, name)

    def constant(self, number: int) -> Printed:
        text = self.spelled(number)
        return text, PRODUCT if text.startswith("-") else ATOM

    def special(self, name: str) -> str:
        return self.named(name)

    def element(self, array: str, index: Expr) -> str:
        return f"{array}[{self.family(index)}]"

    def item(self, table: tuple[int | Special, ...], index: Expr) -> str:
        return f"{self.table(table)}[{self.expr(index)}]"

    def search(self, table: tuple[int, ...], index: Expr) -> str:
        name = "search" if max(table) <= INT_MAX else "search_c"
        self.helpers.add(name)
        return f"{name}({self.table(table)}, {len(table)}, {self.expr(index)})"

    def call(self, name: str, arguments: Sequence[str]) -> str:
        name = FUNCTIONS.get(name, name)
        self.helpers.add(name)
        return f"{name}({', '.join(arguments)})"

    def choice(self, cond: Cond, then: Value, otherwise: Value) -> Printed:
        parts = (
            self.at(self.printed_condition(cond), OR),
            self.at(self.printed(then), OR),
            self.expr(otherwise),
        )
        return self.notation.choice(*parts), CHOICE

    def binary(self, op: str, left: Expr, right: Expr) -> Printed:
        if op in ("<<", ">>") and not (_is_shift(right) and _is_natural(left)):
            name = "shift_left" if op == "<<" else "shift_right"
            self.helpers.add(name)
            return f"{name}({self.expr(left)}, {self.expr(right)})", ATOM
        if op in ("^", "&", "<<", ">>"):
            return f"({self.at(self.printed(left), ATOM)} {op} {self.at(self.printed(right), ATOM)})", ATOM
        negative = not (self.notation.floored or (_is_natural(left) and _is_natural(right)))
        if op == "%" and negative:
            self.helpers.add("mod")
            return f"mod({self.expr(left)}, {self.expr(right)})", ATOM
        if op == "//" and negative:
            self.helpers.add("floored")
            return f"floored({self.expr(left)}, {self.expr(right)})", ATOM
        level = SUM if op in "+-" else PRODUCT
        sign = self.notation.quotient if op in ("/", "//") else op
        # The right side needs parentheses at the same level; so does a product that is not taken as a whole.
        text = self.at(self.printed(left), level)
        return f"{text} {sign} {self.at(self.printed(right), level + 1)}", level

    def member(self, e: Expr, values: tuple[int, ...], outside: bool) -> str:
        return self.notation.member(self.at(self.printed(e), SUM), values, outside)

    def truth(self, value: bool) -> str:
        return self.notation.truth[not value]


def _is_shift(amount: Expr) -> bool:
    """Whether an amount is known to be one that both languages can shift by."""
    limits = bounds(amount)
    return limits is not None and limits[0] >= 0 and limits[1] <= MAX_SHIFT


def _is_natural(e: Expr) -> bool:
    """Whether an expression is known to be never negative: entries of arrays are ranks and sizes."""
    match e:
        case Element():
            return True
        case Binary("+" | "*", a, b):
            return _is_natural(a) and _is_natural(b)
    limits = bounds(e)
    return limits is not None and limits[0] >= 0
