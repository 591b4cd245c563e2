"""What all nodes of the tree have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TypeVar, dataclass_transform

from scalatrace.codegen.conceptual.errors import SourcePlace

__all__ = ["Comments", "SyntaxNode", "cached_on_node", "tree_node"]

Kind = TypeVar("Kind", bound="SyntaxNode")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Comments:
    """Comments on a node: lines above it, a text behind its last line, and lines below it."""

    above: tuple[str, ...] = ()
    behind: str = ""
    below: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SyntaxNode:
    """Any part of a program.

    Attributes:
        place: line and column in the text from which the node was read.
        comments: printed with a statement or a program; the parser drops the comments of a text.
    """

    place: SourcePlace = field(default=SourcePlace(), compare=False, repr=False)
    comments: Comments = field(default=Comments(), compare=False, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without cached results: hash values of strings differ between processes."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}


def cached_on_node(function: Callable[[SyntaxNode], Result]) -> Callable[[SyntaxNode], Result]:
    """Cache a function's result on its node; nodes are immutable.

    Passes over large programs ask for every part again at each loop and condition around it.
    """
    key = f"_{function.__module__}.{function.__name__}"

    @wraps(function)
    def cached(node: SyntaxNode) -> Result:
        cache = node.__dict__
        if key not in cache:
            cache[key] = function(node)
        result: Result = cache[key]
        return result

    return cached


@dataclass_transform(frozen_default=True, kw_only_default=False)
def tree_node(kind: type[Kind]) -> type[Kind]:
    """Make a class of nodes a frozen dataclass that computes its hash once."""
    cls = dataclass(frozen=True)(kind)
    cls.__hash__ = cached_on_node(cls.__hash__)  # type: ignore[method-assign, assignment]
    return cls
