"""Copies of trees with other parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import is_not
from typing import Any, TypeVar

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import FIELDS

__all__ = ["rebuilt", "with_parts"]

Kind = TypeVar("Kind", bound=t.Node)


def rebuilt(node: Kind, part: Callable[[t.Node], t.Node]) -> Kind:
    """Return a node with what `part` returns in place of each node directly below it.

    It is the node itself where nothing changes, so that what is known of it stays with it.
    """
    changed: dict[str, Any] = {}
    for name in FIELDS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, t.Node):
            new: Any = part(value)
            if new is not value:
                changed[name] = new
        elif isinstance(value, tuple):
            new = tuple(part(each) if isinstance(each, t.Node) else each for each in value)
            if any(map(is_not, new, value)):
                changed[name] = new
    return replace(node, **changed) if changed else node


def with_parts(node: Kind, **parts: Any) -> Kind:
    """Return a node with other parts; the node itself where they are the same objects."""
    if all(getattr(node, name) is part for name, part in parts.items()):
        return node
    return replace(node, **parts)
