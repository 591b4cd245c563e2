"""Operations that a language does not have, and the calls that depend on them.

Displacements in a dynamic window are addresses of the recorded run, which no other program has: calls that
access such a window are unsupported.

A call that is left out takes along what it made: calls on a communicator or a window that nobody makes any
more are left out, too. A request that it made stays a number, so that others keep their ages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

from scalatrace.codegen.program.tree import BenchmarkProgram, Branch, LoopStatement, MpiCall, Stmt, calls
from scalatrace.formula import Value, numbers_in

__all__ = ["dynamic_windows", "find_unsupported", "left_out", "reaches"]

PREDEFINED = {0, 1, 2}
MAKES_WINDOW = frozenset({"Win_create", "Win_create_dynamic", "Win_allocate", "Win_allocate_shared"})

MAKES_DYNAMIC_WINDOW = "Win_create_dynamic"

Supports = Callable[[str], bool]
ObjectKey = tuple[int, int]
"""A window: its number, and its communicator."""


def find_unsupported(program: BenchmarkProgram, supports: Supports) -> list[MpiCall]:
    """Return the unsupported calls, in the order of the text."""
    dynamic = dynamic_windows(program)
    return [call for call in calls(program.body) if not supports(call.op) or reaches(dynamic, call)]


def dynamic_windows(program: BenchmarkProgram) -> set[ObjectKey]:
    """The dynamic windows of a program."""
    creations = (call for call in calls(program.body) if call.op == MAKES_DYNAMIC_WINDOW)
    return {key for call in creations for key in _keys(call)}


def reaches(windows: set[ObjectKey], call: MpiCall) -> bool:
    """Whether a call accesses memory in one of the windows."""
    return "target_disp" in call and not windows.isdisjoint(_keys(call))


def _keys(call: MpiCall) -> set[ObjectKey]:
    """The windows of a call."""
    return set(product(numbers_in(call["win"]), numbers_in(call["comm"])))


def left_out(program: BenchmarkProgram, supports: Supports) -> tuple[BenchmarkProgram, list[MpiCall]]:
    """The program without them, comments in their place, and the calls that are gone."""
    gone = _Gone(supports, dynamic_windows(program))
    while sum(gone.note(call) for call in calls(program.body)):  # each may take others along
        pass
    skipped = [call for call in calls(program.body) if gone.holds(call)]
    return program.with_body(_without(program.body, gone)), skipped


class _Gone:
    """Calls without words, communicators and windows without makers."""

    def __init__(self, supports: Supports, dynamic: set[ObjectKey]) -> None:
        self.supports, self.dynamic = supports, dynamic
        self.comms: set[int] = set()
        self.windows: set[tuple[Value, Value]] = set()

    def holds(self, call: MpiCall) -> bool:
        """Whether a call goes."""
        if not self.supports(call.op) or reaches(self.dynamic, call):
            return True
        if "win" in call and (call["win"], call["comm"]) in self.windows:
            return True
        used = [a.value for a in call.arguments if a.name in ("comm", "peer_comm")]
        return any(bool(named := numbers_in(e)) and named <= self.comms for e in used)

    def note(self, call: MpiCall) -> bool:
        """Take along what a call makes, if it goes; whether that is news."""
        if not self.holds(call):
            return False
        before = len(self.comms), len(self.windows)
        if "newcomm" in call:
            self.comms |= numbers_in(call["newcomm"]) - PREDEFINED
        if call.op in MAKES_WINDOW:
            self.windows.add((call["win"], call["comm"]))
        return before != (len(self.comms), len(self.windows))


def _without(body: tuple[Stmt, ...], gone: _Gone) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, MpiCall) and gone.holds(stmt):
            kept.append(replace(stmt, dropped=True))
        elif isinstance(stmt, LoopStatement):
            kept.append(replace(stmt, body=_without(stmt.body, gone)))
        elif isinstance(stmt, Branch):
            then, otherwise = _without(stmt.then, gone), _without(stmt.otherwise, gone)
            kept.append(replace(stmt, then=then, otherwise=otherwise))
        else:
            kept.append(stmt)
    return tuple(kept)
