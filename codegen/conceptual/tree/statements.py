"""Statements (loops, choices, bindings, assertions, processors of tasks), and programs with their headers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from scalatrace.codegen.conceptual.tree.expressions import Expr
from scalatrace.codegen.conceptual.tree.node import SyntaxNode, tree_node
from scalatrace.codegen.conceptual.tree.own import (
    BackendExecute,
    ComputeAggregates,
    Counters,
    Delay,
    Log,
    Output,
    TouchBuffers,
    TouchMemory,
)
from scalatrace.codegen.conceptual.tree.together import Await, Multicast, Receive, Reduce, Send, Synchronize

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Range, Rel, Tasks

__all__ = [
    "Assert", "Assign", "BackendDeclares", "Binding", "Block", "ForCount", "ForEach", "ForTime", "Header",
    "If", "Let", "LetRandom", "LetTasks", "LetValue", "ProgramParameter", "ProgramTree", "Sentence",
    "Statement", "Version",
]  # fmt: skip


@tree_node
class Assign(SyntaxNode):
    """IS ASSIGNED TO PROCESSOR expr, or (None) A RANDOM PROCESSOR."""

    tasks: Tasks
    processor: Expr | None = None


@tree_node
class Assert(SyntaxNode):
    """ASSERT THAT text WITH condition."""

    text: str
    condition: Rel


@tree_node
class ForEach(SyntaxNode):
    """FOR EACH variable IN ranges."""

    variable: str
    ranges: tuple[Range, ...]
    body: Statement


@tree_node
class ForCount(SyntaxNode):
    """FOR count REPETITIONS, after `warmup` passes that count for nothing."""

    count: Expr
    body: Statement
    warmup: Expr | None = None
    synchronized: bool = False


@tree_node
class ForTime(SyntaxNode):
    """FOR a time, after a time of warming up."""

    duration: Expr
    unit: str
    body: Statement
    warmup: Expr | None = None
    warmup_unit: str | None = None
    synchronized: bool = False


@tree_node
class LetValue(SyntaxNode):
    """name BE value."""

    name: str
    value: Expr


@tree_node
class LetTasks(SyntaxNode):
    """name BE tasks."""

    name: str
    tasks: Tasks


@tree_node
class LetRandom(SyntaxNode):
    """name BE A RANDOM TASK [from low to high] [BUT NOT but].

    `form` is "", "OTHER" (than but), "LESS" (than high), "GREATER" (than low) or "IN" ([low, high]).
    """

    name: str
    form: str = ""
    low: Expr | None = None
    high: Expr | None = None
    but: Expr | None = None


Binding: TypeAlias = LetValue | LetTasks | LetRandom


@tree_node
class Let(SyntaxNode):
    """LET bindings WHILE body."""

    bindings: tuple[Binding, ...]
    body: Statement


@tree_node
class If(SyntaxNode):
    """IF condition THEN ... OTHERWISE ...."""

    condition: Rel
    then: Statement
    otherwise: Statement | None = None


@tree_node
class Block(SyntaxNode):
    """{ ... THEN ... }."""

    statements: tuple[Statement, ...] = ()


Statement: TypeAlias = (
    Send
    | Receive
    | Multicast
    | Reduce
    | Await
    | Synchronize
    | Delay
    | TouchMemory
    | TouchBuffers
    | Log
    | ComputeAggregates
    | Counters
    | Output
    | BackendExecute
    | Assign
    | Assert
    | ForEach
    | ForCount
    | ForTime
    | Let
    | If
    | Block
)


@tree_node
class Version(SyntaxNode):
    """REQUIRE LANGUAGE VERSION text."""

    text: str


@tree_node
class ProgramParameter(SyntaxNode):
    """A value from the command line; `long` and `short` with their hyphens."""

    name: str
    help: str
    long: str
    short: str
    default: Expr


@tree_node
class BackendDeclares(SyntaxNode):
    """THE BACKEND DECLARES text of the target language."""

    text: str


@tree_node
class Sentence(SyntaxNode):
    """Statements in order; each sentence has a table of its own in the log."""

    statements: tuple[Statement, ...]


Header: TypeAlias = Version | ProgramParameter | BackendDeclares


@tree_node
class ProgramTree(SyntaxNode):
    """A whole program; `text` is what it was read from, "" otherwise."""

    headers: tuple[Header, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    text: str = field(default="", compare=False, repr=False)
