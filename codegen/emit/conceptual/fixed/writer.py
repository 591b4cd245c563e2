"""Statements of a program for the ranks of one trace, and what all parts of its emitter know of it."""

from __future__ import annotations

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common.durations import Durations, drawn_sum, mean
from scalatrace.codegen.emit.conceptual.common.expr_writer import tasks
from scalatrace.codegen.emit.conceptual.common.statement_writer import StatementWriter
from scalatrace.codegen.program.specialise import Specialiser
from scalatrace.codegen.program.tree import Duration, Program
from scalatrace.formula import Var
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList

__all__ = ["FixedWriter"]

ZERO = t.Integer(0)


class FixedWriter(StatementWriter):
    """Statements in terms of rank sets.

    Attributes:
        everyone: all ranks.
        trace: the communicators of the program.
        special: gives an expression's value on one rank.
    """

    def __init__(self, program: Program, is_drawn: bool = False) -> None:
        super().__init__()
        self.program_tree, self.nprocs, self.is_drawn = program, program.nprocs, is_drawn
        self.everyone = RankList.all(program.nprocs)
        self.trace = Trace(program.nprocs, comms=list(program.comms))
        self.special = Specialiser(self.trace)
        self._computation: tuple[RankList, tuple[Durations, Durations], Var | None] | None = None

    def compute(self, ranks: RankList, times: tuple[Duration, Duration], first: Var | None) -> None:
        """Record that ranks compute; `flush` adds one statement for consecutive computations.

        Args:
            times: in the first iteration and in the others.
            first: the variable of the loop that has such a first iteration.
        """
        early: Durations = (times[0],)
        late: Durations = (times[1],)
        if self._computation is not None:
            same_ranks, before, variable = self._computation
            if same_ranks == ranks and (variable or first) == first:
                early, late = (*before[0], *early), (*before[1], *late)
            else:
                self.flush()
        self._computation = (ranks, (early, late), first)

    def flush(self) -> None:
        if self._computation is None:
            return
        ranks, times, first = self._computation
        self._computation = None
        time_of = drawn_sum if self.is_drawn else mean
        early, late = time_of(times[0]), time_of(times[1])
        time = late
        if first is not None and early != late:
            time = t.Conditional(early, t.Compare("=", t.Variable(first.name), ZERO), late)
        if (early, late) != (ZERO, ZERO):
            self.add(t.Delay(self.tasks(ranks), False, time, "MICROSECONDS"))

    def tasks(self, ranks: RankList) -> t.Tasks:
        """Return a set of ranks as tasks that no variable names."""
        return tasks(ranks, self.nprocs, named=False)
