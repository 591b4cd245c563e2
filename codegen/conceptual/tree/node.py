"""What all nodes of the tree have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TypeVar, dataclass_transform

from scalatrace.codegen.conceptual.errors import Place

__all__ = ["Comments", "Node", "found_once", "tree_node"]

Kind = TypeVar("Kind", bound="Node")
Result = TypeVar("Result")


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

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without what was found once: hashes of texts differ between processes."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}


def found_once(function: Callable[[Node], Result]) -> Callable[[Node], Result]:
    """Keep the result of a function of a node with the node, which never changes.

    Passes over large programs ask for every part again at each loop and condition around it.
    """
    key = f"_{function.__module__}.{function.__name__}"

    @wraps(function)
    def kept(node: Node) -> Result:
        found = node.__dict__
        if key not in found:
            found[key] = function(node)
        result: Result = found[key]
        return result

    return kept


@dataclass_transform(frozen_default=True, kw_only_default=False)
def tree_node(kind: type[Kind]) -> type[Kind]:
    """Make a class of nodes a frozen dataclass that computes its hash once."""
    made = dataclass(frozen=True)(kind)
    made.__hash__ = found_once(made.__hash__)  # type: ignore[method-assign, assignment]
    return made
