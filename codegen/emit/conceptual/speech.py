"""Statements as text: full stops between sentences, THEN within braces, computations put together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from codegen.emit.conceptual import words
from codegen.emit.text import Lines, hash_comment
from codegen.expr import Choose, Compare, Const, Expr, Var
from codegen.program import Call, Program
from codegen.specialise import Specialiser
from scalatrace.trace.callsite import short_frame
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.trace import Trace

__all__ = ["Sentences", "Speech"]


class Sentences:
    """The text so far."""

    def __init__(self) -> None:
        self.lines = Lines("  ")
        self.depth = 0
        self.count = 0

    def flush(self) -> None:
        """Say what waits to be said together with more of its kind."""

    def say(self, sentence: str, site: str = "") -> None:
        """One statement: with a full stop outside of braces, with THEN between them within."""
        self.flush()
        note = f"  # {site}" if site else ""
        self.lines.add(f"{sentence}{' THEN' if self.depth else '.'}{note}")
        self.count += 1

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """A body in braces, left out when it stays empty."""
        self.flush()
        mark, before = len(self.lines), self.count
        self.lines.add(f"{head} {{")
        self.lines.deeper()
        self.depth += 1
        yield
        self.flush()
        self.depth -= 1
        self.lines.back()
        if self.count == before:
            self.lines.cut(mark)
            return
        self.lines.without_last_then()
        self.lines.add("} THEN" if self.depth else "}.")

    def site(self, call: Call) -> str:
        """Where the application made a call."""
        return hash_comment(short_frame(call.site[0])) if call.site else ""


class Speech(Sentences):
    """The text so far, and what all parts of the emitter know of the program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program, self.nprocs = program, program.nprocs
        self.everyone = RankList.all(program.nprocs)
        self.trace = Trace(program.nprocs, comms=list(program.comms))
        self.special = Specialiser(self.trace)
        self.waiting: tuple[RankList, tuple[float, float], Var | None] | None = None

    def compute(self, ranks: RankList, us: tuple[float, float], first: Var | None) -> None:
        """These ranks compute for so long, in the first iteration and in others; said later."""
        if self.waiting is not None and self.waiting[0] == ranks and (self.waiting[2] or first) == first:
            before = self.waiting[1]
            us = us[0] + before[0], us[1] + before[1]
        else:
            self.flush()
        self.waiting = (ranks, us, first)

    def flush(self) -> None:
        """Say what is to be computed since the last message."""
        if self.waiting is None:
            return
        ranks, times, first = self.waiting
        self.waiting = None
        us = [round(t) for t in times]
        e: Expr = Const(us[0])
        if first is not None and us[0] != us[1]:
            e = Choose(Compare("==", first, Const(0)), Const(us[0]), Const(us[1]))
        if any(us):
            self.say(f"{self.actors(ranks)} COMPUTE FOR {words.atom(e)} MICROSECONDS")

    def actors(self, ranks: RankList) -> str:
        return words.tasks(ranks, self.nprocs, named=False)
