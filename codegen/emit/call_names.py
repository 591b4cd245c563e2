"""Names of calls in generated programs, and of the tables of computations that depend on the call before.

A call is named after its operation and line, `WAITALL_39`, or its place in a binary. Those in other files
than most calls have the file in their names: `WAITALL_SOLVER_39`. The table of the computation before a call
is `before_irecv_30`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from scalatrace.codegen.emit.arguments import ArgumentNames
from scalatrace.codegen.emit.text import identifier
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    MpiCall,
    ProgramContext,
    Stmt,
    calls,
    statements,
)
from scalatrace.trace.model.callsite import split_frame

__all__ = ["START", "CallNames", "call_after", "mean_us"]

START = "PROGRAM_START"
"""The name of what is before the first call."""

MAX_NAME_LENGTH = 40
"""Characters of a file, module or function in a name."""


class CallNames:
    """Names of the calls that computations look back at, and of computations.

    Attributes:
        marks: number of a call -> name, of those that occur.
    """

    def __init__(self, program: BenchmarkProgram, names: ArgumentNames, marks: set[int]) -> None:
        self._names = names
        files = Counter(split_frame(call.site[0].raw).file for call in calls(program.body) if call.site)
        self._main_file = max(files, key=files.__getitem__, default="")
        self.marks: dict[int, str] = {}
        if not marks:
            return
        if 0 in marks:
            self.marks[0] = names.new(START)
        for call in calls(program.body):
            if call.mark in marks and call.mark not in self.marks:
                self.marks[call.mark] = names.new(self._of_call(call).upper())
        for mark in sorted(marks - self.marks.keys()):
            self.marks[mark] = names.new(f"CALL_{mark}")

    def table(self, call: MpiCall | None) -> str:
        """A name for the times before a call."""
        return self._names.new(f"before_{self._of_call(call).lower()}" if call else "before_call")

    def _of_call(self, call: MpiCall) -> str:
        """The operation with the place of the call; a call without a place has the operation alone."""
        if not call.site:
            return f"{call.op}_call"
        is_main = split_frame(call.site[0].raw).file == self._main_file
        frame = split_frame(call.site[0].short_frame().raw)
        line = str(frame.line) if frame.line else frame.name or frame.function.removeprefix("0x")
        stem = "" if is_main and line else frame.file.partition(".")[0]
        places = (
            re.sub(r"\W+", "_", text, flags=re.ASCII)[:MAX_NAME_LENGTH] for text in (stem, line) if text
        )
        return identifier("_".join((call.op, *places)))


def function_of_calls(body: Sequence[Stmt]) -> str:
    """Return the function of the application that makes all calls of some statements; "": several do."""
    functions = {split_frame(call.site[0].raw).function if call.site else "" for call in calls(tuple(body))}
    if len(functions) != 1:
        return ""
    name = functions.pop().partition("(")[0].rpartition("::")[2]
    return name[:MAX_NAME_LENGTH] if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else ""


def call_after(body: Sequence[Stmt], index: int) -> MpiCall | None:
    """The call that follows a statement of a block."""
    return next((stmt for stmt in _following(body, index) if isinstance(stmt, MpiCall)), None)


def _following(body: Sequence[Stmt], index: int) -> Iterator[Stmt]:
    return statements(tuple(body[index + 1 :]))


def mean_us(contexts: Sequence[ProgramContext]) -> float:
    """The mean time in microseconds, each context with its number of samples."""
    counts = [c.duration.histogram.count if c.duration.histogram else 1 for c in contexts]
    return sum(c.duration.ns * n for c, n in zip(contexts, counts, strict=True)) / max(1, sum(counts)) / 1000
