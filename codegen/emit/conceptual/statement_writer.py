"""Statements as text: full stops between sentences, THEN within braces, computations put together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scalatrace.codegen.emit.conceptual import expr_writer as words
from scalatrace.codegen.emit.conceptual.durations import Durations, draw, mean
from scalatrace.codegen.emit.text import Lines, hash_comment
from scalatrace.codegen.expr import Var
from scalatrace.codegen.program.specialise import Specialiser
from scalatrace.codegen.program.tree import Call, Duration, Program
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList

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

    def mark(self) -> tuple[int, int]:
        """This place in the text."""
        self.flush()
        return len(self.lines), self.count

    def back_to(self, mark: tuple[int, int]) -> None:
        """Take back what was said since a place, braces and all."""
        self.flush()
        self.lines.cut(mark[0])
        self.count = mark[1]

    @contextmanager
    def braces(self, head: str, plain: tuple[str, str] | None = None) -> Iterator[None]:
        """A body in braces, left out when it stays empty.

        Args:
            plain: a variable, and the head that will do where the body does not mention it.
        """
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
        if plain and not self.lines.mentions(plain[0], mark + 1):
            self.lines.replace(mark, f"{plain[1]} {{")
        self.lines.without_last_then()
        self.lines.add("} THEN" if self.depth else "}.")

    def site(self, call: Call) -> str:
        """Where the application made a call."""
        return hash_comment(short_frame(call.site[0])) if call.site else ""


class Speech(Sentences):
    """The text so far, and what all parts of the emitter know of the program."""

    def __init__(self, program: Program, is_drawn: bool = False) -> None:
        super().__init__()
        self.program, self.nprocs, self.is_drawn = program, program.nprocs, is_drawn
        self.everyone = RankList.all(program.nprocs)
        self.trace = Trace(program.nprocs, comms=list(program.comms))
        self.special = Specialiser(self.trace)
        self.waiting: tuple[RankList, tuple[Durations, Durations], Var | None] | None = None

    def compute(self, ranks: RankList, times: tuple[Duration, Duration], first: Var | None) -> None:
        """These ranks compute for so long, in the first iteration and in others; said later."""
        early: Durations = (times[0],)
        late: Durations = (times[1],)
        if self.waiting is not None and self.waiting[0] == ranks and (self.waiting[2] or first) == first:
            before = self.waiting[1]
            early, late = (*before[0], *early), (*before[1], *late)
        else:
            self.flush()
        self.waiting = (ranks, (early, late), first)

    def flush(self) -> None:
        """Say what is to be computed since the last message."""
        if self.waiting is None:
            return
        ranks, times, first = self.waiting
        self.waiting = None
        said = self.drawn if self.is_drawn else mean
        early, late = said(times[0]), said(times[1])
        text = _atom(late)
        if first is not None and early != late:
            text = f"({_atom(early)} IF {first.name} = 0 OTHERWISE {_atom(late)})"
        if (early, late) != ("0", "0"):
            self.say(f"{self.actors(ranks)} COMPUTE FOR {text} MICROSECONDS")

    def drawn(self, durations: Durations) -> str:
        """The sum of a draw from each of some distributions."""
        texts = [draw(duration) for duration in durations]
        return texts[0] if len(texts) == 1 else " + ".join(map(_atom, texts))

    def actors(self, ranks: RankList) -> str:
        return words.tasks(ranks, self.nprocs, named=False)


def _atom(text: str) -> str:
    """A time that other words may follow or precede."""
    return text if text.isdigit() else f"({text})"
