"""Python programs with several threads: what all threads have, and what each has of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from textwrap import indent

from scalatrace.codegen.emit.imperative import ProgramText
from scalatrace.codegen.emit.pieces import RuntimeLibrary, TextPiece
from scalatrace.codegen.emit.threads import KINDS, replace_forms, shared_uses
from scalatrace.codegen.program.tree import MpiCall

__all__ = ["PythonThreads", "threaded"]

_OF_REQUESTS = frozenset({"requests", "one_done", "Request_free", "Request_get_status", "Parrived"})
_OF_REQUESTS |= {"Comm_idup", "Comm_idup_with_info"}
_OF_MESSAGES = frozenset({"messages"})

_COMMON = frozenset({
    "base", "threads", "comms", "shared_comms", "objects", "object", "foreign", "shared_requests",
    "shared_messages", "shared_windows", "files", "buffered", "group", "types", "named", "any_op", "fitting",
    "subset", "run_threads",
})  # fmt: skip
"""Pieces that all threads have together."""

_GLOBAL = re.compile(r"^( +)global (?=last|previous_call|outgoing)", re.MULTILINE)


@cache
def threaded(
    plain: RuntimeLibrary, forms: RuntimeLibrary, shares_requests: bool, shares_messages: bool
) -> RuntimeLibrary:
    """Return the library for programs of several threads.

    Args:
        plain: of programs of one thread.
        forms: other forms of its pieces, and what else several threads need.
        shares_requests, shares_messages: whether threads name those of other threads.
    """
    result = RuntimeLibrary(())
    left_out = (set() if shares_requests else _OF_REQUESTS) | (set() if shares_messages else _OF_MESSAGES)
    result.pieces.update(plain.pieces)
    replace_forms(result.pieces, forms, left_out)
    return result


_HEADS = {
    "turn": ("turn_of(comm, i, thread)", "comm", "thread"),
    "ncalls": ("ncalls(comm)", "comm", "0"),
    "nuses": ("nuses(uses)", "uses", "0"),
    "use": ("use(uses, i)", "uses", "0"),
}
"""Of a function: its head, what its cases are of, and its result in no case."""


class PythonThreads(ProgramText):
    """The parts of a Python program's text that are about threads."""

    between = "\n\n\n"

    def in_order(self, call: MpiCall) -> tuple[list[str], bool]:
        """Return what makes a call wait for other threads, and whether it hands requests over."""
        if self.threads is None:
            return [], False
        uses = shared_uses(self.program, self.threads, call)
        waits = []
        for use in uses.comms:
            self.wanted["shared_comms"] = None
            waits.append(f"shared(thread, {self.argument(use.argument, '')}, {use.how})")
        if uses.kind is not None and uses.number is not None and uses.comm is not None:
            self.wanted["object"] = None
            arguments = (self.argument(argument, "") for argument in (uses.comm, uses.number))
            waits.append(f"used(thread, {KINDS[uses.kind]}, {', '.join(arguments)})")
        if uses.requests:
            self.wanted["requests"] = None
        return waits, uses.requests

    def add_in_order(self, call: MpiCall, text: str, note: str) -> None:
        """Add a call, within what makes it wait for other threads."""
        waits, hands_over = self.in_order(call)
        if waits:
            self.lines.add(f"with {', '.join(waits)}:")
            self.lines.deeper()
        self.lines.add(f"{text}{note}")
        if hands_over:
            self.lines.add("hand_over()")
        if waits:
            self.lines.back()

    def use_numbers(self, objects: Sequence[tuple[str, int]]) -> str:
        """`USES = ((WINDOW, 3), (FILES, 0),)`"""
        self.wanted["objects"] = None
        names = "".join(f"({kind}, {of}), " for kind, of in objects)
        return f"USES = ({names.rstrip(' ')})"

    def choice_text(self, name: str, cases: Mapping[str, Sequence[str]]) -> str:
        """`def nuses(uses):`"""
        head, value, otherwise = _HEADS[name]
        lines = [f"def {head}:"]
        for result, numbers in cases.items():
            lines += [f"    if {value} in ({', '.join(numbers)},):", f"        return {result}"]
        return "\n".join([*lines, f"    return {otherwise}"])

    def of_threads(self, pieces: Sequence[TextPiece], functions: Iterable[str], own: Sequence[str]) -> str:
        """Return the function that makes the functions of one thread, which have variables of their own.

        Args:
            pieces: of the library.
            functions: texts of the program's functions.
            own: statements that set variables of the thread.
        """
        texts = ["last = now()  # when the call before returned"]
        texts += [piece.text.strip("\n") for piece in pieces if piece.name not in _COMMON]
        texts += [*own, *functions, "return benchmark, tallies"]
        body = _GLOBAL.sub(r"\1nonlocal ", indent("\n\n".join(texts), "    "))
        note = '    """Return what makes the calls of a thread, and its counts of calls."""'
        return f"def functions_of(thread):\n{note}\n{body}"

    @staticmethod
    def common(pieces: Iterable[TextPiece]) -> list[TextPiece]:
        """Return the pieces that all threads have together."""
        return [piece for piece in pieces if piece.name in _COMMON]
