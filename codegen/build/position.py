"""A place in a scalable program: who comes there, in which turn of which loops."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from scalatrace.codegen.build.algebra import Facts
from scalatrace.codegen.build.sample import Mask
from scalatrace.codegen.expr import Const, Expr
from scalatrace.trace.model.rules import Field
from scalatrace.trace.symbolic.field import runs_once

__all__ = ["LoopIteration", "Position"]


@dataclass(frozen=True, eq=False)
class Position:
    """A place.

    Attributes:
        ranks: who comes here.
        facts: what is known of variables.
        loops: around it, the outermost first; what runs once everywhere is none.
        known: how often it was met before, per depth; `Values.met` keeps it.
    """

    ranks: Mask
    facts: Facts
    loops: tuple[LoopIteration, ...] = ()
    known: dict[int, Expr] = field(init=False, default_factory=dict)

    def inside(self, repeat: Field, index: Expr, times: Expr, facts: Facts | None = None) -> Position:
        """The place within a node that is repeated here so many times, in one of these turns."""
        turns = () if runs_once(repeat) else (LoopIteration(self, repeat, index, times),)
        return replace(self, loops=(*self.loops, *turns), facts=facts or self.facts)

    def once(self, repeat: Field) -> Position:
        """The place within a node that those who come here run once."""
        return self.inside(repeat, Const(0), Const(1))


@dataclass(frozen=True, eq=False)
class LoopIteration:
    """A loop around a place, and in which turn of it that is.

    Attributes:
        outer: where the loop stands.
        repeat: how often it turns there.
    """

    outer: Position
    repeat: Field
    index: Expr
    times: Expr
