"""Messages of a point-to-point call, in world ranks, with tags that keep communicators apart."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.errors import UsageError
from scalatrace.operations import Operation, operation
from scalatrace.predict.lowering.actions import RecvMessage, SendMessage
from scalatrace.trace.model.call import Call
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, UNDEFINED

__all__ = ["FIRST_NUMBERED", "LoweredMessages", "Tags"]

FIRST_NUMBERED = 1 << 24
"""First tag that stands for a communicator and a tag; smaller ones are those of MPI_COMM_WORLD."""

_WORLD = 0


class Tags:
    """Tags by family, kind of message and tag; equal for all ranks that are lowered with this object.

    Two ranks share at most one communicator of a family, so the family is enough.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, str, int], int] = {}

    def of(self, family: int, tag: int, kind: str = "message") -> int:
        """Return the tag of a message. `kind`: "message", "partitioned" or "collective"."""
        if family == _WORLD and kind == "message" and 0 <= tag < FIRST_NUMBERED:
            return tag
        key = family, kind, tag
        if key not in self._known:
            self._known[key] = FIRST_NUMBERED + len(self._known)
        return self._known[key]


class LoweredMessages:
    """Translates peers and tags. `numbers`: world rank -> rank of the result; None: all, unchanged."""

    def __init__(self, tags: Tags, numbers: dict[int, int] | None) -> None:
        self._tags, self._numbers = tags, numbers

    def of(self, call: Call) -> tuple[list[SendMessage | RecvMessage], int]:
        """Return the messages of a call, and the number of peers that are not in the result.

        Raises UsageError if a receive names no source or no tag.
        """
        row, outside = operation(call.op), 0
        result: list[SendMessage | RecvMessage] = []
        if row.recvs is not None and row.recvs.peer in call:
            peer = self.peer(call, row.recvs.peer)
            tag = self._tag(call, "recvtag")
            if peer is not None:
                result.append(RecvMessage(peer, self._nbytes(row, call, False), tag))
            outside += peer is None and call.raw(row.recvs.peer) >= 0
        if row.sends is not None and row.sends.peer in call:
            peer = self.peer(call, row.sends.peer)
            if peer is not None:
                result.append(SendMessage(peer, self._nbytes(row, call, True), self._tag(call, "sendtag")))
            outside += peer is None and call.raw(row.sends.peer) >= 0
        return result, outside

    def is_open(self, call: Call) -> bool:
        """Return whether a call leaves source or tag of its receive open."""
        row = operation(call.op)
        if row.recvs is None or row.recvs.peer not in call:
            return False
        return call.raw(row.recvs.peer) == ANY_SOURCE or self._raw_tag(call, "recvtag") == ANY_TAG

    def received(self, call: Call, source: int, tag: int) -> tuple[RecvMessage, ...]:
        """Return the message of an open receive, given its sender (a world rank) and tag.

        Raises UsageError if they are not known.
        """
        if source == ANY_SOURCE or tag == ANY_TAG:
            raise UsageError(_open(call, "source" if source == ANY_SOURCE else "tag"))
        peer = None if source < 0 else self.number(source)
        nbytes = self._nbytes(operation(call.op), call, False)
        return () if peer is None else (RecvMessage(peer, nbytes, self.tag(call, tag)),)

    def peer(self, call: Call, name: str) -> int | None:
        """Return the other rank; None for MPI_PROC_NULL and for a process that is not in the result."""
        stored = call.raw(name)
        if stored == ANY_SOURCE:
            raise UsageError(_open(call, "source"))
        return None if stored < 0 else self.number(call.comm.world(stored))

    def complete(self, members: Sequence[int]) -> bool:
        """Return whether all members of a communicator are in the result, with their own numbers."""
        return self._numbers is None and (isinstance(members, range) or UNDEFINED not in members)

    def positions(self, members: Sequence[int]) -> list[int]:
        """Return the positions of the members of a communicator that are in the result, ascending."""
        if self._numbers is not None and isinstance(members, range):
            return sorted(members.index(rank) for rank in self._numbers if rank in members)
        return [i for i, rank in enumerate(members) if self.number(rank) is not None]

    def number(self, world: int) -> int | None:
        """Return the rank in the result of a world rank; None if it is not in it."""
        if world == UNDEFINED:
            return None
        return world if self._numbers is None else self._numbers.get(world)

    def tag(self, call: Call, tag: int, kind: str = "message") -> int:
        """Return the tag of a message in the communicator of a call."""
        return self._tags.of(call.family, tag, kind)

    def _tag(self, call: Call, name: str) -> int:
        tag = self._raw_tag(call, name)
        if tag == ANY_TAG:
            raise UsageError(_open(call, "tag"))
        return self.tag(call, tag, "partitioned" if operation(call.op).is_partitioned else "message")

    @staticmethod
    def _raw_tag(call: Call, name: str) -> int:
        return call.raw(name) if name in call else call.raw("tag") if "tag" in call else 0

    @staticmethod
    def _nbytes(row: Operation, call: Call, sends: bool) -> int:
        flow = row.sends if sends else row.recvs
        return flow.nbytes(call) if flow is not None else 0


def _open(call: Call, wildcard: str) -> str:
    return (
        f"rank {call.rank}: MPI_{call.op} at {call.site or 'an unknown call site'} "
        f"receives from any {wildcard}; give it a sender first (codegen.matching.resolve_wildcards)"
    )
