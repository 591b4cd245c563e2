"""Events as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scalatrace.operations import operation, received_bytes, sent_bytes
from scalatrace.predict.timeline import Event, Timeline
from scalatrace.trace.model.call import Call

__all__ = ["Row", "call_bytes", "comm_name", "peer_of", "rows"]

_PEERS = ("dest", "source", "target_rank", "root")


class Row(NamedTuple):
    """A call.

    Attributes:
        rank: world rank of the caller.
        call: name of the MPI procedure.
        peer: world rank of the destination, else of the source or root; None where it has none.
        bytes: sent by the call; of a receive: the size of its buffer.
        tag: of the message; None where it has none.
        comm: communicator: its kind and number in the trace.
        start_ns, end_ns: since the start of the program, reconstructed.
        call_site: innermost frame; "" where none was recorded.
    """

    rank: int
    call: str
    peer: int | None
    bytes: int
    tag: int | None
    comm: str
    start_ns: int
    end_ns: int
    call_site: str


def rows(timeline: Timeline) -> Iterator[Row]:
    """Yield the calls of all ranks, rank by rank."""
    for rank in timeline.ranks:
        for event in timeline.events(rank):
            yield _row(event)


def _row(event: Event) -> Row:
    call = event.call
    tag = call.get("sendtag", call.get("tag"))
    return Row(
        event.rank, f"MPI_{call.op}", peer_of(call), call_bytes(call),
        tag if tag is None or tag >= 0 else None, comm_name(call), event.start_ns, event.end_ns, call.site,
    )  # fmt: skip


def peer_of(call: Call) -> int | None:
    """Return the world rank of the other end of a call; None where it has none."""
    name = next((name for name in _PEERS if name in call.place.names), None)
    stored = -1 if name is None else call.raw(name)
    if stored < 0 or stored >= len(call.comm.peers):
        return None
    world = call.comm.world(stored)
    return world if world >= 0 else None


def call_bytes(call: Call) -> int:
    """Return the bytes that a call sends; of a receive those that fit its buffer."""
    later = operation(call.op).flow_later
    return sent_bytes(call.op, call, later) or received_bytes(call.op, call, later)


def comm_name(call: Call) -> str:
    """Return the communicator of a call; "" where it has none."""
    if call.place.comm_at is None:
        return ""
    comm = call.comm
    return f"{comm.kind}#{comm.family}" if comm.family > 2 else comm.kind
