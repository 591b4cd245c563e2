"""Build the coNCePTuaL program of a recorded trace (§4.4.2).

Communicators become sets of the ranks of MPI_COMM_WORLD.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import (
    COMPLETIONS,
    EXCHANGES,
    INITS,
    PROBES,
    RECEIVES,
    SENDS,
)
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, blocking_form
from scalatrace.codegen.emit.conceptual.common.pending import EmittedRequest
from scalatrace.codegen.emit.conceptual.common.statement_writer import for_each_or_count
from scalatrace.codegen.emit.conceptual.fixed.collectives import CollectiveEmitter
from scalatrace.codegen.emit.conceptual.fixed.messages import MessageEmitter
from scalatrace.codegen.emit.conceptual.fixed.writer import FixedWriter
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.errors import GenerateError, cannot_write
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    LoopStatement,
    MpiCall,
    Stmt,
    asks_for,
)
from scalatrace.errors import FormulaError
from scalatrace.formula import TRUE, Cond, Const, Expr, add, compare, negate, number
from scalatrace.operations import operation
from scalatrace.trace.values.ranklist import RankList

__all__ = ["FixedEmitter"]


class FixedEmitter:
    """The tree of a program for the ranks of a trace."""

    def __init__(self, program: BenchmarkProgram, options: EmitOptions) -> None:
        self.program, self.nprocs = program, program.nprocs
        self.writer = FixedWriter(program, options.drawn)
        self.messages, self.collectives = MessageEmitter(self.writer), CollectiveEmitter(self.writer)

    def tree(self) -> t.ProgramTree:
        """Return the whole program."""
        self.body(self.program.body, self.writer.everyone)
        self.writer.flush()
        if len(left := self.messages.pending.unfinished() | self.messages.unsure):
            self.writer.add(t.Await(self.writer.tasks(left)))
        size = t.NumberComparison("=", t.Variable("num_tasks"), t.Integer(self.nprocs))
        assertion = t.Assert(f"this benchmark is for {self.nprocs} tasks", size)
        return self.writer.program(self.program, f"{self.nprocs} tasks", (), (assertion,))

    def body(self, body: Sequence[Stmt], ranks: RankList) -> None:
        """Statements for some of the ranks."""
        for stmt in body:
            match stmt:
                case MpiCall():
                    self.call(stmt, ranks)
                case ComputeStatement():
                    self.compute(stmt, ranks)
                case LoopStatement():
                    self.loop(stmt, ranks)
                case Branch(cond, then, otherwise):
                    self.branch(cond, then, otherwise, ranks)

    def branch(self, cond: Cond, then: Sequence[Stmt], otherwise: Sequence[Stmt], ranks: RankList) -> None:
        """Ranks become sets of tasks, loop variables an IF."""
        left = ranks
        for chosen, seen in self.writer.special.conditions(cond, ranks):
            if seen == TRUE:
                self.body(then, chosen)
                left = left - chosen
                continue
            left = left - chosen
            before = self.messages.pending.copy()
            with self.writer.block(partial(t.If, writing.cond(seen))):
                self.body(then, chosen)
            if not otherwise:
                self.messages.pending.either(before)
                continue
            after, self.messages.pending = self.messages.pending, before
            with self.writer.block(partial(t.If, writing.cond(negate(seen)))):
                self.body(otherwise, chosen)
            self.messages.pending.either(after)
        if otherwise and len(left):
            self.body(otherwise, left)

    def loop(self, loop: LoopStatement, ranks: RankList) -> None:
        """Ranks with the same trip count loop together."""
        for runners, (times,) in self.writer.special.classes([loop.count], ranks):
            if times == Const(0):
                continue
            before = self.messages.pending.copy()
            outside, mark = set(before.idle), self.writer.mark()
            before.idle.clear()
            self.iterations(loop, number(times), runners)
            if (head := self.messages.pending.carried(before, runners)) is not None:
                # In the first iteration, an await for messages of earlier iterations returns at once.
                self.writer.back_to(mark)
                self.messages.pending = head.copy()
                head.idle.clear()
                self.iterations(loop, number(times), runners)
            fixed = times.value if isinstance(times, Const) else None
            for rank in runners:
                self.messages.pending.looped(before, head or before, rank, fixed)
            before.idle |= outside

    def iterations(self, loop: LoopStatement, times: Expr, ranks: RankList) -> None:
        """Add a loop of ranks with the same trip count, with its variable if the body uses the variable."""
        name, count = loop.variable.name, writing.expr(times)
        around: Callable[[t.Block], t.Statement] = partial(t.ForCount, count)
        guard: Cond = TRUE
        if asks_for(loop.body, name):
            last = writing.range_to(writing.expr(add(times, Const(-1))))
            around = partial(for_each_or_count, name, last, count)
            guard = compare(">", times, Const(0))
        if guard == TRUE:
            with self.writer.block(around):
                self.body(loop.body, ranks)
            return
        with self.writer.block(partial(t.If, writing.cond(guard))), self.writer.block(around):
            self.body(loop.body, ranks)

    def compute(self, compute: ComputeStatement, ranks: RankList) -> None:
        """`ALL TASKS COMPUTE FOR 12 MICROSECONDS`"""
        times = [c.duration for c in compute.contexts]
        first = compute.first if len(times) > 1 else None
        self.writer.compute(ranks, (times[0], times[-1] if first is not None else times[0]), first)

    def call(self, call: MpiCall, ranks: RankList) -> None:
        """One MPI call of these ranks."""
        if call.dropped:
            self.writer.left_out(call)
            self.messages.leave_out(call, ranks)
            return
        try:
            self._call(call, ranks)
        except (GenerateError, FormulaError) as error:
            raise cannot_write(call.op, call.site, "conceptual", error) from None

    def _call(self, call: MpiCall, ranks: RankList) -> None:
        op, messages = call.op, self.messages
        if op in SENDS:
            messages.message(call, ranks, True, operation(op).nonblocking)
        elif op in RECEIVES:
            messages.receive(call, ranks)
        elif op in EXCHANGES:
            messages.exchange(call, ranks)
        elif op in INITS:
            messages.prepare(call, ranks)
        elif op in ("Start", "Startall"):
            messages.start(call, ranks)
        elif op in COMPLETIONS:
            messages.complete(call, ranks)
        elif op in PROBES:
            messages.probe(call, ranks)
        elif op.removesuffix(SUFFIX) in PATTERNS:
            self.collectives.collective(call, ranks)
        elif blocking_form(op) in PATTERNS:
            self.begin_collective(call, ranks)

    def begin_collective(self, call: MpiCall, ranks: RankList) -> None:
        """Add a nonblocking collective as a blocking one; its request has no pending message."""
        self.collectives.collective(replace(call, op=blocking_form(call.op)), ranks)
        self.messages.pending.make(ranks, EmittedRequest(None, False))
