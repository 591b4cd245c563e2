"""Collect the statements of a program: nested blocks, comments, computations merged into one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.names import free
from scalatrace.codegen.emit.text import hash_comment
from scalatrace.codegen.program.tree import BenchmarkProgram, MpiCall

__all__ = ["Mark", "StatementWriter", "for_each_or_count", "transfer"]

Mark = tuple[int, tuple[str, ...]]
"""Number of statements in the open block, and the comment lines for its next statement."""


class StatementWriter:
    """The statements of the innermost open block, and comment lines for its next statement."""

    def __init__(self) -> None:
        self._statements: list[t.Statement] = []
        self._comments: list[str] = []

    def flush(self) -> None:
        """Add the statement for computations since the last message; a subclass that merges them has one."""

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

    def program(
        self,
        program: BenchmarkProgram,
        size: str,
        headers: Sequence[t.Header],
        assertions: Sequence[t.Assert],
    ) -> t.ProgramTree:
        """Return the whole program, with time measurement around the statements.

        Args:
            size: the tasks that the program is for, in the comment at its head.
        """
        self.flush()
        title = f" of {hash_comment(program.title)}" if program.title else ""
        everyone = t.AllTasks()
        start = (t.Synchronize(everyone), t.Counters(everyone, "RESETS"))
        seconds = t.LogColumn(
            t.BinaryOperation("/", t.Variable("elapsed_usecs"), t.Integer(10**6)), "Seconds"
        )
        last = t.Comments(above=tuple(self._comments))
        end = (t.Synchronize(everyone, comments=last), t.Log(t.OneTask(t.Integer(0)), (seconds,)))
        parts = (*((each,) for each in assertions), start, *((each,) for each in self._statements), end)
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
