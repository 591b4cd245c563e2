"""The interface through which the engine issues MPI calls.

`mpi` issues them by MPI, `memory` only stores them, for tests and dry runs.
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


class TransportBuffer(Protocol):
    """Memory for a message."""

    @property
    def nbytes(self) -> int:
        """Bytes from its start."""


class Post(Protocol):
    """Receives every message on some communicators. The caller gives each communicator a key."""

    def open(self, key: int, comm: Handle) -> None:
        """Start to receive on a communicator."""

    def close(self, key: int) -> None:
        """Stop receiving on it."""

    def take(self) -> tuple[int, int] | None:
        """Receive a message that has arrived; return its key and its bytes, or None when there is none."""

    def take_own(self, comm: Handle, tag: int) -> int:
        """Receive a message of this rank to itself on a communicator of one rank; return its bytes."""

    def wait(self, request: Handle) -> tuple[int, int] | None:
        """Wait for a request or a message, whatever is first; return None for the request."""


class Transport(Protocol):
    """Issues MPI calls for one rank."""

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
        """Return a reduction operation that changes nothing."""

    def datatype(self, tree: TypeTree) -> tuple[Handle, int, int, int, int]:
        """Build and commit a datatype: (handle, size, extent, true lower bound, true extent), in bytes."""

    def constant(self, value: int) -> int:
        """Return MPI's integer for a special value of the trace (PROC_NULL, ...); others as they are."""

    def named_constant(self, name: str) -> int:
        """Return the integer of a constant by its name (MPI_...), or of a number."""

    def degrees(self, comm: Handle) -> tuple[int, int]:
        """Return the numbers of destinations and sources of a distributed graph communicator."""

    def buffer(self, nbytes: int, random: bool = False) -> TransportBuffer:
        """Return memory, with random content where that is asked for."""

    def at(self, buffer: Any, offset: int) -> Handle:
        """Return the address `offset` bytes into a buffer, as an argument."""

    def address(self, buffer: Any) -> int:
        """Return the address of a buffer as MPI_Get_address does."""

    def prepare(self, op: str, args: Sequence[Any]) -> Prepared:
        """Convert the arguments of MPI_<op>."""

    def issue(self, call: Prepared) -> None:
        """Issue a prepared call. Raises ReplayError when MPI reports an error."""

    def quiet(self, op: str, *args: Any) -> None:
        """Call PMPI_<op> of the engine itself, which no tracer records."""

    def members(self, comm: Handle) -> tuple[int, ...]:
        """Return the world ranks of a communicator's (local) group, in its order."""

    def group(self, ranks: Sequence[int]) -> Handle:
        """Return the group of these world ranks."""

    def matched(self, status: Status) -> tuple[int, int]:
        """Return source and bytes of the message that a status is about."""

    def recorded_as_any_source(self) -> AbstractContextManager[None]:
        """Let a tracer record MPI_ANY_SOURCE for the receive or probe in the context."""

    def abort(self, message: str, status: int = 1) -> None:
        """Print the message, if any, and end all ranks; does not return."""

    def gather(self, data: bytes) -> list[bytes] | None:
        """Collect a piece of data from every rank at rank 0, past any tracer; None elsewhere."""

    def broadcast(self, data: bytes) -> bytes:
        """Return on all ranks the data of rank 0, past any tracer."""

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send each rank its part; return what each rank sent to this one. No tracer records it."""

    def open_port(self) -> str:
        """Open a port and return its name; no tracer records it. Raises ReplayError."""

    def mailboxes(self, nbytes: int) -> Post:
        """Return a Post for messages of up to so many bytes on all ranks; no tracer records it.

        All ranks call it, each with the bytes of the largest message that it sends.
        """

    def exchange_counts(self, comm: Handle, counts: list[int], poll: Callable[[], object]) -> int:
        """Tell each peer of a communicator its count, polling meanwhile; return the sum of theirs."""

    def is_null(self, handle: Handle) -> bool:
        """Say whether a handle is its kind's null handle."""
