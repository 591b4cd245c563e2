r"""Expressions in LaTeX, for notebooks: `\left\lfloor \frac{n}{X} \right\rfloor + x`."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.formula.nodes import Cond, Const, Expr, Special, Value, show_with
from scalatrace.formula.printing.base import ATOM, COMPARISON, PRODUCT, SUM, Printed, Printer

__all__ = ["escape_name", "latex"]

_RELATIONS = {"==": "=", "!=": r"\neq", "<": "<", "<=": r"\leq", ">": ">", ">=": r"\geq"}
_BITS = {"^": r"\oplus", "&": r"\mathbin{\&}", "<<": r"\ll", ">>": r"\gg"}
_CALLS = {
    "log2": r"\left\lfloor \log_2 {} \right\rfloor",
    "ceil_log2": r"\left\lceil \log_2 {} \right\rceil",
    "min": r"\min\left({}\right)",
    "max": r"\max\left({}\right)",
}


def latex(value: Value | Cond) -> str:
    """Return an expression or condition in LaTeX, without dollar signs."""
    printer = _LatexPrinter()
    return printer.cond(value) if isinstance(value, Cond) else printer.expr(value)


class _LatexPrinter(Printer):
    conjunction, disjunction = r"\land", r"\lor"

    def variable(self, name: str) -> str:
        return name if len(name) == 1 else rf"\mathit{{{escape_name(name)}}}"

    def special(self, name: str) -> str:
        return rf"\mathtt{{{escape_name(name)}}}"

    def element(self, array: str, index: Expr) -> str:
        return rf"\mathit{{{escape_name(array)}}}_{{{self.expr(index)}}}"

    def item(self, table: tuple[int | Special, ...], index: Expr) -> str:
        return rf"\left({', '.join(map(self.entry, table))}\right)_{{{self.expr(index)}}}"

    def call(self, name: str, arguments: Sequence[str]) -> str:
        form = _CALLS.get(name, rf"\operatorname{{{escape_name(name)}}}\left({{}}\right)")
        return form.replace("{}", ", ".join(arguments))

    def choice(self, cond: Cond, then: Value, otherwise: Value) -> Printed:
        if (then, otherwise) == (Const(1), Const(0)):
            return rf"\left[{self.cond(cond)}\right]", ATOM  # Iverson's bracket
        rows = rf"{self.expr(then)} & {self.cond(cond)} \\ {self.expr(otherwise)} & \text{{otherwise}}"
        return rf"\begin{{cases}} {rows} \end{{cases}}", ATOM

    def binary(self, op: str, left: Expr, right: Expr) -> Printed:
        if op in ("/", "//"):
            fraction = rf"\frac{{{self.expr(left)}}}{{{self.expr(right)}}}"
            return rf"\left\lfloor {fraction} \right\rfloor", ATOM
        if op == "*" and left == Const(-1):
            return f"-{self.at(self.printed(right), PRODUCT)}", PRODUCT
        if op in ("*", "%"):
            sign = r"\cdot" if op == "*" else r"\bmod"
            return (
                f"{self.at(self.printed(left), PRODUCT)} {sign} {self.at(self.printed(right), ATOM)}",
                PRODUCT,
            )
        if op in _BITS:
            sides = self.at(self.printed(left), ATOM), self.at(self.printed(right), ATOM)
            return f"{sides[0]} {_BITS[op]} {sides[1]}", COMPARISON
        return f"{self.at(self.printed(left), SUM)} {op} {self.at(self.printed(right), PRODUCT)}", SUM

    def comparison(self, op: str, left: str, right: str) -> str:
        return f"{left} {_RELATIONS[op]} {right}"

    def member(self, e: Expr, values: tuple[int, ...], outside: bool) -> str:
        sign = r"\notin" if outside else r"\in"
        text = self.at(self.printed(e), SUM)
        return rf"{text} {sign} \left\{{{', '.join(map(str, values))}\right\}}"

    def truth(self, value: bool) -> str:
        return rf"\mathrm{{{str(value).lower()}}}"


def escape_name(name: str) -> str:
    """Return a name with `_` escaped."""
    return name.replace("_", r"\_")


show_with(latex)
