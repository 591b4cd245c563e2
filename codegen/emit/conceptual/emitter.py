"""The coNCePTuaL emitter: build the tree of a program, print it, and check that the language accepts it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.conceptual.printer.program import show
from scalatrace.codegen.emit.conceptual.calls.collectives import CollectiveEmitter
from scalatrace.codegen.emit.conceptual.calls.messages import MessageEmitter
from scalatrace.codegen.emit.conceptual.calls.statement_writer import StatementWriter, for_each_or_count
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import (
    COMPLETIONS,
    EXCHANGES,
    INITS,
    PROBES,
    RECEIVES,
    SENDS,
    SILENT,
)
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, blocking_form
from scalatrace.codegen.emit.conceptual.common.pending import EmittedRequest
from scalatrace.codegen.emit.conceptual.common.sharing import share_expressions
from scalatrace.codegen.emit.conceptual.common.simplify import simplify
from scalatrace.codegen.emit.conceptual.sets.grid import GridTasks
from scalatrace.codegen.emit.conceptual.sets.recorded import RecordedTasks
from scalatrace.codegen.emit.conceptual.sets.task_sets import TaskSet, TaskSets
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.errors import GenerateError, cannot_write, make_rejection
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
from scalatrace.formula import FALSE, TRUE, Cond, Const, Expr, add, compare, names_in, negate
from scalatrace.operations import operation

__all__ = ["ConceptualEmitter", "shorter_tree"]


class StatementEmitter:
    """The statements of a program for sets of its tasks."""

    def __init__(self, sets: TaskSets, is_drawn: bool) -> None:
        self.sets, self.writer = sets, StatementWriter(sets, is_drawn)
        self.messages, self.collectives = MessageEmitter(self.writer), CollectiveEmitter(self.writer)

    def tree(self) -> t.ProgramTree:
        """Return the whole program."""
        preamble = self.sets.preamble()
        self.body(self.sets.program.body, self.sets.everyone)
        self.writer.flush()
        self.messages.awaited(self.messages.pending.unfinished() | self.sets.unsure)
        return self.writer.program(preamble)

    def body(self, body: Sequence[Stmt], chosen: TaskSet) -> None:
        """Add statements of some of the tasks."""
        for stmt in body:
            match stmt:
                case MpiCall():
                    self.call(stmt, chosen)
                case ComputeStatement():
                    self.compute(stmt, chosen)
                case LoopStatement():
                    self.loop(stmt, chosen)
                case Branch():
                    self.branch(stmt, chosen)

    def branch(self, branch: Branch, chosen: TaskSet) -> None:
        """Add the cases of a condition: on tasks, they are sets of tasks; on all else, an IF."""
        for tasks, seen in self.sets.cases(branch.cond, chosen):
            if seen in (TRUE, FALSE):
                self.body(branch.then if seen == TRUE else branch.otherwise, tasks)
                continue
            before = self.messages.pending.copy()
            with self.writer.block(partial(t.If, writing.cond(seen))):
                self.body(branch.then, tasks)
            if not branch.otherwise:
                self.messages.pending.either(before)
                continue
            after, self.messages.pending = self.messages.pending, before
            with self.writer.block(partial(t.If, writing.cond(negate(seen)))):
                self.body(branch.otherwise, tasks)
            self.messages.pending.either(after)

    def loop(self, loop: LoopStatement, chosen: TaskSet) -> None:
        """Add a loop for tasks with the same trip count, or with the largest one for those that still run."""
        for runners, times in self.sets.trip_counts(loop, chosen):
            if times == Const(0):
                continue
            before = self.messages.pending.copy()
            outside, mark = set(before.idle), self.writer.mark()
            before.idle.clear()
            self.iterations(loop, times, runners)
            if (head := self.messages.pending.carried(before, runners.ranks)) is not None:
                # In the first iteration, an await for messages of earlier iterations returns at once.
                self.writer.back_to(mark)
                self.messages.pending = head.copy()
                head.idle.clear()
                self.iterations(loop, times, runners)
            for rank in runners.ranks:
                count = self.sets.known(loop.count, rank)
                self.messages.pending.looped(before, head or before, rank, count)
            before.idle |= outside

    def iterations(self, loop: LoopStatement, times: Expr, runners: TaskSet) -> None:
        """Add a loop, with its variable if the body uses the variable."""
        name, count = loop.variable.name, writing.expr(times)
        around: Callable[[t.Block], t.Statement] = partial(t.ForCount, count)
        guard: Cond = TRUE
        if asks_for(loop.body, name) or name in names_in(runners.cond):
            last = writing.range_to(writing.expr(add(times, Const(-1))))
            around = partial(for_each_or_count, name, last, count)
            guard = compare(">", times, Const(0))
        if guard == TRUE:
            with self.writer.block(around):
                self.body(loop.body, runners)
            return
        with self.writer.block(partial(t.If, writing.cond(guard))), self.writer.block(around):
            self.body(loop.body, runners)

    def compute(self, compute: ComputeStatement, chosen: TaskSet) -> None:
        """Add `ALL TASKS COMPUTE FOR 12 MICROSECONDS`."""
        times = [c.duration for c in compute.contexts]
        first = compute.first if len(times) > 1 else None
        self.writer.compute(chosen, times[0], times[-1] if first is not None else times[0], first)

    def call(self, call: MpiCall, chosen: TaskSet) -> None:
        """Add what means a call of these tasks."""
        if call.dropped:
            self.writer.left_out(call)
            self.messages.leave_out(call, chosen)
            return
        try:
            self._call(call, chosen)
        except (GenerateError, FormulaError) as error:
            raise cannot_write(call.op, call.site, "conceptual", error) from None

    def _call(self, call: MpiCall, chosen: TaskSet) -> None:
        op, messages = call.op, self.messages
        if op in SENDS:
            messages.message(call, chosen, True, operation(op).nonblocking)
        elif op in RECEIVES:
            messages.receive(call, chosen)
        elif op in EXCHANGES:
            messages.exchange(call, chosen)
        elif op in INITS:
            messages.prepare(call, chosen)
        elif op in ("Start", "Startall"):
            messages.start(call, chosen)
        elif op in COMPLETIONS:
            messages.complete(call, chosen)
        elif op in PROBES:
            messages.probe(call, chosen)
        elif op.removesuffix(SUFFIX) in PATTERNS:
            self.collectives.collective(call, chosen)
        elif (blocking := blocking_form(op)) in PATTERNS:  # a request, for which no message is pending
            self.collectives.collective(replace(call, op=blocking), chosen)
            messages.pending.make(chosen.ranks, EmittedRequest(None, False))


PROCESS_CREATION = frozenset({"Abort", "Comm_spawn", "Comm_spawn_multiple", "Comm_connect", "Comm_accept"})
"""Operations of the categories in SILENT that start or end processes."""

KNOWN = SENDS | RECEIVES | EXCHANGES | INITS | PROBES | COMPLETIONS | {"Start", "Startall", "Pcontrol"}

KEYWORDS = """
    all tasks task such that divides mod xor is not in if otherwise then for each repetitions compute computes
    microseconds asynchronously send sends receive receives a byte message using tag to unsuspecting from
    await awaits completion multicast multicasts other reduce reduces integer integers synchronize
    left out random_uniform
"""


class ConceptualEmitter:
    """coNCePTuaL 1.5."""

    name, suffix = "conceptual", ".ncptl"
    exact_times = False
    matched = True
    threads = False

    def supports(self, op: str) -> bool:
        """Whether an operation can be expressed."""
        if op in KNOWN or blocking_form(op).removesuffix(SUFFIX) in PATTERNS:
            return True
        row = operation(op)
        return row.category in SILENT and not row.nonblocking and op not in PROCESS_CREATION

    def vocabulary(self) -> set[str]:
        """Return the words of the language that programs use."""
        return _words(KEYWORDS) | _words(self.emit(BenchmarkProgram(2, ()), EmitOptions()))

    def emit(self, program: BenchmarkProgram, options: EmitOptions) -> str:
        """Return the text. Raises GenerateError also for a text that the language's parser rejects."""
        sets: TaskSets = GridTasks(program) if program.shape else RecordedTasks(program)
        text = show(shorter_tree(StatementEmitter(sets, options.drawn).tree()))
        try:
            parse(text)
        except ProgramError as error:
            raise make_rejection(text, "coNCePTuaL", error.reason, error.place.line) from None
        return text


def shorter_tree(program: t.ProgramTree) -> t.ProgramTree:
    """Return a program that does the same, without unreachable cases and with repeated expressions bound."""
    with suppress(RecursionError):  # a sum of hundreds of terms stays as it is
        return share_expressions(simplify(program))
    return program


def _words(text: str) -> set[str]:
    """Return the words of a text."""
    return set(re.sub(r"[{}.,]", " ", text).split())
