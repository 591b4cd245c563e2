"""Statements and computation times of a program for the ranks of one trace.

Times are whole microseconds: a mean, or random numbers drawn from a histogram.

A histogram becomes alternatives: with the probability of its bin, a time that is evenly distributed about the
bin's mean. Each alternative draws its own random number, so it has its share of what the previous ones leave.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common.expr_writer import tasks, total
from scalatrace.codegen.emit.conceptual.common.statement_writer import StatementWriter
from scalatrace.codegen.program.specialise import Specialiser
from scalatrace.codegen.program.tree import BenchmarkProgram, Duration
from scalatrace.formula import Var
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Bin
from scalatrace.trace.values.ranklist import RankList

__all__ = ["FixedWriter", "draw"]

_Durations = tuple[Duration, ...]

_RESOLUTION = 1_000_000
"""Probabilities are multiples of 1 / RESOLUTION."""


def _mean(durations: _Durations) -> t.Expr:
    """Return the mean of the durations' sum."""
    return t.Integer(round(sum(duration.ns for duration in durations) / 1000))


def _drawn_sum(durations: _Durations) -> t.Expr:
    """Return the sum of a draw from each duration."""
    return total([draw(duration) for duration in durations])


def draw(duration: Duration) -> t.Expr:
    """Return an expression that draws another time whenever it is evaluated."""
    if duration.histogram is None:
        return _mean((duration,))
    bins = [b for b in duration.histogram.drawn_bins if b.count]
    return _alternatives(sorted(bins, key=lambda b: -b.count), sum(b.count for b in bins))


def _alternatives(bins: Sequence[Bin], left: int) -> t.Expr:
    first, *later = bins
    if not later:
        return _within(first)
    share = min(_RESOLUTION - 1, max(1, round(_RESOLUTION * first.count / left)))
    alternatives = _alternatives(later, left - first.count)
    return t.Conditional(
        _within(first), t.NumberComparison("<", _uniform(0, _RESOLUTION), t.Integer(share)), alternatives
    )


def _within(b: Bin) -> t.Expr:
    """Return a time of a bin, as far above its mean as below."""
    spread = min(b.mean - b.min, b.max - b.mean)
    low, high = round((b.mean - spread) / 1000), round((b.mean + spread) / 1000)
    return _uniform(low, high + 1) if high > low else t.Integer(low)


def _uniform(low: int, stop: int) -> t.Expr:
    return t.FunctionCall("RANDOM_UNIFORM", (t.Integer(low), t.Integer(stop)))


ZERO = t.Integer(0)


class FixedWriter(StatementWriter):
    """Statements in terms of rank sets.

    Attributes:
        everyone: all ranks.
        trace: the communicators of the program.
        special: gives an expression's value on one rank.
    """

    def __init__(self, program: BenchmarkProgram, is_drawn: bool = False) -> None:
        super().__init__()
        self.program_tree, self.nprocs, self.is_drawn = program, program.nprocs, is_drawn
        self.everyone = RankList.all(program.nprocs)
        self.trace = Trace(program.nprocs, comms=list(program.comms))
        self.special = Specialiser(self.trace)
        self._computation: tuple[RankList, tuple[_Durations, _Durations], Var | None] | None = None

    def compute(self, ranks: RankList, times: tuple[Duration, Duration], first: Var | None) -> None:
        """Record that ranks compute; `flush` adds one statement for consecutive computations.

        Args:
            times: in the first iteration and in the others.
            first: the variable of the loop that has such a first iteration.
        """
        early: _Durations = (times[0],)
        late: _Durations = (times[1],)
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
        time_of = _drawn_sum if self.is_drawn else _mean
        early, late = time_of(times[0]), time_of(times[1])
        time = late
        if first is not None and early != late:
            time = t.Conditional(early, t.NumberComparison("=", t.Variable(first.name), ZERO), late)
        if (early, late) != (ZERO, ZERO):
            self.add(t.Delay(self.tasks(ranks), False, time, "MICROSECONDS"))

    def tasks(self, ranks: RankList) -> t.Tasks:
        """Return a set of ranks as tasks that no variable names."""
        return tasks(ranks, self.nprocs, named=False)
