"""Bind expressions that a loop's body repeats to names.

FOR EACH i IN {0, ..., 63} {                 FOR EACH i IN {0, ..., 63} LET v1 BE i MOD 16 / 4 WHILE {
  TASK (i MOD 16 / 4 + 1) SENDS ...     ->     TASK (v1 + 1) SENDS ...
  TASK (i MOD 16 / 4 + 2) SENDS ...            TASK (v1 + 2) SENDS ...
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import count

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import all_bound, children, free, list_variables
from scalatrace.codegen.conceptual.tree.node import cached_on_node
from scalatrace.codegen.conceptual.words import PREDECLARED
from scalatrace.codegen.emit.conceptual.common.rebuilding import WITHOUT_SCOPES, TreeSubstitution, rebuilt

__all__ = ["share_expressions"]

MIN_NODES = 4
"""Of an expression that gets a name: `i MOD 4` has three."""
NODE_CHARACTERS, BINDING_CHARACTERS = 4, 14
"""About so long are a node of an expression, and a binding around it, in the text."""
PREFIX = "v"
SAFE = frozenset({"+", "-", "*", "&", "|", "XOR"})
"""Operators that have a value for all operands; / and MOD have one for numbers other than 0."""


def share_expressions(program: t.ProgramTree) -> t.ProgramTree:
    """Return a program that does the same, with repeated expressions of loop variables bound by LET."""
    taken = all_bound(program) | list_variables(program)
    prefixes = (PREFIX + n * "_" for n in count())
    prefix = next(
        candidate for candidate in prefixes if not any(name.startswith(candidate) for name in taken)
    )
    sharing = _LoopSharing(prefix)
    return rebuilt(program, lambda part: sharing.statement(part, frozenset()))


class _LoopSharing:
    """Names expressions; `prefix` starts no name of the program."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self.name_count = prefix, 0

    def statement(self, node: t.SyntaxNode, scope: frozenset[str]) -> t.Statement:
        """Go through loops from the outside; `scope` are the variables of those around a statement."""

        def part(child: t.SyntaxNode) -> t.SyntaxNode:
            return self.statement(child, scope) if _has_loops(child) else child

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
        names = TreeSubstitution(variable, {})
        bindings: list[t.LetValue] = []
        for expr in sorted(_worth(_count_expressions(body, scope, variable), scope, variable), key=_size):
            # Smaller ones come first, and have names in the larger ones' bindings.
            value = rebuilt(expr, names.apply)
            self.name_count += 1
            name = f"{self.prefix}{self.name_count}"
            names.add(expr, t.Variable(name))
            bindings.append(t.LetValue(name, value))  # type: ignore[arg-type]
        return bindings, names.apply(body) if bindings else body  # type: ignore[return-value]


def _worth(counts: Counter[t.SyntaxNode], scope: frozenset[str], variable: str) -> list[t.SyntaxNode]:
    """Return the expressions whose names make the text shorter."""
    kept: list[t.SyntaxNode] = []
    for expr in sorted(counts, key=lambda e: -_size(e)):
        repeats = counts[expr] - 1
        saved = repeats * _size(expr) * NODE_CHARACTERS
        if saved <= BINDING_CHARACTERS or not _is_total(expr):
            continue
        kept.append(expr)
        for inner, times in _count_expressions(expr, scope, variable).items():
            if inner is not expr and inner in counts:
                counts[inner] -= repeats * times  # they stand once, in the binding
    return kept


def _count_expressions(node: t.SyntaxNode, scope: frozenset[str], variable: str) -> Counter[t.SyntaxNode]:
    """Return how often each expression of variables in `scope`, `variable` among them, is in a node."""
    counts: Counter[t.SyntaxNode] = Counter()
    for inner_scope, roots in _roots(node, scope, variable).items():
        # Larger ones first: then all that hold a node have been seen when its turn comes.
        waiting = [(-_size(expr), number, expr) for number, expr in enumerate(roots)]
        heapify(waiting)
        while waiting:
            _, _, expr = heappop(waiting)
            times = roots[expr]
            if (
                isinstance(expr, (t.BinaryOperation, t.Conditional))
                and _size(expr) >= MIN_NODES
                and variable in free(expr)
                and free(expr) <= inner_scope
            ):
                counts[expr] += times
            for child in children(expr):
                if variable not in list_variables(child):
                    continue
                if child not in roots:
                    heappush(waiting, (-_size(child), len(roots), child))
                roots[child] += times
    return counts


def _roots(
    node: t.SyntaxNode, scope: frozenset[str], variable: str
) -> dict[frozenset[str], Counter[t.SyntaxNode]]:
    """Return the whole expressions and relations in a node, how often each is there, by what is in scope."""
    roots: dict[frozenset[str], Counter[t.SyntaxNode]] = {}
    waiting = [(node, scope)]
    while waiting:
        expr, scope = waiting.pop()
        if isinstance(expr, t.Let) or variable not in list_variables(expr):
            continue
        if isinstance(expr, WITHOUT_SCOPES):
            roots.setdefault(scope, Counter())[expr] += 1
            continue
        inner = scope - {expr.variable} if isinstance(expr, (t.ForEach, t.SuchThat)) else scope
        outside = expr.ranges if isinstance(expr, t.ForEach) else ()
        waiting += [(child, scope if child in outside else inner) for child in reversed(children(expr))]
    return roots


@cached_on_node
def _size(node: t.SyntaxNode) -> int:
    """Return the number of nodes in a node."""
    return 1 + sum(map(_size, children(node)))


def _has_loops(node: t.SyntaxNode) -> bool:
    return isinstance(node, (t.Sentence, t.Block, t.If, t.ForEach, t.ForCount))


@cached_on_node
def _is_total(node: t.SyntaxNode) -> bool:
    """Return whether an expression has the same value whenever it is evaluated, and always has one."""
    match node:
        case t.BinaryOperation("/" | "MOD", _, t.Integer(n)) if n:
            pass
        case t.BinaryOperation(operator) if operator not in SAFE:
            return False
        case t.Variable(name) if name in PREDECLARED and name != "num_tasks":
            return False
        case t.FunctionCall() | t.FileData() | t.Real() | t.MyTask():
            return False
        case t.Comprehension() | t.MeshNeighbor() | t.MeshCoordinate() | t.MeshDistance():
            return False
    return all(map(_is_total, children(node)))
