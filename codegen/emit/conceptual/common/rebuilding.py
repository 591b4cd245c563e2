"""Copies of trees with other parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import is_not
from typing import Any, TypeVar

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import FIELDS, free, list_variables

__all__ = ["WITHOUT_SCOPES", "TreeSubstitution", "rebuilt", "with_parts"]

WITHOUT_SCOPES = (
    t.BinaryOperation,
    t.Unary,
    t.Conditional,
    t.NumberComparison,
    t.Logical,
    t.Within,
    t.Between,
    t.Parity,
)
"""Kinds of expressions and relations, none of which binds a name of a statement."""
Kind = TypeVar("Kind", bound=t.SyntaxNode)


def rebuilt(node: Kind, part: Callable[[t.SyntaxNode], t.SyntaxNode]) -> Kind:
    """Return a node with what `part` returns in place of each node directly below it.

    It is the node itself where nothing changes, so that what is known of it stays with it.
    """
    changed: dict[str, Any] = {}
    for name in FIELDS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, t.SyntaxNode):
            rebuilt_value: Any = part(value)
            if rebuilt_value is not value:
                changed[name] = rebuilt_value
        elif isinstance(value, tuple):
            rebuilt_value = tuple(
                part(member) if isinstance(member, t.SyntaxNode) else member for member in value
            )
            if any(map(is_not, rebuilt_value, value)):
                changed[name] = rebuilt_value
    return replace(node, **changed) if changed else node


def with_parts(node: Kind, **parts: Any) -> Kind:
    """Return a node with other parts; the node itself where they are the same objects."""
    if all(getattr(node, name) is part for name, part in parts.items()):
        return node
    return replace(node, **parts)


class TreeSubstitution:
    """Replaces expressions, all of which use `variable`, by others. Each expression is rebuilt once."""

    def __init__(self, variable: str, values: dict[t.SyntaxNode, t.SyntaxNode]) -> None:
        self.variable, self.values = variable, values
        self._rebuilt: dict[t.SyntaxNode, t.SyntaxNode] = {}

    def add(self, expr: t.SyntaxNode, value: t.SyntaxNode) -> None:
        """Replace one more expression; larger ones that contain it are rebuilt again."""
        self.values[expr] = value
        self._rebuilt.clear()

    def apply(self, node: t.SyntaxNode) -> t.SyntaxNode:
        """Return a node with the expressions replaced."""
        if self.variable not in list_variables(node):
            return node
        if isinstance(node, t.ForEach):  # its variable may hide one of the same name
            values = {
                replaced: value
                for replaced, value in self.values.items()
                if node.variable not in free(replaced)
            }
            return rebuilt(node, TreeSubstitution(self.variable, values).apply)
        if isinstance(node, t.Variable):
            return self.values.get(node, node)
        if not isinstance(node, WITHOUT_SCOPES):
            return rebuilt(node, self.apply)
        if node in self.values:
            return self.values[node]
        if node not in self._rebuilt:
            self._rebuilt[node] = rebuilt(node, self.apply)
        return self._rebuilt[node]
