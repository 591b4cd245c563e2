"""Expressions, relations between expressions, and ranges of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from scalatrace.codegen.conceptual.tree.node import Node

__all__ = [
    "Between",
    "Binary",
    "Call",
    "Compare",
    "Comprehension",
    "Conditional",
    "Dimension",
    "Expr",
    "FileData",
    "Generator",
    "Integer",
    "Listing",
    "Logical",
    "MeshCoordinate",
    "MeshDistance",
    "MeshNeighbor",
    "MyTask",
    "Parity",
    "Progression",
    "Range",
    "Real",
    "Rel",
    "Unary",
    "Variable",
    "Within",
]


@dataclass(frozen=True)
class Integer(Node):
    """A number, multiplied out: 64K is 65536."""

    value: int


@dataclass(frozen=True)
class Variable(Node):
    """A variable, in lower case."""

    name: str


@dataclass(frozen=True)
class MyTask(Node):
    """MY TASK, allowed in conditions of IF only."""


@dataclass(frozen=True)
class Unary(Node):
    """`operator` is "-", "+" or "NOT" (bitwise)."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    """`operator` is one of + - | XOR * / MOD >> << & **."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Conditional(Node):
    """value IF condition OTHERWISE otherwise."""

    value: Expr
    condition: Rel
    otherwise: Expr


@dataclass(frozen=True)
class Call(Node):
    """A function of numbers, by its name in capitals."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Real(Node):
    """REAL(operand): computed in floating point, then rounded."""

    operand: Expr


@dataclass(frozen=True)
class Dimension(Node):
    """One dimension of a mesh; `wraps`: of a torus."""

    size: Expr
    wraps: bool = False


@dataclass(frozen=True)
class MeshNeighbor(Node):
    """The task at an offset from a task, -1 off the mesh."""

    mesh: tuple[Dimension, ...]
    task: Expr
    offsets: tuple[Expr, ...]


@dataclass(frozen=True)
class MeshCoordinate(Node):
    """A task's coordinate along an axis; axis 0 varies fastest."""

    mesh: tuple[Dimension, ...]
    task: Expr
    axis: Expr


@dataclass(frozen=True)
class MeshDistance(Node):
    """Manhattan distance between two tasks."""

    mesh: tuple[Dimension, ...]
    first: Expr
    second: Expr


@dataclass(frozen=True)
class FileData(Node):
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
    | Binary
    | Conditional
    | Call
    | Real
    | MeshNeighbor
    | MeshCoordinate
    | MeshDistance
    | FileData
)


@dataclass(frozen=True)
class Compare(Node):
    """`operator` is one of = < > <= >= <> DIVIDES."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Parity(Node):
    """operand IS EVEN or IS ODD."""

    operand: Expr
    odd: bool


@dataclass(frozen=True)
class Within(Node):
    """operand IS [NOT] IN ranges."""

    operand: Expr
    ranges: tuple[Range, ...]
    negated: bool = False


@dataclass(frozen=True)
class Between(Node):
    """operand IS [NOT] IN [low, high], an old form."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True)
class Logical(Node):
    """Both relations (conjunction) or either; the right one is not looked at when the left decides."""

    conjunction: bool
    left: Rel
    right: Rel


Rel: TypeAlias = Compare | Parity | Within | Between | Logical


@dataclass(frozen=True)
class Listing(Node):
    """{1, 2, 5}."""

    values: tuple[Expr, ...]


@dataclass(frozen=True)
class Progression(Node):
    """{1, 2, 4, ..., 64}: arithmetic or geometric, by its first terms."""

    leading: tuple[Expr, ...]
    final: Expr


@dataclass(frozen=True)
class Generator(Node):
    """FOR EACH variable IN ranges, inside braces."""

    variable: str
    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Comprehension(Node):
    """{head FOR EACH ... FOR EACH ... WHERE condition}; the last generator runs fastest."""

    head: Expr
    generators: tuple[Generator, ...]
    condition: Rel | None = None


Range: TypeAlias = Listing | Progression | Comprehension
