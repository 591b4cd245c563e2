"""What one task does, statement by statement: the program bound to a number of tasks and parameters.

A list of these is what the interpreter executes and what can be compared with recorded calls. Ranks are
processors in MPI_COMM_WORLD. Loops with a count stay loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import SourcePlace
from scalatrace.codegen.conceptual.values.evaluate import Env

__all__ = ["Event"]

Comm = tuple[int, ...]
"""A set of ranks, ascending."""


@dataclass(frozen=True)
class MessageMemory:
    """Where a message lies and what is done to it.

    Attributes:
        buffer: number of the buffer; None: one that no pending message uses.
        unique: memory of its own.
        offset: bytes before the message in its buffer.
        alignment: bytes; the start is a multiple of it, or (misaligned) that far behind a page's start.
        touched: read or written as a whole.
        verified: filled with a pattern and compared.
    """

    buffer: int | None = None
    unique: bool = False
    offset: int = 0
    alignment: int = 0
    misaligned: bool = False
    touched: bool = False
    verified: bool = False


@dataclass(frozen=True, kw_only=True)
class TaskAction:
    """Anything that a task does."""

    place: SourcePlace = field(default=SourcePlace(), compare=False, repr=False)


@dataclass(frozen=True)
class Transfer(TaskAction):
    """`count` messages of `size` bytes to a rank (`sends`) or from it."""

    sends: bool
    peer: int
    size: int
    tag: int = 0
    count: int = 1
    asynchronous: bool = False
    memory: MessageMemory = MessageMemory()


@dataclass(frozen=True)
class AwaitAll(TaskAction):
    """Wait for all pending messages."""


@dataclass(frozen=True)
class Barrier(TaskAction):
    """A barrier of `comm`."""

    comm: Comm


@dataclass(frozen=True)
class Bcast(TaskAction):
    """`times` broadcasts of `count` units (BYTES, INTEGERS, DOUBLEWORDS) from world rank `root`."""

    comm: Comm
    root: int
    count: int
    unit: str = "BYTES"
    times: int = 1
    memory: MessageMemory = MessageMemory()


@dataclass(frozen=True)
class Alltoall(TaskAction):
    """`times` exchanges of `size` bytes between any two."""

    comm: Comm
    size: int
    times: int = 1
    memory: MessageMemory = MessageMemory()


@dataclass(frozen=True)
class Alltoallv(TaskAction):
    """`times` exchanges: bytes sent to, and received from, each of `comm`."""

    comm: Comm
    sent: tuple[int, ...]
    received: tuple[int, ...]
    times: int = 1
    memory: MessageMemory = MessageMemory()


@dataclass(frozen=True)
class Reduction(TaskAction):
    """A sum of `count` units, to world rank `root` or (None) to all of `comm`."""

    comm: Comm
    root: int | None
    count: int
    unit: str
    memory: MessageMemory = MessageMemory()


@dataclass(frozen=True)
class LocalStep(TaskAction):
    """A statement that a task executes by itself, with what is known there."""

    statement: t.Statement
    env: Env = field(compare=False, repr=False)


@dataclass(frozen=True)
class Repeat(TaskAction):
    """A loop; `serial` names it on all tasks."""

    count: int
    body: tuple[Event, ...]
    serial: int = 0


@dataclass(frozen=True)
class Each(Repeat):
    """A loop over numbers whose iterations communicate alike: `body` is the first one.

    `bodies` goes through the events of all iterations; `kept` is for those that are executed again.
    """

    bodies: Callable[[], Iterator[tuple[Event, ...]]] = field(compare=False, repr=False, kw_only=True)
    kept: list[tuple[Event, ...]] = field(default_factory=list, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Timed(TaskAction):
    """A loop that goes on, on all tasks alike, until the time is over on the last of them."""

    microseconds: int
    body: tuple[Event, ...]
    serial: int = 0


@dataclass(frozen=True)
class Aside(TaskAction):
    """Warming up: logs and prints nothing and leaves the counters as they were."""

    body: tuple[Event, ...]


@dataclass(frozen=True)
class EndOfTable(TaskAction):
    """The end of a sentence: what was logged becomes a table."""


Event: TypeAlias = (
    Transfer
    | AwaitAll
    | Barrier
    | Bcast
    | Alltoall
    | Alltoallv
    | Reduction
    | LocalStep
    | Repeat
    | Timed
    | Aside
    | EndOfTable
)
