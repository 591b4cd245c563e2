"""Evaluate expressions for integers: each is compiled to a Python function once.

Every sum, product, quotient and shift is checked against 64 bits, as generated programs and arrays have them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from scalatrace.errors import FormulaError, UsageError
from scalatrace.formula import nodes
from scalatrace.formula.bounds import MAX_SHIFT
from scalatrace.formula.functions import FUNCTIONS

__all__ = ["called", "compiled", "exceeds"]

MAX_BLOCKS = 90
"""Choices within each other; Python compiles no more than 100 levels of blocks."""

Arrays = Mapping[str, Sequence[int]]
Evaluate = Callable[[Mapping[str, int], Arrays, Mapping[str, int]], int]

_CHECKED = {"+": "+", "-": "-", "*": "*", "/": "//", "//": "//"}
_PLAIN = {"%": "%", "^": "^", "&": "&"}


def exceeds(value: int) -> None:
    """Raise FormulaError for an intermediate result that 64 bits cannot hold."""
    raise FormulaError(f"a value of {value.bit_length()} bits does not fit into 64 bits")


def called(name: str, arguments: Sequence[Any]) -> Any:
    """Return the value of a function. Raises FormulaError, ZeroDivisionError, or UsageError of a plug-in."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise FormulaError(f"no formula knows the function {name}: a plug-in's (--plugin)?")
    if len(arguments) != function.arity >= 0:
        raise FormulaError(f"the function {name} takes {function.arity} arguments, not {len(arguments)}")
    try:
        return function.scalar(*arguments)
    except (ArithmeticError, FormulaError):
        raise
    except Exception as error:  # whatever a plug-in's function does
        raise UsageError(f"the function {name} fails: {type(error).__name__}: {error}") from None


def _item(table: Sequence[int], index: int, name: str) -> int:
    if not 0 <= index < len(table):
        raise FormulaError(f"{name} has {len(table)} entries, none with index {index}")
    return int(table[index])


def _entry(table: Sequence[int | nodes.Special], index: int, specials: Mapping[str, int]) -> int:
    numbers = [specials[value.name] if isinstance(value, nodes.Special) else value for value in table]
    return _item(numbers, index, "a table")


@lru_cache(maxsize=1 << 16)
def compiled(value: nodes.Value | nodes.Cond) -> Evaluate:
    """Return the function of an expression or condition: (names, arrays, specials) -> int.

    It raises KeyError for an unknown name, ZeroDivisionError, and FormulaError.
    """
    writer = _Writer()
    result = writer.value(value) if not isinstance(value, nodes.Cond) else writer.truth(value)
    lines = "\n".join(writer.lines)
    source = f"def evaluate(names, arrays, specials):\n{lines}\n    return {result}\n"
    scope: dict[str, Any] = {
        "bisect_right": bisect_right,
        "called": called,
        "exceeds": exceeds,
        "entry": _entry,
        "item": _item,
        "tables": writer.tables,
    }
    exec(compile(source, "<formula>", "exec"), scope)  # of nodes only: no text of a file gets here
    function: Evaluate = scope["evaluate"]
    return function


class _Writer:
    """Writer of the body of a function: a statement per node, choices as branches.

    Attributes:
        lines: the statements so far.
        tables: constants that statements refer to by number.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tables: list[Any] = []
        self._known: dict[int, tuple[Any, str]] = {}  # node -> variable that holds its value here
        self._count, self._depth = 0, 1

    def value(self, value: nodes.Value) -> str:
        """Return the text of a value: a literal or a variable."""
        if isinstance(value, nodes.Const):
            return f"({value.value})"
        entry = self._known.get(id(value))
        if entry is None:
            entry = value, self._compute(value)
            self._known[id(value)] = entry
        return entry[1]

    def truth(self, cond: nodes.Cond) -> str:
        """Return the text of a condition: a literal or a variable."""
        match cond:
            case nodes.Truth(value):
                return str(int(value))
            case nodes.Compare(op, a, b):
                return self._assign_name(f"{self.value(a)} {op} {self.value(b)}")
            case nodes.Member(e, values, outside):
                table = self._table(frozenset(values))
                return self._assign_name(f"{self.value(e)} {'not in' if outside else 'in'} {table}")
            case nodes.AllOf(parts):
                return self._join_conditions(parts, "if {}:")
            case nodes.AnyOf(parts):
                return self._join_conditions(parts, "if not {}:")

    def _join_conditions(self, parts: Sequence[nodes.Cond], undecided: str) -> str:
        """Evaluate parts until one decides: later ones may have no value."""
        first, *later = parts
        result = self._fresh()
        self._line(f"{result} = {self.truth(first)}")
        before = dict(self._known)
        for part in later:
            self._line(undecided.format(result))
            self._deeper()
            self._line(f"{result} = {self.truth(part)}")
            self._depth -= 1
            self._known = dict(before)
        return result

    def _compute(self, value: nodes.Value) -> str:
        match value:
            case nodes.Var(name):
                return self._assign_name(f"names[{name!r}]")
            case nodes.Special(name):
                return self._assign_name(f"specials[{name!r}]")
            case nodes.Element(array, index):
                return self._assign_name(f"item(arrays[{array!r}], {self.value(index)}, {array!r})")
            case nodes.Item(table, index):
                return self._assign_name(f"item({self._table(table)}, {self.value(index)}, 'a table')")
            case nodes.Search(table, index):
                return self._assign_name(f"bisect_right({self._table(table)}, {self.value(index)})")
            case nodes.Lookup(table, index):
                return self._assign_name(f"entry({self._table(table)}, {self.value(index)}, specials)")
            case nodes.Called(name, arguments):
                values = ", ".join(map(self.value, arguments))
                return self._check_range(f"called({name!r}, [{values}])")
            case nodes.Choose(cond, a, b) | nodes.Select(cond, a, b):
                return self._chosen(cond, a, b)
            case nodes.Binary(op, a, b):
                return self._binary(op, self.value(a), self.value(b))
        raise AssertionError(value)

    def _binary(self, op: str, a: str, b: str) -> str:
        if op in _PLAIN:
            return self._assign_name(f"{a} {_PLAIN[op]} {b}")
        if op in _CHECKED:
            return self._check_range(f"{a} {_CHECKED[op]} {b}")
        amount = f"min(max({b}, 0), {MAX_SHIFT})"
        return self._check_range(f"{a} << {amount}") if op == "<<" else self._assign_name(f"{a} >> {amount}")

    def _chosen(self, cond: nodes.Cond, a: nodes.Value, b: nodes.Value) -> str:
        truth = self.truth(cond)
        result = self._fresh()
        before = dict(self._known)
        for line, branch in ((f"if {truth}:", a), ("else:", b)):
            self._line(line)
            self._deeper()
            self._line(f"{result} = {self.value(branch)}")
            self._depth -= 1
            self._known = dict(before)
        return result

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_BLOCKS:
            raise FormulaError(f"a formula has more than {MAX_BLOCKS} choices within each other")

    def _check_range(self, text: str) -> str:
        result = self._assign_name(text)
        self._line(f"if not -9223372036854775808 <= {result} <= 9223372036854775807: exceeds({result})")
        return result

    def _assign_name(self, text: str) -> str:
        result = self._fresh()
        self._line(f"{result} = {text}")
        return result

    def _table(self, table: Any) -> str:
        self.tables.append(table)
        return f"tables[{len(self.tables) - 1}]"

    def _fresh(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)
