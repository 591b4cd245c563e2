"""Bind expressions that a loop's body repeats to names.

FOR EACH i IN {0, ..., 63} {                 FOR EACH i IN {0, ..., 63} LET v1 BE i MOD 16 / 4 WHILE {
  TASK (i MOD 16 / 4 + 1) SENDS ...     ->     TASK (v1 + 1) SENDS ...
  TASK (i MOD 16 / 4 + 2) SENDS ...            TASK (v1 + 2) SENDS ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import children, free
from scalatrace.codegen.conceptual.words import PREDECLARED
from scalatrace.codegen.emit.conceptual.common.rebuilding import rebuilt

__all__ = ["shared"]

MIN_NODES = 4
"""Of an expression that gets a name: `i MOD 4` has three."""
NODE_CHARACTERS, BINDING_CHARACTERS = 4, 14
"""About so long are a node of an expression, and a binding around it, in the text."""
PREFIX = "v"
SAFE = frozenset({"+", "-", "*", "&", "|", "XOR"})
"""Operators that have a value for all operands; / and MOD have one for numbers other than 0."""


def shared(program: t.Program) -> t.Program:
    """Return a program that does the same, with repeated expressions of loop variables bound by LET."""
    taken = _names(program)
    prefixes = (PREFIX + n * "_" for n in count())
    prefix = next(each for each in prefixes if not any(name.startswith(each) for name in taken))
    sharing = _Sharing(prefix)
    return rebuilt(program, lambda part: sharing.statement(part, frozenset()))


def _names(node: t.Node) -> set[str]:
    """Return all names in a program, those that are bound too."""
    found = {getattr(node, field, None) for field in ("name", "variable")}
    return {each for each in found if isinstance(each, str)}.union(*map(_names, children(node)))


class _About(NamedTuple):
    """A node, the names that it takes from outside, and the number of nodes in it."""

    node: t.Node
    free: frozenset[str]
    size: int


class _Sharing:
    """Names expressions; `prefix` starts no name of the program."""

    def __init__(self, prefix: str, made: int = 0) -> None:
        self.prefix, self.made = prefix, made
        self._known: dict[int, _About] = {}

    def statement(self, node: t.Node, scope: frozenset[str]) -> t.Statement:
        """Go through loops from the outside; `scope` are the variables of those around a statement."""

        def part(each: t.Node) -> t.Node:
            return self.statement(each, scope) if _has_loops(each) else each

        if isinstance(node, t.ForEach):
            inner = scope | {node.variable}
            bindings, body = self._named(node.body, inner, node.variable)
            names = inner | {binding.name for binding in bindings}
            body = self.statement(body, names)
            if bindings:
                body = t.Let(tuple(bindings), body)
            return replace(node, body=body)
        result: t.Statement = rebuilt(node, part)  # type: ignore[assignment]
        return result

    def _named(
        self, body: t.Statement, scope: frozenset[str], variable: str
    ) -> tuple[list[t.LetValue], t.Statement]:
        """Return bindings of what a body repeats and depends on its variable, and the body with the names."""
        counts = Counter(
            each
            for each in self._expressions(body, scope)
            if self._about(each).size >= MIN_NODES and variable in self._about(each).free
        )
        kept: dict[t.Node, t.Node] = {}
        bindings: list[t.LetValue] = []
        for each in sorted(self._worth(counts, scope), key=lambda e: self._about(e).size):
            # Smaller ones come first, and have names in the larger ones' bindings.
            value = rebuilt(each, lambda part: _renamed(part, kept))
            self.made += 1
            name = f"{self.prefix}{self.made}"
            kept[each] = t.Variable(name)
            bindings.append(t.LetValue(name, value))  # type: ignore[arg-type]
        return bindings, _renamed(body, kept) if kept else body  # type: ignore[return-value]

    def _worth(self, counts: Counter[t.Node], scope: frozenset[str]) -> list[t.Node]:
        """Return the expressions whose names make the text shorter."""
        kept: list[t.Node] = []
        for each in sorted(counts, key=lambda e: -self._about(e).size):
            repeats = counts[each] - 1
            saved = repeats * self._about(each).size * NODE_CHARACTERS
            if saved <= BINDING_CHARACTERS or not _is_total(each):
                continue
            kept.append(each)
            for inner in self._expressions(each, scope):
                if inner is not each and inner in counts:
                    counts[inner] -= repeats  # they stand once, in the binding
        return kept

    def _about(self, node: t.Node) -> _About:
        """Return what is known of a node; found once, as nodes are parts of many others."""
        known = self._known.get(id(node))
        if known is None:
            parts = [self._about(child) for child in children(node)]
            if isinstance(node, (t.Variable, t.SuchThat, t.Comprehension)):
                names = frozenset(free(node))
            else:
                names = frozenset().union(*(part.free for part in parts))
            known = _About(node, names, 1 + sum(part.size for part in parts))
            self._known[id(node)] = known
        return known

    def _expressions(self, node: t.Node, scope: frozenset[str]) -> Iterator[t.Node]:
        """Yield the expressions of variables in `scope` in a node, larger ones before their parts."""
        if isinstance(node, (t.Binary, t.Conditional)) and self._about(node).free <= scope:
            yield node
        if isinstance(node, t.ForEach):
            for each in node.ranges:
                yield from self._expressions(each, scope)
            yield from self._expressions(node.body, scope - {node.variable})
            return
        if isinstance(node, t.Let):
            return
        if isinstance(node, t.SuchThat):
            scope = scope - {node.variable}
        for child in children(node):
            yield from self._expressions(child, scope)


def _has_loops(node: t.Node) -> bool:
    return isinstance(node, (t.Sentence, t.Block, t.If, t.ForEach, t.ForCount))


def _renamed(node: t.Node, names: dict[t.Node, t.Node]) -> t.Node:
    if isinstance(node, (t.Binary, t.Conditional)) and node in names:
        return names[node]
    if isinstance(node, t.ForEach):  # its variable may hide one of the same name
        names = {each: name for each, name in names.items() if node.variable not in free(each)}
    return rebuilt(node, lambda part: _renamed(part, names))


def _is_total(node: t.Node) -> bool:
    """Return whether an expression has the same value whenever it is evaluated, and always has one."""
    match node:
        case t.Binary("/" | "MOD", _, t.Integer(n)) if n:
            pass
        case t.Binary(operator) if operator not in SAFE:
            return False
        case t.Variable(name) if name in PREDECLARED and name != "num_tasks":
            return False
        case t.Call() | t.FileData() | t.Real() | t.MyTask():
            return False
        case t.Comprehension() | t.MeshNeighbor() | t.MeshCoordinate() | t.MeshDistance():
            return False
    return all(map(_is_total, children(node)))
