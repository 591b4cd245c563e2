"""Events as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from scalatrace.operations import operation, received_bytes, sent_bytes
from scalatrace.predict.timeline import Timeline, TimelineEvent
from scalatrace.trace.model.call import Call, CompiledEvent
from scalatrace.trace.model.trace import NO_PRED

__all__ = ["CallFacts", "EventRow", "columns", "facts_of", "rows"]

MAX_CACHED_CALLS = 1 << 14
"""Different calls whose columns are kept."""

_PEERS = ("dest", "source", "target_rank", "root")


class EventRow(NamedTuple):
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
        thread: of the rank; tables have it only where ranks have several.
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
    thread: int = 0


def columns(timeline: Timeline) -> tuple[str, ...]:
    """Return the columns of a table: `thread` is the last one where ranks have several threads."""
    return EventRow._fields if timeline.has_threads else EventRow._fields[:-1]


def rows(timeline: Timeline) -> Iterator[EventRow]:
    """Yield the calls of all lines, rank by rank."""
    for line in timeline.lines:
        for event in timeline.events(*line):
            yield _row(event)


def _row(event: TimelineEvent) -> EventRow:
    facts = facts_of(event.call)
    return EventRow(
        event.rank, facts.call, facts.peer, facts.bytes, facts.tag, facts.comm, event.start_ns, event.end_ns,
        facts.call_site, event.thread,
    )  # fmt: skip


class CallFacts(NamedTuple):
    """The columns of a call without its times."""

    call: str
    peer: int | None
    bytes: int
    tag: int | None
    comm: str
    call_site: str


def facts_of(call: Call) -> CallFacts:
    """Return the columns of a call; cached by event node and values."""
    return _facts(call.place, call.values)


@lru_cache(MAX_CACHED_CALLS)
def _facts(place: CompiledEvent, values: tuple[int, ...]) -> CallFacts:
    call = Call(place, values, NO_PRED)
    tag = call.get("sendtag", call.get("tag"))
    shown = tag if tag is None or tag >= 0 else None
    return CallFacts(f"MPI_{call.op}", _peer(call), _nbytes(call), shown, _comm_name(call), call.site)


def _peer(call: Call) -> int | None:
    """Return the world rank of the other end of a call; None where it has none."""
    name = next((name for name in _PEERS if name in call.place.names), None)
    stored = -1 if name is None else call.raw(name)
    if stored < 0 or stored >= len(call.comm.peers):
        return None
    world = call.comm.world(stored)
    return world if world >= 0 else None


def _nbytes(call: Call) -> int:
    """Return the bytes that a call sends; of a receive those that fit its buffer."""
    later = operation(call.op).flow_later
    return sent_bytes(call.op, call, later) or received_bytes(call.op, call, later)


def _comm_name(call: Call) -> str:
    """Return the communicator of a call; "" where it has none."""
    if call.place.comm_at is None:
        return ""
    comm = call.comm
    return f"{comm.kind}#{comm.family}" if comm.family > 2 else comm.kind
