"""What all nodes of the tree have."""

from __future__ import annotations

from dataclasses import dataclass, field

from scalatrace.codegen.conceptual.errors import Place

__all__ = ["Comments", "Node"]


@dataclass(frozen=True)
class Comments:
    """Comments on a node: lines above it, a text behind its last line, and lines below it."""

    above: tuple[str, ...] = ()
    behind: str = ""
    below: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Node:
    """Any part of a program.

    Attributes:
        place: line and column in the text from which the node was read.
        comments: printed with a statement or a program; the parser drops the comments of a text.
    """

    place: Place = field(default=Place(), compare=False, repr=False)
    comments: Comments = field(default=Comments(), compare=False, repr=False)
