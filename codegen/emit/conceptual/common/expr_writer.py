"""Translate expressions, conditions and sets of ranks to coNCePTuaL's tree."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.conditions import RANK
from scalatrace.formula import (
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
    Search,
    Truth,
    Var,
)
from scalatrace.trace.values.vec import is_symbol

__all__ = [
    "MAX_ALTERNATIVES", "cond", "expr", "integer", "numbers", "range_to", "tasks_with", "total",
    "without",
]  # fmt: skip

MAX_ALTERNATIVES = 64
"""Alternatives in a chain of conditions for a table; a longer table becomes a tree of conditions."""

MAX_ENTRIES = 1 << 12
"""Entries of a table that becomes a tree of conditions."""

MAX_WRITTEN = 1 << 14
_written: dict[tuple[Expr, str], t.Expr] = {}
"""Expressions that were translated, so that passes over the tree find the same node again."""

OPERATORS = {"^": "XOR", "%": "MOD"} | {op: op for op in ("+", "-", "*", "/", "&", "<<", ">>")}
RELATIONS = {"==": "=", "!=": "<>"} | {op: op for op in ("<", ">", "<=", ">=")}
NO_TASK = t.Unary("-", t.Integer(1))
"""A task that does not exist: messages to it and from it are not sent."""


def integer(value: int) -> t.Expr:
    """Return the literal of an integer."""
    return t.Integer(value) if value >= 0 else t.Unary("-", t.Integer(-value))


def range_to(last: t.Expr) -> t.Range:
    """Return the range {0, ..., last}."""
    if last in (t.Integer(0), t.Integer(1)):
        return numbers(range(last.value + 1)) if isinstance(last, t.Integer) else t.Listing((last,))
    return t.OpenRange((t.Integer(0),), last)


def numbers(values: Sequence[int]) -> t.Range:
    """Return a range of ascending integers."""
    if len(values) > 2 and values[-1] - values[0] + 1 == len(values):
        return t.OpenRange((integer(values[0]),), integer(values[-1]))
    return t.Listing(tuple(map(integer, values)))


def total(terms: Sequence[t.Expr]) -> t.Expr:
    """Return the sum of terms."""
    written, *addends = terms
    for term in addends:
        written = t.BinaryOperation("+", written, term)
    return written


def expr(e: Expr, task: str = "t") -> t.Expr:
    """Translate an expression; `task` is the variable for the rank. Equal expressions are one node."""
    key = e, task
    if key in _written:
        return _written[key]
    written: t.Expr
    match e:
        case Const(value):
            written = NO_TASK if is_symbol(value) else integer(value)
        case Var(name):
            written = t.Variable(task if name == RANK else name)
        case Called(name, arguments):
            written = t.FunctionCall(name.upper(), tuple(expr(a, task) for a in arguments))
        case Binary(op, a, b) if op in OPERATORS:
            written = t.BinaryOperation(OPERATORS[op], expr(a, task), expr(b, task))
        case Choose(c, a, b):
            written = t.Conditional(expr(a, task), cond(c, task), expr(b, task))
        case Item(table, Search(starts, index)):
            if len(table) > MAX_ENTRIES:
                raise GenerateError(f"{len(table)} pieces of values follow no formula (limit {MAX_ENTRIES})")
            written = _pieces(table, (0, *starts), expr(index, task))
        case Item(table, index):
            written = _table(table, expr(index, task))
        case _:
            raise GenerateError(f"no expression of the language means {e}")
    if len(_written) >= MAX_WRITTEN:
        _written.clear()
    _written[key] = written
    return written


def _table(table: tuple[int, ...], index: t.Expr) -> t.Expr:
    """Return a table as conditions on its index: equal values together, the most frequent one last."""
    places: dict[int, list[int]] = {}
    for i, value in enumerate(table):
        places.setdefault(value, []).append(i)
    *rarer, last = sorted(places, key=lambda value: len(places[value]))
    if len(rarer) > MAX_ALTERNATIVES:
        if len(table) > MAX_ENTRIES:
            raise GenerateError(
                f"{len(table)} values ({len(places)} different) follow no formula (limit {MAX_ENTRIES})"
            )
        return _pieces(table, range(len(table)), index)
    written = expr(Const(last))
    for value in reversed(rarer):
        written = t.Conditional(expr(Const(value)), _is_in(index, places[value]), written)
    return written


def _pieces(values: tuple[int, ...], starts: Sequence[int], index: t.Expr) -> t.Expr:
    """Return the values of pieces, each from its start on, as conditions that halve them."""
    if len(set(values)) == 1:
        return expr(Const(values[0]))
    middle = len(values) // 2
    lower, upper = (
        _pieces(values[half], starts[half], index) for half in (slice(middle), slice(middle, None))
    )
    return t.Conditional(lower, t.NumberComparison("<", index, integer(starts[middle])), upper)


def _is_in(e: t.Expr, values: Sequence[int], negated: bool = False) -> t.Rel:
    if len(values) == 1:
        return t.NumberComparison("<>" if negated else "=", e, integer(values[0]))
    return t.Within(e, (numbers(values),), negated)


def cond(c: Cond, task: str = "t") -> t.Rel:
    """Translate a condition; `task` is the variable for the rank."""
    match c:
        case Truth(value):
            return t.NumberComparison("=", t.Integer(0), t.Integer(0 if value else 1))
        case Compare("==", Binary("%", Var() as a, Const(m)), Const(0)):
            return t.NumberComparison("DIVIDES", integer(m), expr(a, task))
        case Compare(op, a, b):
            return t.NumberComparison(RELATIONS[op], expr(a, task), expr(b, task))
        case AllOf(parts) | AnyOf(parts):
            written, *operands = (cond(part, task) for part in parts)
            for operand in operands:
                written = t.Logical(isinstance(c, AllOf), written, operand)
            return written
        case Member(e, values, outside):
            return _is_in(expr(e, task), values, outside)


def tasks_with(
    condition: t.Rel | None, task: str = "t", named: bool = True, target: bool = False
) -> t.AllTasks | t.SuchThat:
    """Return the tasks that meet a condition, or (None) all.

    Args:
        named: the rest of the statement uses the variable.
        target: the receiving side, which ALL TASKS cannot be.
    """
    if condition is not None:
        return t.SuchThat(task, condition)
    if target:
        return t.SuchThat(task, t.NumberComparison(">=", t.Variable(task), t.Integer(0)))
    return t.AllTasks(task if named else None)


def without(tasks: t.Tasks, task: t.Expr) -> t.Tasks:
    """Return tasks without one of them."""
    match tasks:
        case t.SuchThat(variable, condition):
            return t.SuchThat(
                variable, t.Logical(True, condition, t.NumberComparison("<>", t.Variable(variable), task))
            )
        case t.AllOthers():
            return t.SuchThat("u", t.NumberComparison("<>", t.Variable("u"), task))
    return tasks
