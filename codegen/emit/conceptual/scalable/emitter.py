"""Build a coNCePTuaL program for any number of tasks (§4.4.5): conditions select tasks, sides are parameters.

x IS "tasks along x" AND COMES FROM "--x" OR "-x" WITH DEFAULT 4.
TASKS t SUCH THAT t MOD y > 0 ASYNCHRONOUSLY SEND A 64 BYTE MESSAGE TO UNSUSPECTING TASK (t - 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from scalatrace.codegen.builders.places import opposite
from scalatrace.codegen.builders.sample import Mask
from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import COMPLETIONS, RECEIVES, SENDS, SILENT
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, blocking_form
from scalatrace.codegen.emit.conceptual.common.pending import Pending, Request
from scalatrace.codegen.emit.conceptual.scalable.collectives import ScalableCollectiveEmitter
from scalatrace.codegen.emit.conceptual.scalable.messages import ScalableMessageEmitter
from scalatrace.codegen.emit.conceptual.scalable.preamble import clock, preamble
from scalatrace.codegen.errors import GenerateError, cannot_write
from scalatrace.codegen.program.tree import Branch, Call, Compute, Loop, Program, Stmt, asks_for
from scalatrace.errors import FormulaError
from scalatrace.formula import TRUE, Compare, Cond, Const, Expr, add, all_of, bounds, compare
from scalatrace.operations import operation

__all__ = ["ScalableEmitter"]


class ScalableEmitter:
    """The tree of a program for any number of tasks."""

    def __init__(self, program: Program) -> None:
        assert program.shape is not None
        self.program, self.shape = program, program.shape
        self.writer = ScalableMessageEmitter(program)
        self.collectives = ScalableCollectiveEmitter(self.writer)

    def tree(self) -> t.Program:
        """Return the whole program."""
        headers, assertions = preamble(self.writer.translator)
        self.body(self.program.body, TRUE, self.writer.sample.everyone)
        self.writer.flush()
        left = self.writer.unfinished()
        if left.any():
            self.writer.add(t.Await(self.writer.tasks(self.writer.asking(left), named=False)))
        return self.writer.program(self.program, "any grid of tasks", headers, assertions)

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

    def branch(self, branch: Branch, cond: Cond, ranks: Mask) -> None:
        """Conditions on ranks select tasks, others become an IF."""
        if self.writer.local(branch.cond):
            for some, body in ((branch.cond, branch.then), (opposite(branch.cond), branch.otherwise)):
                mine = ranks & self.writer.sample.mask(some) if self.writer.fixed(some) else ranks
                if body:
                    self.body(body, all_of(cond, some), mine)
            return
        before = self.writer.pending.copy()
        with self.writer.block(self.condition(branch.cond)):
            self.body(branch.then, cond, ranks)
        if branch.otherwise:
            after, self.writer.pending = self.writer.pending, before
            with self.writer.block(self.condition(opposite(branch.cond))):
                self.body(branch.otherwise, cond, ranks)
            before = after
        self.writer.pending.either(before)

    def loop(self, loop: Loop, cond: Cond, ranks: Mask) -> None:
        """Add a loop of all tasks with the largest trip count; conditions limit each task to its own."""
        name, times = loop.variable.name, loop.count
        longest = self.longest(times)
        if longest != times:
            cond = all_of(cond, Compare("<", loop.variable, times))
        before = self.writer.pending.copy()
        size = self.writer.translator.expr(longest)
        count = writing.expr(size)
        around: Callable[[t.Block], t.Statement] = partial(t.ForCount, count)
        guard: Cond = TRUE
        if longest != times or asks_for(loop.body, name):
            last = writing.range_to(writing.expr(add(size, Const(-1))))
            around = partial(t.ForEach, name, (last,))
            guard = compare(">", size, Const(0))
        if guard != TRUE:
            with self.writer.block(partial(t.If, writing.cond(guard))), self.writer.block(around):
                self.body(loop.body, cond, ranks)
        else:
            with self.writer.block(around):
                self.body(loop.body, cond, ranks)
        self.record_iterations(times, ranks, before)

    def record_iterations(self, times: Expr, ranks: Mask, before: Pending) -> None:
        """Set the pending messages after a loop."""
        counts = None
        if self.writer.fixed(times):
            counts = np.broadcast_to(self.writer.sample.value(times), ranks.shape)
        for rank in np.flatnonzero(ranks).tolist():
            self.writer.pending.looped(before, before, rank, None if counts is None else int(counts[rank]))

    def condition(self, cond: Cond) -> Callable[[t.Block], t.Statement]:
        """Return what makes an IF of a block."""
        return partial(t.If, writing.cond(self.writer.translator.cond(cond)))

    def longest(self, times: Expr) -> Expr:
        """Return the largest of the tasks' trip counts. Raises GenerateError if it has no known bound."""
        if not self.writer.local(times):
            return times
        if (limits := bounds(times)) is not None:
            return Const(limits[1])
        raise GenerateError(
            "the trip count of a loop depends on the rank's place in the grid and has no bound: "
            "coNCePTuaL has no statement for it; use --to c or --to python"
        )

    def compute(self, compute: Compute, cond: Cond) -> None:
        """`ALL TASKS COMPUTE FOR 12 MICROSECONDS`"""
        times = [clock(context.duration) for context in compute.contexts]
        time = times[0]
        if compute.first is not None and len(times) > 1 and times[0] != times[1]:
            first = t.Compare("=", t.Variable(compute.first.name), t.Integer(0))
            time = t.Conditional(times[0], first, times[1])
        self.writer.compute(cond, time)

    def call(self, call: Call, cond: Cond, ranks: Mask) -> None:
        """One MPI call of these tasks."""
        if call.dropped:
            self.writer.left_out(call)
            return
        try:
            self._call(call, cond, ranks)
        except (GenerateError, FormulaError) as error:
            raise cannot_write(call.op, call.site, "conceptual", error) from None

    def _call(self, call: Call, cond: Cond, ranks: Mask) -> None:
        op = call.op
        if op in SENDS:
            self.writer.message(call, cond, ranks, True, operation(op).nonblocking)
        elif op in RECEIVES and not operation(op).matched:
            self.writer.message(call, cond, ranks, False, operation(op).nonblocking)
        elif op == "Sendrecv":
            self.writer.exchange(call, cond, ranks)
        elif op in COMPLETIONS:
            self.writer.complete(call, ranks)
        elif (blocking := blocking_form(op)) in PATTERNS:
            if not ranks.all() or cond != TRUE:
                raise GenerateError("not all tasks call it: its communicator is no slice of the grid")
            self.collectives.collective(replace(call, op=blocking))
            if blocking != op:  # its request keeps its age, but no message is pending
                self.writer.pending.make(self.writer.listed(ranks), Request(None, False))
        elif operation(op).category not in SILENT:
            raise GenerateError("no statement for any number of tasks means it")
