"""Build a coNCePTuaL program for any number of tasks (§4.4.5): conditions select tasks, sides are parameters.

x IS "tasks along x" AND COMES FROM "--x" OR "-x" WITH DEFAULT 4.
TASKS t SUCH THAT t MOD y > 0 ASYNCHRONOUSLY SEND A 64 BYTE MESSAGE TO UNSUSPECTING TASK (t - 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from string import ascii_lowercase

import numpy as np

from scalatrace.codegen.builders.places import opposite
from scalatrace.codegen.builders.sample import Mask
from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import COMPLETIONS, RECEIVES, SENDS, SILENT
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, blocking_form
from scalatrace.codegen.emit.conceptual.common.pending import EmittedRequest, PendingRequests
from scalatrace.codegen.emit.conceptual.scalable.collectives import ScalableCollectiveEmitter
from scalatrace.codegen.emit.conceptual.scalable.expr_translator import NUM_TASKS, ExprTranslator
from scalatrace.codegen.emit.conceptual.scalable.messages import ScalableMessageEmitter
from scalatrace.codegen.emit.grids import demands, local_demands, sides_of
from scalatrace.codegen.emit.text import ncptl_text
from scalatrace.codegen.errors import GenerateError, cannot_write
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    Duration,
    LoopStatement,
    MpiCall,
    Stmt,
    asks_for,
)
from scalatrace.errors import FormulaError
from scalatrace.formula import TRUE, Compare, Cond, Const, Expr, add, all_of, bounds, compare
from scalatrace.operations import operation

__all__ = ["ScalableEmitter"]


class ScalableEmitter:
    """The tree of a program for any number of tasks."""

    def __init__(self, program: BenchmarkProgram) -> None:
        assert program.shape is not None
        self.program, self.shape = program, program.shape
        self.writer = ScalableMessageEmitter(program)
        self.collectives = ScalableCollectiveEmitter(self.writer)

    def tree(self) -> t.ProgramTree:
        """Return the whole program."""
        headers, assertions = _preamble(self.writer.translator)
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
                case MpiCall():
                    self.call(stmt, cond, ranks)
                case ComputeStatement():
                    self.compute(stmt, cond)
                case LoopStatement():
                    self.loop(stmt, cond, ranks)
                case Branch():
                    self.branch(stmt, cond, ranks)

    def branch(self, branch: Branch, cond: Cond, ranks: Mask) -> None:
        """Conditions on ranks select tasks, others become an IF."""
        if self.writer.local(branch.cond):
            for case, body in ((branch.cond, branch.then), (opposite(branch.cond), branch.otherwise)):
                mine = ranks & self.writer.sample.mask(case) if self.writer.fixed(case) else ranks
                if body:
                    self.body(body, all_of(cond, case), mine)
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

    def loop(self, loop: LoopStatement, cond: Cond, ranks: Mask) -> None:
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

    def record_iterations(self, times: Expr, ranks: Mask, before: PendingRequests) -> None:
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

    def compute(self, compute: ComputeStatement, cond: Cond) -> None:
        """`ALL TASKS COMPUTE FOR 12 MICROSECONDS`"""
        times = [_clock(context.duration) for context in compute.contexts]
        time = times[0]
        if compute.first is not None and len(times) > 1 and times[0] != times[1]:
            first = t.NumberComparison("=", t.Variable(compute.first.name), t.Integer(0))
            time = t.Conditional(times[0], first, times[1])
        self.writer.compute(cond, time)

    def call(self, call: MpiCall, cond: Cond, ranks: Mask) -> None:
        """One MPI call of these tasks."""
        if call.dropped:
            self.writer.left_out(call)
            return
        try:
            self._call(call, cond, ranks)
        except (GenerateError, FormulaError) as error:
            raise cannot_write(call.op, call.site, "conceptual", error) from None

    def _call(self, call: MpiCall, cond: Cond, ranks: Mask) -> None:
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
                self.writer.pending.make(self.writer.listed(ranks), EmittedRequest(None, False))
        elif operation(op).category not in SILENT:
            raise GenerateError("no statement for any number of tasks means it")


_TASKS: t.Expr = t.Variable(NUM_TASKS.name)
_ZERO = t.Integer(0)


def _preamble(translator: ExprTranslator) -> tuple[list[t.ProgramParameter], list[t.Assert]]:
    """Return the declarations of sides and parameters, and the assertions on them."""
    shape = translator.shape
    if local_demands(shape):
        demand = local_demands(shape)[0][1]
        raise GenerateError(
            f"the formulas hold only if on each rank {demand}: coNCePTuaL cannot check it; use --to c"
        )
    dims, _ = min(shape.seen, key=lambda run: prod(run[0]))
    headers, letters = [], [letter for letter in ascii_lowercase if letter not in shape.coords]
    if len(shape.sizes) > 1:
        for name, side in zip(shape.coords, dims, strict=True):
            headers.append(_parameter(name, f"tasks along {name}", name, name, side))
    for name in shape.inputs:
        wish = [name[0].lower(), *letters]
        letter = next((candidate for candidate in wish if candidate in letters), None)
        if letter is None:
            raise GenerateError(f"coNCePTuaL has no letter left for the option of parameter {name}")
        letters.remove(letter)
        default = shape.default(name)
        fallback = shape.seen[0][1][name] if default is None else default
        headers.append(_parameter(translator.inputs[name], f"parameter {name}", name, letter, fallback))
    sides = sides_of(shape)[len(shape.sizes) == 1 :]  # a line is as long as there are tasks
    return headers, [_assertion(*each, translator) for each in (*sides, *demands(shape))]


def _parameter(name: str, text: str, option: str, letter: str, default: int) -> t.ProgramParameter:
    return t.ProgramParameter(
        name, ncptl_text(text), ncptl_text(f"--{option}"), ncptl_text(f"-{letter}"), writing.integer(default)
    )


def _assertion(wrong: Cond, complaint: str, translator: ExprTranslator) -> t.Assert:
    return t.Assert(ncptl_text(complaint.lower()), writing.cond(translator.cond(opposite(wrong))))


def _clock(duration: Duration) -> t.Expr:
    """Return a time in microseconds: a number, or a formula of the number of tasks.

    The formula's terms are integers of nanoseconds.
    """
    if not duration.law or all(not power and not log for _, power, log in duration.law):
        ns = sum(c for c, _, _ in duration.law) if duration.law else duration.ns
        return writing.integer(round(ns / 1000))
    nanoseconds: t.Expr | None = None
    for c, power, log in duration.law:
        term = _term(abs(round(c)), power, log)
        if nanoseconds is None and c >= 0:
            nanoseconds = term
        else:
            nanoseconds = t.BinaryOperation("-" if c < 0 else "+", nanoseconds or _ZERO, term)
    assert nanoseconds is not None
    return t.FunctionCall("MAX", (_ZERO, t.Real(t.BinaryOperation("/", nanoseconds, t.Integer(1000)))))


def _term(factor: int, power: float, log: int) -> t.Expr:
    """Return factor * num_tasks ** power * log2(num_tasks) ** log."""
    term: t.Expr = t.Integer(factor)
    if power:
        term = t.BinaryOperation("*" if power > 0 else "/", term, _raise_to_power(abs(power)))
    for _ in range(log):
        term = t.BinaryOperation("/", t.BinaryOperation("*", term, _log10(_TASKS)), _log10(t.Integer(2)))
    return term


def _log10(e: t.Expr) -> t.Expr:
    return t.FunctionCall("LOG10", (e,))


def _raise_to_power(power: float) -> t.Expr:
    """Return num_tasks to a positive power, a fraction with a small denominator."""
    fraction = Fraction(power).limit_denominator(12) if power != int(power) else Fraction(int(power))
    raised = _TASKS
    if fraction.numerator != 1:
        raised = t.BinaryOperation("**", _TASKS, t.Integer(fraction.numerator))
    return (
        raised
        if fraction.denominator == 1
        else t.FunctionCall("ROOT", (t.Integer(fraction.denominator), raised))
    )
