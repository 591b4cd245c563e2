"""Relations between expressions, and ranges of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from scalatrace.codegen.conceptual.tree.node import Node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Expr

__all__ = [
    "Between",
    "Compare",
    "Comprehension",
    "Generator",
    "Listing",
    "Logical",
    "Parity",
    "Progression",
    "Range",
    "Rel",
    "Within",
]


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
