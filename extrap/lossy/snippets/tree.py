"""Event snippets as a tree: sequences of calls with constraints on their parameters (§3.2.4)."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.formula import Expr

__all__ = [
    "ANY",
    "Alternatives",
    "CallPattern",
    "CallSequence",
    "Distance",
    "Item",
    "Range",
    "Repetition",
    "Snippet",
    "SnippetPosition",
    "Snippets",
    "Test",
    "Value",
]  # fmt: skip

ANY = "any"
"""In place of an operation: every call."""


@dataclass(frozen=True, slots=True)
class SnippetPosition:
    """A position in the snippets' text, from 1."""

    line: int
    column: int


Value = int | Expr
"""A number, or a formula over a rank's place in the grid."""


@dataclass(frozen=True, slots=True)
class Range:
    """A constraint: a parameter has one value, or lies between two."""

    name: str
    low: Value
    high: Value
    place: SnippetPosition


@dataclass(frozen=True, slots=True)
class Distance:
    """A constraint: the distance in steps of the rank that a parameter names, per dimension or in all."""

    name: str
    steps: int | tuple[int, ...]
    place: SnippetPosition


Test = Range | Distance


@dataclass(frozen=True, slots=True)
class CallPattern:
    """A call pattern: operation, constraints on parameters, a part of the innermost frame ("": any)."""

    op: str
    tests: tuple[Test, ...]
    site: str
    place: SnippetPosition

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(_told, self.tests))})" if self.tests else self.op


def _told(test: Test) -> str:
    if isinstance(test, Distance):
        return f"{test.name} ~ {test.steps}"
    return f"{test.name} = {test.low}" if test.low == test.high else f"{test.name} in {test.low}..{test.high}"


@dataclass(frozen=True, slots=True)
class CallSequence:
    """A sequence of parts."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Alternatives."""

    choices: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A repetition, at least `low` and at most `high` times (None: no limit)."""

    item: Item
    low: int
    high: int | None


Item = CallPattern | CallSequence | Alternatives | Repetition


@dataclass(frozen=True, slots=True)
class Snippet:
    """A sequence of calls that are kept together, and their weight in comparisons of ranks."""

    name: str
    weight: int
    body: CallSequence


@dataclass(frozen=True, slots=True)
class Snippets:
    """The content of a file of snippets.

    Attributes:
        keep, drop: calls that stay, or go, whatever is around them.
    """

    snippets: tuple[Snippet, ...]
    keep: tuple[CallPattern, ...] = ()
    drop: tuple[CallPattern, ...] = ()
    path: str = ""
