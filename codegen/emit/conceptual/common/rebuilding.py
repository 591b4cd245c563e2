"""Copies of trees with other parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import FIELDS

__all__ = ["rebuilt"]

Kind = TypeVar("Kind", bound=t.Node)


def rebuilt(node: Kind, part: Callable[[t.Node], t.Node]) -> Kind:
    """Return a node with each node directly below it replaced by what `part` returns for it."""
    changed: dict[str, Any] = {}
    for name in FIELDS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, t.Node):
            new: Any = part(value)
        elif isinstance(value, tuple):
            new = tuple(part(each) if isinstance(each, t.Node) else each for each in value)
        else:
            continue
        if new != value or new is not value:
            changed[name] = new
    return replace(node, **changed) if changed else node
