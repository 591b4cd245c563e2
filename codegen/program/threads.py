"""What the threads of a program share: communicators, requests, and the orders in which they use them.

The statements of each thread stand under a condition on the variable `thread`. The orders are expressions of
the rank and of `i`, the number of a use: programs read them when they run, as replays read those of a trace.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.formula import Expr, Value, Var
from scalatrace.trace.model.tables import SharedKind

__all__ = ["INDEX", "THREAD", "ProgramThreads", "UseSequence"]

THREAD = Var("thread", None)
"""The number of the thread that executes a statement."""

INDEX = Var("i", None)
"""The number of a use, in a `UseSequence`."""


@dataclass(frozen=True, slots=True)
class UseSequence:
    """Threads in the order of their uses, or the uses of objects (`Trace.uses`).

    Attributes:
        length: how many numbers there are on this rank.
        value: the number at INDEX.
    """

    length: Expr
    value: Value


@dataclass(frozen=True)
class ProgramThreads:
    """The threads of each rank.

    Attributes:
        count: threads to start; some may have no calls on a rank.
        comms: the communicators that more than one thread names.
        shares_requests, shares_messages: whether threads name those of other threads.
        turns: by communicator, the threads of its collective calls.
        ncalls: by communicator that is freed, the number of other calls on it.
        uses: by kind, and creating thread or communicator, the uses of objects.
    """

    count: int
    comms: frozenset[int]
    shares_requests: bool
    shares_messages: bool
    turns: dict[int, UseSequence]
    ncalls: dict[int, Expr]
    uses: dict[tuple[SharedKind, int], UseSequence]
