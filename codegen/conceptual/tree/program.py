"""Programs and their headers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from scalatrace.codegen.conceptual.tree.node import Node, tree_node

if TYPE_CHECKING:
    from scalatrace.codegen.conceptual.tree.expressions import Expr
    from scalatrace.codegen.conceptual.tree.statements import Statement

__all__ = ["BackendDeclares", "Header", "Parameter", "Program", "Sentence", "Version"]


@tree_node
class Version(Node):
    """REQUIRE LANGUAGE VERSION text."""

    text: str


@tree_node
class Parameter(Node):
    """A value from the command line; `long` and `short` with their hyphens."""

    name: str
    help: str
    long: str
    short: str
    default: Expr


@tree_node
class BackendDeclares(Node):
    """THE BACKEND DECLARES text of the target language."""

    text: str


@tree_node
class Sentence(Node):
    """Statements in order; each sentence has a table of its own in the log."""

    statements: tuple[Statement, ...]


Header: TypeAlias = Version | Parameter | BackendDeclares


@tree_node
class Program(Node):
    """A whole program; `text` is what it was read from, "" otherwise."""

    headers: tuple[Header, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    text: str = field(default="", compare=False, repr=False)
