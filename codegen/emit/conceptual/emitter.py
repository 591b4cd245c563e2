"""coNCePTuaL: the tree said in tasks; communicators are sets of the ranks of MPI_COMM_WORLD (§4.4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.parser.parse import parse
from scalatrace.codegen.emit.conceptual import expr_writer as words
from scalatrace.codegen.emit.conceptual.collectives import PATTERNS, blocking_form
from scalatrace.codegen.emit.conceptual.groups import Groups
from scalatrace.codegen.emit.conceptual.messages import (
    COMPLETIONS,
    EXCHANGES,
    INITS,
    PROBES,
    RECEIVES,
    SENDS,
    Messages,
)
from scalatrace.codegen.emit.conceptual.pending import Request
from scalatrace.codegen.emit.conceptual.scalable.emitter import ScalableWriting
from scalatrace.codegen.emit.conceptual.statement_writer import Speech
from scalatrace.codegen.emit.contract import EmitOptions
from scalatrace.codegen.emit.text import hash_comment
from scalatrace.codegen.errors import GenerateError, refused, where
from scalatrace.codegen.expr import TRUE, Cond, Const, Expr, add, compare, negate
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.tree import Branch, Call, Compute, Loop, Note, Program, Stmt, asks_for
from scalatrace.ops import Category, operation
from scalatrace.trace.values.ranklist import RankList

__all__ = ["ConceptualEmitter"]

SILENT = frozenset({Category.COMMUNICATOR, Category.DATATYPE, Category.ENVIRONMENT})
"""Communicators are sets of tasks here: making and freeing them needs no words."""

STRANGERS = frozenset({"Abort", "Comm_spawn", "Comm_spawn_multiple", "Comm_connect", "Comm_accept"})
"""What brings in other processes, or ends all."""

KNOWN = SENDS | RECEIVES | EXCHANGES | INITS | PROBES | COMPLETIONS | {"Start", "Startall", "Pcontrol"}

KEYWORDS = words.plain_words(
    "all tasks task such that divides mod xor is not in if otherwise then for each repetitions compute"
    " microseconds asynchronously send receive a byte message using tag to unsuspecting from await"
    " completion multicast"
    " multicasts other reduce integers synchronize left out random_uniform"
)


class ConceptualEmitter:
    """coNCePTuaL 1.5."""

    name, suffix = "conceptual", ".ncptl"
    exact_times = False
    matched = True

    def supports(self, op: str) -> bool:
        """Whether an operation can be expressed."""
        if op in KNOWN or blocking_form(op).removesuffix(SUFFIX) in PATTERNS:
            return True
        row = operation(op)
        return row.category in SILENT and not row.nonblocking and op not in STRANGERS

    def vocabulary(self) -> set[str]:
        """The words of the language that are used here."""
        return KEYWORDS | words.plain_words(self.emit(Program(2, ()), EmitOptions()))

    def emit(self, program: Program, options: EmitOptions) -> str:
        """The text. Raises GenerateError also when it is none of the language."""
        writing = ScalableWriting(program) if program.shape else _Writing(program, options)
        text = writing.text()
        try:
            parse(text)
        except ProgramError as error:
            raise refused(text, "coNCePTuaL", error.reason, error.place.line) from None
        return text


class _Writing:
    def __init__(self, program: Program, options: EmitOptions) -> None:
        self.program, self.nprocs = program, program.nprocs
        self.speech = Speech(program, options.drawn)
        self.messages, self.groups = Messages(self.speech), Groups(self.speech)

    def text(self) -> str:
        """The whole program."""
        title = f" of {hash_comment(self.program.title)}" if self.program.title else ""
        self.speech.lines.add(f"# Communication benchmark{title}, for {self.nprocs} tasks.", "")
        self.speech.lines.add(
            f'ASSERT THAT "this benchmark is for {self.nprocs} tasks" WITH num_tasks = {self.nprocs}.'
        )
        self.speech.lines.add("ALL TASKS SYNCHRONIZE THEN ALL TASKS RESET THEIR COUNTERS.")
        self.body(self.program.body, self.speech.everyone)
        self.speech.flush()
        if len(left := self.messages.pending.unfinished() | self.messages.unsure):
            self.speech.say(f"{words.tasks(left, self.nprocs, named=False)} AWAIT COMPLETION")
        self.speech.lines.add("ALL TASKS SYNCHRONIZE THEN", 'TASK 0 LOGS elapsed_usecs/1E6 AS "Seconds".')
        return str(self.speech.lines)

    def body(self, body: Sequence[Stmt], ranks: RankList) -> None:
        """Statements for some of the ranks."""
        for stmt in body:
            match stmt:
                case Call():
                    self.call(stmt, ranks)
                case Compute():
                    self.compute(stmt, ranks)
                case Loop():
                    self.loop(stmt, ranks)
                case Branch(cond, then, otherwise):
                    self.branch(cond, then, otherwise, ranks)
                case Note(text):
                    self.speech.lines.add(f"# {hash_comment(text)}")

    def branch(self, cond: Cond, then: Sequence[Stmt], otherwise: Sequence[Stmt], ranks: RankList) -> None:
        """Ranks become sets of tasks, loop variables an IF."""
        left = ranks
        for some, seen in self.speech.special.conditions(cond, ranks):
            if seen == TRUE:
                self.body(then, some)
                left = left - some
                continue
            left = left - some
            before = self.messages.pending.copy()
            with self.speech.braces(f"IF {words.cond(seen)} THEN"):
                self.body(then, some)
            if not otherwise:
                self.messages.pending.either(before)
                continue
            after, self.messages.pending = self.messages.pending, before
            with self.speech.braces(f"IF {words.cond(negate(seen))} THEN"):
                self.body(otherwise, some)
            self.messages.pending.either(after)
        if otherwise and len(left):
            self.body(otherwise, left)

    def loop(self, loop: Loop, ranks: RankList) -> None:
        """Ranks with the same trip count loop together."""
        for some, (times,) in self.speech.special.classes([loop.count], ranks):
            if times == Const(0):
                continue
            before = self.messages.pending.copy()
            outside, mark = set(before.idle), self.speech.mark()
            before.idle.clear()
            self.turns(loop, times, some)
            if (head := self.messages.pending.carried(before, some)) is not None:
                # Awaiting what only later iterations have under way is nothing to the first.
                self.speech.back_to(mark)
                self.messages.pending = head.copy()
                head.idle.clear()
                self.turns(loop, times, some)
            fixed = times.value if isinstance(times, Const) else None
            for rank in some:
                self.messages.pending.looped(before, head or before, rank, fixed)
            before.idle |= outside

    def turns(self, loop: Loop, times: Expr, ranks: RankList) -> None:
        """The text of a loop of ranks with the same trip count."""
        head, guard = self.head(loop, times)
        plain = (loop.variable.name, f"FOR {words.atom(times)} REPETITIONS")
        if guard == TRUE:
            with self.speech.braces(head, plain):
                self.body(loop.body, ranks)
            return
        with self.speech.braces(f"IF {words.cond(guard)} THEN"), self.speech.braces(head, plain):
            self.body(loop.body, ranks)

    def head(self, loop: Loop, times: Expr) -> tuple[str, Cond]:
        """`FOR EACH i1 IN {0, ..., 19}` or, when nobody asks for the variable, `FOR 20 REPETITIONS`."""
        name = loop.variable.name
        if not asks_for(loop.body, name):
            return f"FOR {words.atom(times)} REPETITIONS", TRUE
        if isinstance(times, Const):
            last = times.value - 1
            return f"FOR EACH {name} IN {{0{f', ..., {last}' if last else ''}}}", TRUE
        last_text = words.expr(add(times, Const(-1)))
        return f"FOR EACH {name} IN {{0, ..., {last_text}}}", compare(">", times, Const(0))

    def compute(self, compute: Compute, ranks: RankList) -> None:
        """`ALL TASKS COMPUTE FOR 12 MICROSECONDS`"""
        times = [c.duration for c in compute.contexts]
        first = compute.first if len(times) > 1 else None
        self.speech.compute(ranks, (times[0], times[-1] if first is not None else times[0]), first)

    def call(self, call: Call, ranks: RankList) -> None:
        """One MPI call of these ranks."""
        op = call.op
        if call.dropped:
            site = self.speech.site(call)
            self.speech.lines.add(f"# left out: MPI_{hash_comment(op)}{f' at {site}' if site else ''}")
            self.messages.leave_out(call, ranks)
            return
        try:
            self._call(call, ranks)
        except GenerateError as error:
            raise GenerateError(f"MPI_{op}{where(call.site)}: {error}") from None

    def _call(self, call: Call, ranks: RankList) -> None:
        op, messages = call.op, self.messages
        if op in SENDS:
            messages.message(call, ranks, "SEND", op.startswith("I"))
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
            self.groups.collective(call, ranks)
        elif blocking_form(op) in PATTERNS:
            self.begin_collective(call, ranks)

    def begin_collective(self, call: Call, ranks: RankList) -> None:
        """A nonblocking collective as a blocking one: its request has nothing under way."""
        self.groups.collective(replace(call, op=blocking_form(call.op)), ranks)
        self.messages.pending.make(ranks, Request(None, False))
