"""A schedule: operations of each rank, and the operations that each one waits for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from os import PathLike

from scalatrace.errors import FormatError, ScalatraceError, TextError
from scalatrace.operations import operation

__all__ = ["ANY", "OperationKind", "OperationSchedule", "ScheduledCollective", "ScheduledOperation"]

ANY = -1
"""Peer or tag of a receive that takes any."""


class OperationKind(IntEnum):
    """What an operation does; the numbers of the first three are those of GOAL's binary form."""

    SEND = 1
    RECV = 2
    CALC = 3
    COLLECTIVE = 4


@dataclass(frozen=True, slots=True)
class ScheduledCollective:
    """A collective operation: the MPI operation, its ranks in order, and its root where it has one."""

    op: str
    members: tuple[int, ...]
    root: int = 0

    def __str__(self) -> str:
        return f"{self.op} with root {self.members[self.root]}" if operation(self.op).is_rooted else self.op


@dataclass(slots=True)
class ScheduledOperation:
    """An operation of a rank.

    Attributes:
        size: bytes of a message or collective, ns of a computation.
        peer, tag: of a message; `ANY` in receives.
        place: line, or byte of the file, for errors.
        ended, begun: numbers of operations of the rank that must have ended, or begun, before it begins.
        cpu: computations of one CPU follow each other.
    """

    kind: OperationKind
    size: int
    peer: int = 0
    tag: int = 0
    place: int = 0
    cpu: int = 0
    ended: list[int] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    collective: ScheduledCollective | None = None

    def __str__(self) -> str:
        match self.kind:
            case OperationKind.CALC:
                return f"calc {self.size}"
            case OperationKind.COLLECTIVE:
                return f"{self.collective.op if self.collective else 'collective'} of {self.size} bytes"
            case OperationKind.SEND:
                return f"send {self.size}b to {self.peer} tag {self.tag}"
        return f"recv {self.size}b from {self.peer} tag {self.tag}"


@dataclass(slots=True)
class OperationSchedule:
    """The operations of all ranks.

    Attributes:
        ranks: the operations of each rank.
        files: the file of each rank; one entry where all ranks are in one file.
        is_text: whether places are lines; else bytes.
        left_out: what the file has and the operations have not, with its number.
    """

    ranks: list[list[ScheduledOperation]]
    files: list[str | PathLike[str]]
    is_text: bool = True
    left_out: Counter[str] = field(default_factory=Counter)

    def error(self, rank: int, operation: ScheduledOperation, reason: str) -> ScalatraceError:
        """Return the error of an operation, with its file and place."""
        path = self.files[rank if len(self.files) > 1 else 0]
        if self.is_text:
            return TextError(reason, path, operation.place, 1)
        return FormatError(reason, path, operation.place)
