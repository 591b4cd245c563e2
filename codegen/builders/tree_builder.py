"""The walk over a compressed tree that builds a program, for recorded and for symbolic traces.

Both give the nodes of the tree other types and values of other kinds. The walk turns repeats into conditions
and loops, and follows the possible predecessors of each call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, Self, TypeVar

from scalatrace.codegen.program.tree import Branch, LoopStatement, Stmt
from scalatrace.codegen.timing.predecessors import Predecessors
from scalatrace.formula import TRUE, Cond, Expr, Var, bounds, is_nonzero
from scalatrace.trace.values.ranklist import RankList

__all__ = ["SILENT", "Built", "TreeBuilder", "under"]

SILENT = frozenset({"Init", "Init_thread", "Finalize"})
"""Operations that every benchmark has around its body."""

Built = tuple[list[Stmt], Predecessors]
"""Statements, and the predecessors after them."""


class BuilderScope(Protocol):
    """The place of a node in the walk."""

    @property
    def predecessors(self) -> Predecessors:
        """The possible predecessors of the node's first call."""

    def after(self, predecessors: Predecessors) -> Self:
        """Return the place of the node's next sibling."""


NodeT = TypeVar("NodeT")
RanksT = TypeVar("RanksT")
ScopeT = TypeVar("ScopeT", bound=BuilderScope)


class TreeBuilder(ABC, Generic[NodeT, RanksT, ScopeT]):
    """Builds the statements of nodes; a subclass gives the values of one kind of trace.

    Attributes:
        depth: loops around the place of the walk. Loop variables have it in their names, so that equal loops
            are equal statements.
    """

    def __init__(self) -> None:
        self.depth = 0

    def nodes(self, nodes: Sequence[NodeT], scope: ScopeT) -> Built:
        """Build nodes in order."""
        stmts: list[Stmt] = []
        for node in nodes:
            more, predecessors = self.node(node, scope)
            stmts += more
            scope = scope.after(predecessors)
        return stmts, scope.predecessors

    @abstractmethod
    def node(self, node: NodeT, scope: ScopeT) -> Built:
        """Build one node: the condition of its ranks around its repeats."""

    @abstractmethod
    def content(self, node: NodeT, scope: ScopeT) -> Built:
        """Build what a node does each time: its children, or its call."""

    def repeated(self, node: NodeT, times: Expr, scope: ScopeT) -> Built:
        """Build the repeats of a node for the ranks that run it."""
        limits, outside = bounds(times), scope.predecessors
        if limits == (1, 1):
            return self.content(node, self.once(node, times, scope, TRUE))
        if limits == (0, 1):
            cond = is_nonzero(times)
            stmts, predecessors = self.content(node, self.once(node, times, scope, cond))
            return under(cond, stmts), self.unless(cond, outside, predecessors)
        self.depth += 1
        variable = Var(f"i{self.depth}", self.limit(limits))
        end = self.flow(node, self.ranks(scope), outside)
        inner = self.iteration(node, times, scope, variable, outside.looped(end, variable))
        stmts, predecessors = self.content(node, inner)
        self.depth -= 1
        predecessors = predecessors.left(variable)
        if not limits or limits[0] < 1:
            predecessors = outside.either(predecessors)
        return [LoopStatement(variable, times, tuple(stmts))] if stmts else [], predecessors

    @abstractmethod
    def once(self, node: NodeT, times: Expr, scope: ScopeT, cond: Cond) -> ScopeT:
        """Return the place within a node that runs once, where a condition holds."""

    @abstractmethod
    def iteration(
        self, node: NodeT, times: Expr, scope: ScopeT, variable: Var, predecessors: Predecessors
    ) -> ScopeT:
        """Return the place within a node that a loop with this variable repeats."""

    def limit(self, limits: tuple[int, int] | None) -> int | None:
        """Return the limit of a loop variable from the bounds of its trip count."""
        return limits[1] if limits else None

    def unless(self, cond: Cond, outside: Predecessors, inside: Predecessors) -> Predecessors:
        """Return the predecessors after a branch without an alternative."""
        return outside.unless(cond, inside)

    def flow(self, node: NodeT, ranks: RanksT, predecessors: Predecessors) -> Predecessors:
        """Return the predecessors after the content of a node ran once on these ranks."""
        children = self.children(node)
        if children is None:
            pred = self.predecessor(node)
            return predecessors if pred is None else predecessors.called(pred, self.listed(ranks))
        listed_ranks = self.listed(ranks)
        for child in children:
            runners = self.runners(child, ranks)
            if runners is None:
                continue
            mine = self.listed(runners)
            before = predecessors.only(mine)
            after = self.flow(child, runners, before)
            if self.may_skip(child):
                after = before.either(after)
            predecessors = after.joined(predecessors.only(listed_ranks - mine))
        return predecessors

    @abstractmethod
    def ranks(self, scope: ScopeT) -> RanksT:
        """Return the ranks at a place."""

    @abstractmethod
    def listed(self, ranks: RanksT) -> RankList:
        """Return ranks by their numbers."""

    @abstractmethod
    def children(self, node: NodeT) -> Sequence[NodeT] | None:
        """Return the children of a node; None for an event."""

    @abstractmethod
    def predecessor(self, node: NodeT) -> int | None:
        """Return the number of an event as a predecessor; None if it makes no call."""

    @abstractmethod
    def runners(self, node: NodeT, ranks: RanksT) -> RanksT | None:
        """Return the ranks that run a node at all; None if there are none."""

    @abstractmethod
    def may_skip(self, node: NodeT) -> bool:
        """Return whether a rank that runs a node at all can also skip it."""


def under(cond: Cond, stmts: list[Stmt]) -> list[Stmt]:
    """Return statements under a condition."""
    return stmts if cond == TRUE or not stmts else [Branch(cond, tuple(stmts))]
