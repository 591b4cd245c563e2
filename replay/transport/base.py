"""What the engine asks of whatever carries out MPI calls.

`transport_mpi` is MPI itself, `transport_memory` only keeps the calls (for tests and dry runs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from scalatrace.replay.transport.args import Status
from scalatrace.trace.model.typetree import TypeTree

Handle = Any
"""A communicator, datatype, request, ...: the transport's own object, opaque to the engine."""

Prepared = Any
"""A call whose arguments are converted, so that issuing it costs next to nothing."""


class Buffer(Protocol):
    """Memory for a message."""

    @property
    def nbytes(self) -> int:
        """Bytes from its start."""


class Post(Protocol):
    """What receives whatever comes on some communicators, by keys of the caller's."""

    def open(self, key: int, comm: Handle) -> None:
        """Begin to receive on a communicator."""

    def close(self, key: int) -> None:
        """Receive no more on it."""

    def take(self) -> tuple[int, int] | None:
        """Receive a message that has come: its key and its bytes; None when there is none."""

    def take_own(self, comm: Handle, tag: int) -> int:
        """Receive what this rank sent to itself on a communicator that it has alone; return its bytes."""

    def wait(self, request: Handle) -> tuple[int, int] | None:
        """Wait for a request, or for a message that comes before it ends; None: the request has ended."""


class Transport(Protocol):
    """One rank's way to issue MPI calls."""

    rank: int
    size: int
    shares_cores: bool
    """Whether the ranks of this machine are more than its cores that they may use."""

    def handle(self, kind: str) -> Handle:
        """Return a null handle: "comm", "request", "message", "win", "file", "group", "type"."""

    def predefined(self, kind: str, name: str) -> Handle:
        """Return a new handle of a predefined "comm", "message" or "op" by its MPI name.

        Calls that overwrite their handle change only this one.
        """

    def user_op(self) -> Handle:
        """Return a reduction operation that leaves its operands alone."""

    def datatype(self, tree: TypeTree) -> tuple[Handle, int, int, int, int]:
        """Build and commit a datatype: (handle, size, extent, true lower bound, true extent), in bytes."""

    def constant(self, value: int) -> int:
        """Return MPI's integer for a special value of the trace (PROC_NULL, ...); others as they are."""

    def named_constant(self, name: str) -> int:
        """Return the integer of a constant's name (MPI_...), or the number that the text is."""

    def degrees(self, comm: Handle) -> tuple[int, int]:
        """Return the numbers of destinations and sources of a distributed graph communicator."""

    def buffer(self, nbytes: int, random: bool = False) -> Buffer:
        """Return memory, with random content where that is asked for."""

    def at(self, buffer: Any, offset: int) -> Handle:
        """Return the address `offset` bytes into a buffer, as an argument."""

    def prepare(self, op: str, args: Sequence[Any]) -> Prepared:
        """Convert the arguments of MPI_<op>."""

    def issue(self, call: Prepared) -> None:
        """Make the call that was prepared. Raises ReplayError when MPI reports an error."""

    def quiet(self, op: str, *args: Any) -> None:
        """Make a call past any tracer (PMPI_<op>): the engine's own, not the application's."""

    def members(self, comm: Handle) -> tuple[int, ...]:
        """Return the world ranks of a communicator's (local) group, in its order."""

    def group(self, ranks: Sequence[int]) -> Handle:
        """Return the group of these world ranks."""

    def matched(self, status: Status) -> tuple[int, int]:
        """Return source and bytes of the message that a status is about."""

    def recorded_as_any_source(self) -> AbstractContextManager[None]:
        """Let a tracer record MPI_ANY_SOURCE for the receive or probe that is made meanwhile."""

    def gather(self, data: bytes) -> list[bytes] | None:
        """Collect a piece of data from every rank at rank 0, past any tracer; None elsewhere."""

    def mailboxes(self, nbytes: int) -> Post:
        """Return what receives messages of up to so many bytes on all ranks, past any tracer.

        All ranks call it, each with the bytes of the largest message that it sends.
        """

    def exchange_counts(self, comm: Handle, counts: list[int], poll: Callable[[], object]) -> int:
        """Tell each peer of a communicator its count, polling meanwhile; return the sum of what they tell."""

    def is_null(self, handle: Handle) -> bool:
        """Say whether a handle is its kind's null handle."""
