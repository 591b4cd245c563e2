"""The notation of trace files, which `scalatrace.formula.parse` reads back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from scalatrace.formula.nodes import AllOf, Compare, Cond, Const, Expr, Special, Value
from scalatrace.formula.printing.base import ATOM, PRODUCT, SUM, Printed, Printer

__all__ = ["format_text"]

NONE: Mapping[str, int] = MappingProxyType({})


def format_text(value: Value | Cond, specials: Mapping[str, int] = NONE) -> str:
    """Return the text of an expression or condition in a trace file.

    Args:
        specials: symbols that are written as integers; others are written by name.
    """
    printer = _TextPrinter(specials)
    return printer.cond(value) if isinstance(value, Cond) else printer.expr(value)


class _TextPrinter(Printer):
    """Printer in Python's notation without spaces; conditions are numbers: products, sums of conditions."""

    conjunction, disjunction = "*", "+"

    def __init__(self, specials: Mapping[str, int]) -> None:
        super().__init__()
        self._specials = specials

    def special(self, name: str) -> str:
        return str(self._specials[name]) if name in self._specials else name

    def item(self, table: tuple[int | Special, ...], index: Expr) -> str:
        entries = ",".join(map(self.entry, table))
        return f"item({self.expr(index)},{entries})"

    def call(self, name: str, arguments: Sequence[str]) -> str:
        return f"{name}({','.join(arguments)})"

    def choice(self, cond: Cond, then: Value, otherwise: Value) -> Printed:
        if (then, otherwise) == (Const(1), Const(0)) and _is_number(cond):
            return f"({self.cond(cond)})", ATOM
        return f"choose({self.cond(cond)},{self.expr(then)},{self.expr(otherwise)})", ATOM

    def binary(self, op: str, left: Expr, right: Expr) -> Printed:
        if op in ("^", "&", "<<", ">>"):
            return f"({self.at(self.printed(left), SUM)}{op}{self.at(self.printed(right), SUM)})", ATOM
        if op == "*" and left == Const(-1):
            return f"-{self.at(self.printed(right), ATOM)}", PRODUCT
        level = SUM if op in "+-" else PRODUCT
        sign = "//" if op == "/" else op
        right_text = self.at(self.printed(right), level + 1)
        return f"{self.at(self.printed(left), level)}{sign}{right_text}", level

    def joined(self, word: str, parts: Sequence[Cond], level: int) -> str:
        return word.join(f"({self.cond(part)})" for part in parts)

    def comparison(self, op: str, left: str, right: str) -> str:
        return f"{left}{op}{right}"

    def member(self, e: Expr, values: tuple[int, ...], outside: bool) -> str:
        op, word = ("!=", "*") if outside else ("==", "+")
        text = self.at(self.printed(e), SUM)
        compared = [f"{text}{op}{value}" for value in dict.fromkeys(values)]
        return compared[0] if len(compared) == 1 else word.join(f"({comparison})" for comparison in compared)


def _is_number(cond: Cond) -> bool:
    """Return whether the text of a condition, read as a number, is 1 or 0: no sum of comparisons is in it."""
    return isinstance(cond, Compare) or (isinstance(cond, AllOf) and all(map(_is_number, cond.parts)))
