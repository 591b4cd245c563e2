"""The base of all printers of expressions: precedence and shared parts; languages override hooks."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.formula import nodes

__all__ = ["AND", "ATOM", "CHOICE", "COMPARISON", "OR", "PRODUCT", "SUM", "Printed", "Printer"]

CHOICE, OR, AND, COMPARISON, SUM, PRODUCT, ATOM = range(7)
"""Levels of precedence, the loosest first."""

Printed = tuple[str, int]
"""A text and its level."""

MAX_WRITTEN_MEMBERS = 3
"""Members of a set that are compared one by one."""


class Printer:
    """Printer of expressions and conditions.

    Subclasses define the hooks, which take and give texts with their levels. One expression object often
    stands in many places: its text is kept.

    Attributes:
        variant: one of two ways to write constants; texts are kept for each.
    """

    conjunction, disjunction = "&&", "||"

    def __init__(self) -> None:
        self._texts: dict[tuple[int, bool], tuple[nodes.Value, Printed]] = {}
        self.variant = False

    def expr(self, value: nodes.Value) -> str:
        """Return the text of a value, without parentheses around it."""
        return self.printed(value)[0]

    def cond(self, cond: nodes.Cond) -> str:
        """Return the text of a condition, without parentheses around it."""
        return self.printed_condition(cond)[0]

    def printed(self, value: nodes.Value) -> Printed:
        """Return the text of a value and its level."""
        if isinstance(value, nodes.Const | nodes.Var):
            return self._print_value(value)
        key = id(value), self.variant
        if key not in self._texts:
            self._texts[key] = value, self._print_value(value)
        return self._texts[key][1]

    def _print_value(self, value: nodes.Value) -> Printed:
        match value:
            case nodes.Const(number):
                return self.constant(number)
            case nodes.Var(name):
                return self.variable(name), ATOM
            case nodes.Special(name):
                return self.special(name), ATOM
            case nodes.Element(array, index):
                return self.element(array, index), ATOM
            case nodes.Item(table, index) | nodes.Lookup(table, index):
                return self.item(table, index), ATOM
            case nodes.Search(table, index):
                return self.search(table, index), ATOM
            case nodes.Called(name, arguments):
                return self.call(name, [self.expr(argument) for argument in arguments]), ATOM
            case nodes.Choose(cond, a, b) | nodes.Select(cond, a, b):
                return self.choice(cond, a, b)
            case nodes.Binary(op, a, b):
                return self.binary(op, a, b)

    def printed_condition(self, cond: nodes.Cond) -> Printed:
        """Return the text of a condition and its level."""
        match cond:
            case nodes.Truth(value):
                return self.truth(value), ATOM
            case nodes.Compare(op, a, b):
                sides = self.at(self.printed(a), SUM), self.at(self.printed(b), SUM)
                return self.comparison(op, *sides), COMPARISON
            case nodes.AllOf(parts):
                return self.joined(self.conjunction, parts, COMPARISON), AND
            case nodes.AnyOf(parts):
                return self.joined(self.disjunction, parts, COMPARISON), OR
            case nodes.Member(e, values, outside):
                distinct = tuple(dict.fromkeys(values))
                if len(distinct) <= MAX_WRITTEN_MEMBERS:
                    op = "!=" if outside else "=="
                    one_by_one = tuple(nodes.Compare(op, e, nodes.Const(value)) for value in distinct)
                    if len(distinct) == 1:
                        return self.printed_condition(one_by_one[0])
                    return self.printed_condition(
                        nodes.AllOf(one_by_one) if outside else nodes.AnyOf(one_by_one)
                    )
                return self.member(e, values, outside), COMPARISON

    def joined(self, word: str, parts: Sequence[nodes.Cond], level: int) -> str:
        """Return conditions with a word between them."""
        return f" {word} ".join(self.at(self.printed_condition(part), level) for part in parts)

    @staticmethod
    def at(printed: Printed, level: int) -> str:
        """Return a text, in parentheses where its level is lower than this."""
        text, precedence = printed
        return text if precedence >= level else f"({text})"

    # What languages define.

    def constant(self, number: int) -> Printed:
        """Return an integer; a negative one binds like a product."""
        return str(number), ATOM if number >= 0 else PRODUCT

    def variable(self, name: str) -> str:
        """Return a variable."""
        return name

    def special(self, name: str) -> str:
        """Return a symbol that is no number."""
        return name

    def element(self, array: str, index: nodes.Expr) -> str:
        """Return an entry of an array."""
        return f"{array}[{self.expr(index)}]"

    def item(self, table: tuple[int | nodes.Special, ...], index: nodes.Expr) -> str:
        """Return an entry of a static table."""
        raise NotImplementedError

    def search(self, table: tuple[int, ...], index: nodes.Expr) -> str:
        """Return the number of entries of a static table that are at most an index."""
        return f"search({self.expr(index)},{','.join(map(str, table))})"

    def entry(self, entry: int | nodes.Special) -> str:
        """Return a number or symbol of a static table."""
        return self.special(entry.name) if isinstance(entry, nodes.Special) else self.constant(entry)[0]

    def call(self, name: str, arguments: Sequence[str]) -> str:
        """Return a call of a function."""
        return f"{name}({', '.join(arguments)})"

    def choice(self, cond: nodes.Cond, then: nodes.Value, otherwise: nodes.Value) -> Printed:
        """Return one of two values."""
        raise NotImplementedError

    def binary(self, op: str, left: nodes.Expr, right: nodes.Expr) -> Printed:
        """Return a sum, product, quotient, remainder or bit operation."""
        raise NotImplementedError

    def comparison(self, op: str, left: str, right: str) -> str:
        """Return a comparison."""
        return f"{left} {op} {right}"

    def member(self, e: nodes.Expr, values: tuple[int, ...], outside: bool) -> str:
        """Return whether a value is one of a set, or outside it."""
        raise NotImplementedError

    def truth(self, value: bool) -> str:
        """Return a constant condition."""
        return str(int(value))
