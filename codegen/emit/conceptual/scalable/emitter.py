"""Scalable benchmarks in coNCePTuaL (§4.4.5): who acts is a condition on tasks, sides are parameters.

x IS "ranks along x" AND COMES FROM "--x" OR "-x" WITH DEFAULT 4 .
TASKS t SUCH THAT t MOD y > 0 ASYNCHRONOUSLY SEND A 64 BYTE MESSAGE TO UNSUSPECTING TASK t - 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scalatrace.codegen.build.places import opposite
from scalatrace.codegen.build.sample import Mask
from scalatrace.codegen.emit.conceptual import expr_writer as words
from scalatrace.codegen.emit.conceptual.collectives import PATTERNS, blocking_form
from scalatrace.codegen.emit.conceptual.messages import COMPLETIONS, RECEIVES, SENDS
from scalatrace.codegen.emit.conceptual.pending import Request
from scalatrace.codegen.emit.conceptual.scalable.grouped import Grouped
from scalatrace.codegen.emit.conceptual.scalable.message_emitter import Said
from scalatrace.codegen.emit.conceptual.scalable.preamble import clock, preamble
from scalatrace.codegen.emit.text import hash_comment
from scalatrace.codegen.errors import GenerateError, where
from scalatrace.codegen.expr import TRUE, Compare, Cond, Const, Expr, add, all_of, bounds, compare
from scalatrace.codegen.program.tree import Branch, Call, Compute, Loop, Note, Program, Stmt, asks_for
from scalatrace.ops import Category, operation

__all__ = ["ScalableWriting"]

SILENT = frozenset({Category.COMMUNICATOR, Category.DATATYPE, Category.ENVIRONMENT})
NOTHING = Const(0)


class ScalableWriting:
    """The text of a program for any number of tasks."""

    def __init__(self, program: Program) -> None:
        assert program.shape is not None
        self.program, self.shape = program, program.shape
        self.said = Said(program)
        self.grouped = Grouped(self.said)

    def text(self) -> str:
        """The whole program."""
        title = f" of {hash_comment(self.program.title)}" if self.program.title else ""
        self.said.lines.add(f"# Communication benchmark{title}, for any grid of tasks.", "")
        for line in preamble(self.said.tongue):
            self.said.lines.add(line)
        self.said.lines.add("ALL TASKS SYNCHRONIZE THEN ALL TASKS RESET THEIR COUNTERS.")
        self.body(self.program.body, TRUE, self.said.sample.everyone)
        self.said.flush()
        left = self.said.unfinished()
        if left.any():
            self.said.say(f"{self.said.who(self.said.asking(left), named=False)} AWAIT COMPLETION")
        self.said.lines.add("ALL TASKS SYNCHRONIZE THEN", 'TASK 0 LOGS elapsed_usecs/1E6 AS "Seconds".')
        return str(self.said.lines)

    def body(self, body: Sequence[Stmt], cond: Cond, ranks: Mask) -> None:
        """Statements of the tasks for which a condition holds."""
        for stmt in body:
            match stmt:
                case Call():
                    self.call(stmt, cond, ranks)
                case Compute():
                    self.compute(stmt, cond)
                case Loop():
                    self.loop(stmt, cond, ranks)
                case Branch():
                    self.branch(stmt, cond, ranks)
                case Note(text):
                    self.said.lines.add(f"# {hash_comment(text)}")

    def branch(self, branch: Branch, cond: Cond, ranks: Mask) -> None:
        """Conditions on ranks are told with the tasks, others are an IF."""
        if self.said.local(branch.cond):
            for some, body in ((branch.cond, branch.then), (opposite(branch.cond), branch.otherwise)):
                mine = ranks & self.said.sample.mask(some) if self.said.fixed(some) else ranks
                if body:
                    self.body(body, all_of(cond, some), mine)
            return
        before = self.said.pending.copy()
        with self.said.braces(f"IF {words.cond(self.said.tongue.cond(branch.cond))} THEN"):
            self.body(branch.then, cond, ranks)
        if branch.otherwise:
            after, self.said.pending = self.said.pending, before
            with self.said.braces(f"IF {words.cond(self.said.tongue.cond(opposite(branch.cond)))} THEN"):
                self.body(branch.otherwise, cond, ranks)
            before = after
        self.said.pending.either(before)

    def loop(self, loop: Loop, cond: Cond, ranks: Mask) -> None:
        """A loop of all tasks; where they have other trip counts, the longest, and each does its own."""
        name, times = loop.variable.name, loop.count
        most = self.most(times)
        if most != times:
            cond = all_of(cond, Compare("<", loop.variable, times))
        before = self.said.pending.copy()
        count = self.said.tongue.expr(most)
        if most == times and not asks_for(loop.body, name):
            with self.said.braces(f"FOR {words.atom(count)} REPETITIONS"):
                self.body(loop.body, cond, ranks)
        else:
            last = words.expr(add(count, Const(-1)))
            head = (
                f"FOR EACH {name} IN {{0, ..., {last}}}" if count != Const(1) else f"FOR EACH {name} IN {{0}}"
            )
            guard = compare(">", count, Const(0))
            if guard != TRUE:
                with self.said.braces(f"IF {words.cond(guard)} THEN"), self.said.braces(head):
                    self.body(loop.body, cond, ranks)
            else:
                with self.said.braces(head):
                    self.body(loop.body, cond, ranks)
        turns = (
            np.broadcast_to(self.said.sample.value(times), ranks.shape) if self.said.fixed(times) else None
        )
        for rank in np.flatnonzero(ranks).tolist():
            self.said.pending.looped(before, before, rank, None if turns is None else int(turns[rank]))

    def most(self, times: Expr) -> Expr:
        """The largest of the trip counts that tasks have. Raises GenerateError when nobody knows it."""
        if not self.said.local(times):
            return times
        if (limits := bounds(times)) is not None:
            return Const(limits[1])
        raise GenerateError("a loop's trip count that depends on a rank's place has no words in coNCePTuaL")

    def compute(self, compute: Compute, cond: Cond) -> None:
        """`ALL TASKS COMPUTE FOR 12 MICROSECONDS`"""
        texts = [clock(context.duration) for context in compute.contexts]
        time = texts[0]
        if compute.first is not None and len(texts) > 1 and texts[0] != texts[1]:
            time = f"({texts[0]} IF {compute.first.name} = 0 OTHERWISE {texts[1]})"
        self.said.compute(cond, time)

    def call(self, call: Call, cond: Cond, ranks: Mask) -> None:
        """One MPI call of these tasks."""
        if call.dropped:
            site = self.said.site(call)
            self.said.lines.add(f"# left out: MPI_{hash_comment(call.op)}{f' at {site}' if site else ''}")
            return
        try:
            self._call(call, cond, ranks)
        except GenerateError as error:
            raise GenerateError(f"MPI_{call.op}{where(call.site)}: {error}") from None

    def _call(self, call: Call, cond: Cond, ranks: Mask) -> None:
        op = call.op
        if op in SENDS:
            self.said.message(call, cond, ranks, "SEND", op.startswith("I"))
        elif op in RECEIVES and not op.removeprefix("I").startswith("M"):
            self.said.message(call, cond, ranks, "RECEIVE", op == "Irecv")
        elif op == "Sendrecv":
            self.said.exchange(call, cond, ranks)
        elif op in COMPLETIONS:
            self.said.complete(call, ranks)
        elif (blocking := blocking_form(op)) in PATTERNS:
            if not ranks.all() or cond != TRUE:
                raise GenerateError("not all tasks call it here: it is no collective of a grid's slices")
            self.grouped.collective(replace(call, op=blocking))
            if blocking != op:  # its request is a number among others: nothing is under way
                self.said.pending.make(self.said.listed(ranks), Request(None, False))
        elif operation(op).category not in SILENT:
            raise GenerateError(
                "this operation has no words for any number of tasks, perhaps for a fixed one"
            )
