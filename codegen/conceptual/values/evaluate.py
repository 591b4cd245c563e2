"""Evaluate expressions, relations and ranges for one task at one moment; read numbers from files of data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace
from scalatrace.codegen.conceptual.values.draws import Draws
from scalatrace.codegen.conceptual.values.functions import integer_function, real_function
from scalatrace.codegen.conceptual.values.operators import (
    UndefinedError,
    fit,
    integer_operator,
    modulo,
    progression,
    real_operator,
    round_half_away,
    truncate,
)
from scalatrace.codegen.conceptual.values.places import mesh_coordinate, mesh_distance, mesh_neighbor

__all__ = ["Env", "holds", "integer", "real", "values"]


@dataclass(frozen=True)
class Env:
    """What expressions can refer to.

    Attributes:
        names: variables and their values.
        tasks: num_tasks.
        counter: value of a predeclared variable other than num_tasks.
        draws: where random numbers come from, None where there are none.
        processors: processor of each task.
        me: MY TASK.
        groups: tasks of the groups that LET binds.
    """

    names: Mapping[str, int] = field(default_factory=dict)
    tasks: int = 1
    counter: Callable[[str], int] = lambda name: 0
    draws: Draws | None = None
    processors: Sequence[int] = ()
    me: int = 0
    groups: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def bind(self, name: str | None, value: int) -> Env:
        """Return this with one more variable."""
        if name is None:
            return self
        names = {**self.names, name: value}  # `replace` takes three times as long
        return Env(names, self.tasks, self.counter, self.draws, self.processors, self.me, self.groups)

    def bind_group(self, name: str, tasks: Sequence[int]) -> Env:
        """Return this with one more task group."""
        return replace(self, groups={**self.groups, name: tasks})

    def variable(self, name: str) -> int:
        """Return the value of a variable."""
        if name in self.names:
            return self.names[name]
        return self.tasks if name == "num_tasks" else self.counter(name)


def _explain_failure(node: t.SyntaxNode, error: UndefinedError) -> ProgramError:
    return ProgramError(f"this has no value: {error}", node.place)


def integer(node: t.Expr, env: Env) -> int:
    """Return the value of an expression in integers. Raises ProgramError."""
    try:
        return _integer(node, env)
    except UndefinedError as error:
        raise _explain_failure(node, error) from None


def real(node: t.Expr, env: Env) -> float:
    """Return the value of an expression in floating point, as OUTPUT and LOG want it. Raises ProgramError."""
    try:
        return _real(node, env)
    except UndefinedError as error:
        raise _explain_failure(node, error) from None


def _integer(node: t.Expr, env: Env) -> int:
    match node:
        case t.Integer(value):
            return value
        case t.Variable(name):
            return env.variable(name)
        case t.BinaryOperation(operator, left, right):
            return integer_operator(operator, _integer(left, env), _integer(right, env))
        case t.Unary(operator, operand):
            return _integer_sign(operator, _integer(operand, env))
        case t.Conditional(value, condition, otherwise):
            return _integer(value if holds(condition, env) else otherwise, env)
        case t.FunctionCall("PROCESSOR_OF" | "TASK_OF" as name, (argument,)):
            return _map_processor(name, _integer(argument, env), env)
        case t.FunctionCall(name, arguments):
            return integer_function(name, [_integer(a, env) for a in arguments], env.tasks, env.draws)
        case t.Real(operand):
            return round_half_away(_real(operand, env))
        case t.MyTask():
            return env.me
        case t.FileData():
            return truncate(_file_data(node, env))
        case _:
            return _mesh(node, env)


def _real(node: t.Expr, env: Env) -> float:
    match node:
        case t.BinaryOperation(operator, left, right):
            return real_operator(operator, _real(left, env), _real(right, env))
        case t.Unary("NOT", operand):
            return float(~truncate(_real(operand, env)))
        case t.Unary(operator, operand):
            return -_real(operand, env) if operator == "-" else _real(operand, env)
        case t.Conditional(value, condition, otherwise):
            return _real(value if holds(condition, env, _real) else otherwise, env)
        case t.FunctionCall("PROCESSOR_OF" | "TASK_OF" as name, (argument,)):
            return float(_map_processor(name, truncate(_real(argument, env)), env))
        case t.FunctionCall(name, arguments):
            return real_function(name, [_real(a, env) for a in arguments], env.tasks, env.draws)
        case t.Real(operand):
            return _real(operand, env)
        case t.FileData():
            return _file_data(node, env)
        case _:
            return float(_integer(node, env))


def _integer_sign(operator: str, value: int) -> int:
    return {"-": fit(-value), "+": value}.get(operator, ~value)


def _map_processor(name: str, number: int, env: Env) -> int:
    """The processor of a task, or the task of a processor; -1 when there is none."""
    processors = env.processors or range(env.tasks)
    if not 0 <= number < env.tasks:
        return -1
    return processors[number] if name == "PROCESSOR_OF" else list(processors).index(number)


def _mesh(node: t.Expr, env: Env) -> int:
    assert isinstance(node, (t.MeshNeighbor, t.MeshCoordinate, t.MeshDistance))
    sizes = [_integer(dimension.size, env) for dimension in node.mesh]
    wraps = [dimension.wraps for dimension in node.mesh]
    match node:
        case t.MeshNeighbor(_, task, offsets):
            return mesh_neighbor(sizes, wraps, _integer(task, env), [_integer(o, env) for o in offsets])
        case t.MeshCoordinate(_, task, axis):
            return mesh_coordinate(sizes, _integer(task, env), _integer(axis, env))
        case _:
            return mesh_distance(sizes, wraps, _integer(node.first, env), _integer(node.second, env))


def _file_data(node: t.FileData, env: Env) -> float:
    column = 1 if node.column is None else _integer(node.column, env)
    row = 1 if node.row is None else _integer(node.row, env)
    return _cell(node, row, column)


# Relations

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}

Evaluator = Callable[[t.Expr, Env], float]


def holds(node: t.Rel, env: Env, value: Evaluator = _integer) -> bool:
    """Say whether a relation is true; `value` evaluates what is compared. Raises ProgramError."""
    try:
        return _holds(node, env, value)
    except UndefinedError as error:
        raise _explain_failure(node, error) from None


def _holds(node: t.Rel, env: Env, value: Evaluator) -> bool:
    match node:
        case t.NumberComparison("DIVIDES", left, right):
            return modulo(truncate(value(right, env)), truncate(value(left, env))) == 0
        case t.NumberComparison(operator, left, right):
            return _COMPARISONS[operator](value(left, env), value(right, env))
        case t.Parity(operand, odd):
            return (truncate(value(operand, env)) % 2 == 1) == odd
        case t.Within(operand, ranges, negated):
            wanted = value(operand, env)
            return any(wanted in _terms(range_node, env) for range_node in ranges) != negated
        case t.Between(operand, low, high, negated):
            ends = value(low, env), value(high, env)
            return (min(ends) <= value(operand, env) <= max(ends)) != negated
        case t.Logical(conjunction, left, right):
            first = _holds(left, env, value)
            return first if first != conjunction else _holds(right, env, value)


# Ranges

MAX_RANGE_NUMBERS = 10_000_000
"""In one range that is gone through."""


def values(ranges: Sequence[t.Range], env: Env) -> Sequence[int]:
    """Return the numbers in ranges, in order, repeated ones too. Raises ProgramError."""
    result = [_terms(range_node, env) for range_node in ranges]
    if sum(map(len, result)) > MAX_RANGE_NUMBERS:
        raise ProgramError(f"more than {MAX_RANGE_NUMBERS:,} numbers in a range", ranges[0].place)
    return result[0] if len(result) == 1 else [value for terms in result for value in terms]


def _terms(node: t.Range, env: Env) -> Sequence[int]:
    if isinstance(node, t.Listing):
        return [integer(value, env) for value in node.values]
    if isinstance(node, t.OpenRange):
        leading = [integer(value, env) for value in node.leading]
        return progression(leading, integer(node.final, env), node.place)
    return list(_comprehension(node, node.generators, env))


def _comprehension(node: t.Comprehension, generators: tuple[t.Generator, ...], env: Env) -> Iterator[int]:
    if generators:
        for value in values(generators[0].ranges, env):
            yield from _comprehension(node, generators[1:], env.bind(generators[0].variable, value))
    elif node.condition is None or holds(node.condition, env):
        yield integer(node.head, env)


_Part = TypeVar("_Part")


def _cell(node: t.FileData, row: int, column: int) -> float:
    """Return the number in a row and a column of the file; both count from 1, or from the end.

    Raises:
        ProgramError: there is no such file or place, or no number there.
    """
    rows = _table(node.path, node.column_separators, node.row_separators, node.place)
    cells = _pick(rows, row, "row", node)
    text = _pick(cells, column, "column", node)
    try:
        return float(text)
    except ValueError:
        raise ProgramError(
            f"{node.path}: row {row}, column {column} is {text!r}, no number", node.place
        ) from None


def _pick(parts: Sequence[_Part], number: int, name: str, node: t.FileData) -> _Part:
    index = number - 1 if number > 0 else number + len(parts)
    if number == 0 or not 0 <= index < len(parts):
        reason = f"{node.path} has {len(parts)} {name}s there, but {name} {number} is wanted"
        raise ProgramError(reason, node.place)
    return parts[index]


@lru_cache
def _table(path: str, columns: str | None, rows: str | None, place: SourcePlace) -> list[list[str]]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise ProgramError(f"{path}: cannot read: {error.strerror}", place) from None
    lines = _split_parts(text, "\n" if rows is None else rows)
    return [_split_parts(line, " \t" if columns is None else columns) for line in lines]


def _split_parts(text: str, separators: str) -> list[str]:
    """Parts between separators, any number of which may stand together."""
    for separator in separators[1:]:
        text = text.replace(separator, separators[0])
    return [part for part in (text.split(separators[0]) if separators else [text]) if part.strip()]
