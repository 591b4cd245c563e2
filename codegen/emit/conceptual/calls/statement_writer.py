"""Collect the statements of a program: nested blocks, comments, computations merged into one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import free
from scalatrace.codegen.emit.conceptual.common.computation import ZERO, drawn_sum, mean_sum
from scalatrace.codegen.emit.conceptual.sets.task_sets import Preamble, TaskSet, TaskSets
from scalatrace.codegen.emit.text import hash_comment
from scalatrace.codegen.program.tree import Duration, MpiCall
from scalatrace.formula import Var

__all__ = ["Mark", "StatementWriter", "for_each_or_count", "transfer"]

Mark = tuple[int, tuple[str, ...]]
"""Number of statements in the open block, and the comment lines for its next statement."""


class StatementWriter:
    """The statements of the innermost open block, and comment lines for its next statement."""

    def __init__(self, sets: TaskSets, is_drawn: bool = False) -> None:
        self.sets = sets
        self._sum: Callable[[Sequence[Duration]], t.Expr] = drawn_sum if is_drawn else mean_sum
        self._statements: list[t.Statement] = []
        self._comments: list[str] = []
        self._computation: tuple[TaskSet, list[Duration], list[Duration], Var | None] | None = None

    def compute(self, chosen: TaskSet, early: Duration, late: Duration, first: Var | None) -> None:
        """Record that tasks compute; `flush` adds one statement for consecutive computations.

        Args:
            early, late: times in the first iteration and in the others.
            first: the variable of the loop that has such a first iteration.
        """
        if self._computation is not None:
            tasks, before, later, variable = self._computation
            if tasks == chosen and (variable or first) == first:
                self._computation = chosen, [*before, early], [*later, late], first
                return
            self.flush()
        self._computation = chosen, [early], [late], first

    def flush(self) -> None:
        """Add the statement for computations since the last message."""
        if self._computation is None:
            return
        (chosen, before, later, first), self._computation = self._computation, None
        early, late = self._sum(before), self._sum(later)
        time = late
        if first is not None and early != late:
            time = t.Conditional(early, t.NumberComparison("=", t.Variable(first.name), ZERO), late)
        if (early, late) != (ZERO, ZERO):
            self.add(t.Delay(self.sets.tasks(chosen, named=False), False, time, "MICROSECONDS"))

    def add(self, statement: t.Statement, site: str = "") -> None:
        """Add a statement, with the call site of the application as a comment."""
        self.flush()
        comments = t.Comments(above=tuple(self._comments), behind=site)
        self._statements.append(replace(statement, comments=comments))
        self._comments.clear()

    def left_out(self, call: MpiCall) -> None:
        """Add a comment in the place of a call that the program leaves out."""
        site = self.site(call)
        self._comments.append(f"left out: MPI_{hash_comment(call.op)}{f' at {site}' if site else ''}")

    def mark(self) -> Mark:
        """Return the present place in the open block."""
        self.flush()
        return len(self._statements), tuple(self._comments)

    def back_to(self, mark: Mark) -> None:
        """Remove the statements and comments since a place in the open block."""
        self.flush()
        del self._statements[mark[0] :]
        self._comments = list(mark[1])

    @contextmanager
    def block(self, around: Callable[[t.Block], t.Statement]) -> Iterator[None]:
        """Collect the statements of a block, and add the statement around it unless the block is empty."""
        self.flush()
        outer = self._statements, self._comments
        self._statements, self._comments = [], []
        yield
        self.flush()
        body, below = self._statements, tuple(self._comments)
        self._statements, self._comments = outer
        if body:
            body[-1] = replace(body[-1], comments=replace(body[-1].comments, below=below))
            self.add(around(t.Block(tuple(body))))

    def site(self, call: MpiCall) -> str:
        """Return where the application made a call."""
        return hash_comment(call.site[0].short_frame()) if call.site else ""

    def program(self, preamble: Preamble) -> t.ProgramTree:
        """Return the whole program, with time measurement around the statements."""
        self.flush()
        size, headers, assertions = preamble
        program = self.sets.program
        title = f" of {hash_comment(program.title)}" if program.title else ""
        everyone = t.AllTasks()
        start = (t.Synchronize(everyone), t.Counters(everyone, "RESETS"))
        seconds = t.LogColumn(
            t.BinaryOperation("/", t.Variable("elapsed_usecs"), t.Integer(10**6)), "Seconds"
        )
        last = t.Comments(above=tuple(self._comments))
        end = (t.Synchronize(everyone, comments=last), t.Log(t.OneTask(t.Integer(0)), (seconds,)))
        parts = (
            *((sentence,) for sentence in assertions),
            start,
            *((sentence,) for sentence in self._statements),
            end,
        )
        comments = t.Comments(above=(f"Communication benchmark{title}, for {size}.",))
        return t.ProgramTree(tuple(headers), tuple(map(t.Sentence, parts)), comments=comments)


def for_each_or_count(variable: str, values: t.Range, count: t.Expr, body: t.Block) -> t.Statement:
    """Return a loop, with its variable if the body uses the variable."""
    return t.ForEach(variable, (values,), body) if variable in free(body) else t.ForCount(count, body)


def transfer(
    sends: bool, actors: t.Tasks, nbytes: t.Expr, tag: t.Expr | None, peer: t.Expr, asynchronous: bool
) -> t.Statement:
    """Return a send to an unsuspecting task, or a receive.

    Args:
        actors: the tasks that send or receive.
        peer: the task at the other end, which can depend on the variable of `actors`.
    """
    message, peer_task = t.MessageSpec(size=t.UnitAmount(nbytes, "BYTES"), tag=tag), t.OneTask(peer)
    later = True if asynchronous else None
    if sends:
        return t.Send(actors, message, peer_task, asynchronous=later, unsuspecting=True)
    return t.Receive(actors, message, peer_task, asynchronous=later)
