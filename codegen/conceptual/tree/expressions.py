"""Expressions, relations between expressions, ranges of numbers, and descriptions of tasks."""

from __future__ import annotations

from typing import TypeAlias

from scalatrace.codegen.conceptual.tree.node import SyntaxNode, tree_node

__all__ = [
    "AllOthers", "AllTasks", "Between", "BinaryOperation", "Comprehension", "Conditional", "Dimension",
    "Expr", "FileData", "FunctionCall", "Generator", "Integer", "Listing", "Logical", "MeshCoordinate",
    "MeshDistance", "MeshNeighbor", "MyTask", "NumberComparison", "OneTask", "OpenRange", "Parity", "Range",
    "Real", "Rel", "SuchThat", "TaskGroup", "TaskRanges", "Tasks", "Unary", "Variable", "Within",
]  # fmt: skip


@tree_node
class Integer(SyntaxNode):
    """A number, multiplied out: 64K is 65536."""

    value: int


@tree_node
class Variable(SyntaxNode):
    """A variable, in lower case."""

    name: str


@tree_node
class MyTask(SyntaxNode):
    """MY TASK, allowed in conditions of IF only."""


@tree_node
class Unary(SyntaxNode):
    """`operator` is "-", "+" or "NOT" (bitwise)."""

    operator: str
    operand: Expr


@tree_node
class BinaryOperation(SyntaxNode):
    """`operator` is one of + - | XOR * / MOD >> << & **."""

    operator: str
    left: Expr
    right: Expr


@tree_node
class Conditional(SyntaxNode):
    """value IF condition OTHERWISE otherwise."""

    value: Expr
    condition: Rel
    otherwise: Expr


@tree_node
class FunctionCall(SyntaxNode):
    """A function of numbers, by its name in capitals."""

    function: str
    arguments: tuple[Expr, ...]


@tree_node
class Real(SyntaxNode):
    """REAL(operand): computed in floating point, then rounded."""

    operand: Expr


@tree_node
class Dimension(SyntaxNode):
    """One dimension of a mesh; `wraps`: of a torus."""

    size: Expr
    wraps: bool = False


@tree_node
class MeshNeighbor(SyntaxNode):
    """The task at an offset from a task, -1 off the mesh."""

    mesh: tuple[Dimension, ...]
    task: Expr
    offsets: tuple[Expr, ...]


@tree_node
class MeshCoordinate(SyntaxNode):
    """A task's coordinate along an axis; axis 0 varies fastest."""

    mesh: tuple[Dimension, ...]
    task: Expr
    axis: Expr


@tree_node
class MeshDistance(SyntaxNode):
    """Manhattan distance between two tasks."""

    mesh: tuple[Dimension, ...]
    first: Expr
    second: Expr


@tree_node
class FileData(SyntaxNode):
    """A number from a text file; columns and rows count from 1, negative ones from the end.

    `static`: STATIC_FILE_DATA, read once, allowed everywhere.
    """

    static: bool
    path: str
    column: Expr | None = None
    row: Expr | None = None
    column_separators: str | None = None
    row_separators: str | None = None


Expr: TypeAlias = (
    Integer
    | Variable
    | MyTask
    | Unary
    | BinaryOperation
    | Conditional
    | FunctionCall
    | Real
    | MeshNeighbor
    | MeshCoordinate
    | MeshDistance
    | FileData
)


@tree_node
class NumberComparison(SyntaxNode):
    """`operator` is one of = < > <= >= <> DIVIDES."""

    operator: str
    left: Expr
    right: Expr


@tree_node
class Parity(SyntaxNode):
    """operand IS EVEN or IS ODD."""

    operand: Expr
    odd: bool


@tree_node
class Within(SyntaxNode):
    """operand IS [NOT] IN ranges."""

    operand: Expr
    ranges: tuple[Range, ...]
    negated: bool = False


@tree_node
class Between(SyntaxNode):
    """operand IS [NOT] IN [low, high], an old form."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@tree_node
class Logical(SyntaxNode):
    """Both relations (conjunction) or either; the right one is not looked at when the left decides."""

    conjunction: bool
    left: Rel
    right: Rel


Rel: TypeAlias = NumberComparison | Parity | Within | Between | Logical


@tree_node
class Listing(SyntaxNode):
    """{1, 2, 5}."""

    values: tuple[Expr, ...]


@tree_node
class OpenRange(SyntaxNode):
    """{1, 2, 4, ..., 64}: arithmetic or geometric, by its first terms."""

    leading: tuple[Expr, ...]
    final: Expr


@tree_node
class Generator(SyntaxNode):
    """FOR EACH variable IN ranges, inside braces."""

    variable: str
    ranges: tuple[Range, ...]


@tree_node
class Comprehension(SyntaxNode):
    """{head FOR EACH ... FOR EACH ... WHERE condition}; the last generator runs fastest."""

    head: Expr
    generators: tuple[Generator, ...]
    condition: Rel | None = None


Range: TypeAlias = Listing | OpenRange | Comprehension


@tree_node
class AllTasks(SyntaxNode):
    """ALL TASKS [variable]."""

    variable: str | None = None


@tree_node
class AllOthers(SyntaxNode):
    """ALL OTHER TASKS: all but the source."""


@tree_node
class OneTask(SyntaxNode):
    """TASK expr."""

    task: Expr


@tree_node
class SuchThat(SyntaxNode):
    """TASKS variable SUCH THAT condition."""

    variable: str
    condition: Rel


@tree_node
class TaskRanges(SyntaxNode):
    """TASKS {0, 2}, {4, ..., 9}: the set of them."""

    ranges: tuple[Range, ...]


@tree_node
class TaskGroup(SyntaxNode):
    """TASK GROUP name, bound by LET; binds the name as a variable."""

    name: str


Tasks: TypeAlias = AllTasks | AllOthers | OneTask | SuchThat | TaskRanges | TaskGroup
