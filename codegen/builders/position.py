"""A position in a scalable program: its ranks, and the iterations of the loops around it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from scalatrace.codegen.builders.sample import Mask
from scalatrace.formula import Const, Expr
from scalatrace.formula.domain import Domain
from scalatrace.trace.model.symbolic import Field
from scalatrace.trace.symbolic.field import runs_once

__all__ = ["BuilderPosition", "LoopIteration"]


@dataclass(frozen=True, eq=False)
class BuilderPosition:
    """A position.

    Attributes:
        ranks: the ranks that get here.
        facts: bounds of variables.
        loops: the loops around it, the outermost first, without nodes that all ranks run once.
        known: entry counts by depth, cached by `FieldValues.entry_count`.
    """

    ranks: Mask
    facts: Domain
    loops: tuple[LoopIteration, ...] = ()
    known: dict[int, Expr] = field(init=False, default_factory=dict)

    def inside(self, repeat: Field, index: Expr, times: Expr, facts: Domain | None = None) -> BuilderPosition:
        """Return the position within a node that is repeated here, in one of its iterations."""
        iterations = () if runs_once(repeat) else (LoopIteration(self, repeat, index, times),)
        return replace(self, loops=(*self.loops, *iterations), facts=facts or self.facts)

    def once(self, repeat: Field) -> BuilderPosition:
        """Return the position within a node that the ranks here run once."""
        return self.inside(repeat, Const(0), Const(1))


@dataclass(frozen=True, eq=False)
class LoopIteration:
    """One iteration of a loop around a position.

    Attributes:
        outer: the position of the loop.
        repeat: its trip count as a field of the trace.
    """

    outer: BuilderPosition
    repeat: Field
    index: Expr
    times: Expr
