"""Which names a node binds and which it uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.tree.node import cached_on_node
from scalatrace.codegen.conceptual.words import PREDECLARED

__all__ = ["all_bound", "bound", "children", "free", "list_variables", "mentions_me", "source_first"]


@cached_on_node
def children(node: t.SyntaxNode) -> tuple[t.SyntaxNode, ...]:
    """Return the nodes directly below a node, in the order of its fields."""
    nodes: list[t.SyntaxNode] = []
    for name in FIELDS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, t.SyntaxNode):
            nodes.append(value)
        elif type(value) is tuple:
            nodes.extend(_nodes(value))
    return tuple(nodes)


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of each kind of node that can hold other nodes."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        self[kind] = tuple(member.name for member in fields(kind) if member.name not in ("place", "comments"))
        return self[kind]


FIELDS = _Fields()


def _nodes(value: Any) -> Iterator[t.SyntaxNode]:
    if isinstance(value, t.SyntaxNode):
        yield value
    elif type(value) is tuple:
        for part in value:
            yield from _nodes(part)


@cached_on_node
def mentions_me(node: t.SyntaxNode) -> bool:
    """Return whether each task has to work a node out for itself."""
    return isinstance(node, t.MyTask) or any(map(mentions_me, children(node)))


def bound(tasks: t.Tasks) -> str | None:
    """Return the variable that a task description binds, if any."""
    if isinstance(tasks, t.TaskGroup):
        return tasks.name
    return tasks.variable if isinstance(tasks, (t.AllTasks, t.SuchThat)) else None


@cached_on_node
def all_bound(node: t.SyntaxNode) -> frozenset[str]:
    """Return the names that a node or a part of it binds."""
    bound_here: frozenset[str] = frozenset()
    if not isinstance(node, t.Variable):
        named = getattr(node, "variable", None), getattr(node, "name", None)
        bound_here = frozenset(name for name in named if isinstance(name, str))
    return bound_here.union(*map(all_bound, children(node)))


@cached_on_node
def list_variables(node: t.SyntaxNode) -> frozenset[str]:
    """Return the names of all variables in a node, those that it binds itself too."""
    if isinstance(node, t.Variable):
        return frozenset({node.name})
    return frozenset().union(*map(list_variables, children(node)))


@cached_on_node
def free(node: t.SyntaxNode) -> frozenset[str]:
    """Return the names that an expression, a relation, a range or a task description takes from outside."""
    if isinstance(node, t.Variable):
        return frozenset({node.name}) - set(PREDECLARED)
    if isinstance(node, t.SuchThat):
        return free(node.condition) - {node.variable}
    if isinstance(node, t.Comprehension):
        return _free_in_comprehension(node)
    return _union(children(node))


def _union(nodes: Iterable[t.SyntaxNode]) -> frozenset[str]:
    return frozenset().union(*map(free, nodes))


def _free_in_comprehension(node: t.Comprehension) -> frozenset[str]:
    used: frozenset[str] = frozenset()
    bound: set[str] = set()
    for generator in node.generators:
        used |= _union(generator.ranges) - bound
        bound.add(generator.variable)
    inner = free(node.head) | (free(node.condition) if node.condition else frozenset())
    return used | (inner - bound)


def source_first(receive: t.Receive, outer: Iterable[str]) -> bool:
    """Say whether the receivers may depend on the sender's variable, rather than the sender on theirs.

    A side that binds nothing depends on the other one; of two that bind, the senders depend on the
    receivers when they use a name that nothing else binds.
    """
    if isinstance(receive.target, t.AllOthers):
        return True
    if bound(receive.source) is None:
        return False
    receiver = bound(receive.target)
    if receiver is None:
        return True
    return receiver not in free(receive.source) - set(outer)
