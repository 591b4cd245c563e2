"""What statements have to know of sets of tasks, whether or not the number of tasks is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.program.specialise import per_value
from scalatrace.codegen.program.tree import BenchmarkProgram, LoopStatement, MpiCall
from scalatrace.formula import (
    TRUE,
    Choose,
    Cond,
    Const,
    Expr,
    Item,
    Select,
    Special,
    Value,
    choose,
    map_leaves,
    mul,
    number,
    number_or,
)
from scalatrace.trace.values.ranklist import RankList

__all__ = ["CommunicatorTasks", "Preamble", "TaskSet", "TaskSets"]

Preamble = tuple[str, list[t.Header], Sequence[t.Assert | t.ForEach]]
"""The tasks that a program is for, in words; declarations of parameters; assertions, also for each task."""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Some tasks.

    Attributes:
        ranks: of the trace, or of sample grids; where the condition depends on loops, all that it may select.
        cond: what selects them in any grid.
    """

    ranks: RankList
    cond: Cond = TRUE


@dataclass(frozen=True, slots=True)
class CommunicatorTasks:
    """The communicators whose tasks make a collective by one statement.

    Attributes:
        chosen: the tasks of a single one.
        members: their numbers, for a loop.
        size: how many tasks each has.
        root: the root as a task.
        nbytes: of one message.
        rule: of many communicators: what is c for the tasks of the c-th; None: there is one.
        last: the last c.
    """

    chosen: TaskSet
    members: t.Range
    size: Expr
    root: Expr
    nbytes: Expr
    rule: Expr | None = None
    last: Expr | None = None


class TaskSets(ABC):
    """Answers for the tasks of one program.

    Attributes:
        everyone: all tasks.
        unsure: ranks that send without waiting what may be to themselves, and may not.
    """

    def __init__(self, program: BenchmarkProgram, ranks: RankList) -> None:
        self.program, self.everyone, self.unsure = program, TaskSet(ranks), RankList()

    @abstractmethod
    def preamble(self) -> Preamble:
        """Return what stands before the statements."""

    @abstractmethod
    def condition(self, chosen: TaskSet) -> Cond:
        """Return the condition that selects a set, in variables of the text."""

    @abstractmethod
    def single(self, chosen: TaskSet) -> Expr | None:
        """Return the only task of a set; None where it may have several."""

    @abstractmethod
    def select(self, ranks: RankList, within: TaskSet) -> TaskSet:
        """Return the set of some ranks of a set."""

    @abstractmethod
    def cases(self, cond: Cond, chosen: TaskSet) -> list[tuple[TaskSet, Cond]]:
        """Return a set by what a condition is there: nothing that depends on the task; FALSE comes last."""

    @abstractmethod
    def values(self, exprs: Sequence[Value], chosen: TaskSet) -> list[tuple[TaskSet, tuple[Value, ...]]]:
        """Return a set by what expressions are there; where formulas allow it, the same for all its tasks."""

    @abstractmethod
    def trip_counts(self, loop: LoopStatement, chosen: TaskSet) -> list[tuple[TaskSet, Expr]]:
        """Return who runs a loop together, and how often."""

    @abstractmethod
    def known(self, e: Value, rank: int) -> int | None:
        """Return what an expression always is on a rank (of symbols, their number); None if it varies."""

    @abstractmethod
    def peers(
        self, call: MpiCall, name: str, chosen: TaskSet, apart: bool
    ) -> Iterator[tuple[TaskSet, Expr, bool]]:
        """Yield sets with one rule for their peers, the rule, and whether it can be the task itself.

        Args:
            name: of the parameter; no message is to PROC_NULL.
            apart: tell such tasks from others; else it is not asked.
        """

    @abstractmethod
    def communicators(self, call: MpiCall, chosen: TaskSet) -> Iterator[CommunicatorTasks]:
        """Yield the communicators of a collective."""

    @abstractmethod
    def at(self, e: Expr, task: Expr) -> Expr:
        """Return an expression for one task."""

    def translate(self, e: Expr) -> Expr:
        """Return an expression in variables of the text."""
        return e

    def tabulate(self, parts: Sequence[Value], of: Callable[..., int]) -> Expr | None:
        """Return a function of expressions as a table over the iterations; None where there can be none."""
        return None

    def tasks(self, chosen: TaskSet, task: str = "t", named: bool = True, target: bool = False) -> t.Tasks:
        """Return a set as tasks; arguments as in `expr_writer.tasks_with`."""
        if (single_task := self.single(chosen)) is not None:
            return t.OneTask(writing.expr(single_task))
        cond = self.condition(chosen)
        return writing.tasks_with(None if cond == TRUE else writing.cond(cond, task), task, named, target)

    def is_null(self, kind: int) -> bool:
        """Return whether a datatype is none."""
        return kind < 0 or self.program.types[kind].description == "MPI_DATATYPE_NULL"

    def nbytes(self, n: Value, kind: Value) -> Expr:
        """Return the size of so many elements of a datatype; symbols are nothing."""
        sizes = tuple(datatype.size for datatype in self.program.types)
        if isinstance(n, Special) or isinstance(kind, Special):
            return Const(0)
        if isinstance(kind, Choose | Select):
            if not isinstance(n, Const):  # the two go together, and each alone may be what never comes
                table = self.tabulate([n, kind], lambda a, b: max(0, a) * (sizes[b] if b >= 0 else 0))
                if table is not None:
                    return table
            return choose(kind.cond, self.nbytes(n, kind.then), self.nbytes(n, kind.otherwise))
        size = per_value(number_or(kind, -1), lambda i: sizes[i] if i >= 0 else 0)
        if isinstance(size, Const):
            factor = size.value
            nbytes: Expr = map_leaves(number_or(n, 0), lambda leaf: _scaled(leaf, factor))
            return nbytes
        if isinstance(n, Const) and isinstance(size, Item):
            n = Item((n.value,) * len(size.table), size.index)
        if isinstance(size, Item) and isinstance(n, Item) and n.index == size.index:
            pairs = zip(n.table, size.table, strict=False)  # an index is within both: the rest never comes
            return Item(tuple(max(0, a) * b for a, b in pairs), n.index)
        table = self.tabulate([n, size], lambda a, b: max(0, a) * b)
        return mul(number_or(n, 0), number(size)) if table is None else table


def _scaled(leaf: Expr, size: int) -> Expr:
    """Return so many elements of a size in bytes; a negative number is none."""
    if isinstance(leaf, Const):
        return Const(max(0, leaf.value) * size)
    if isinstance(leaf, Item):
        return Item(tuple(max(0, v) * size for v in leaf.table), leaf.index)
    return mul(leaf, Const(size))
