"""Events as Chrome's JSON, for ui.perfetto.dev, chrome://tracing and speedscope.

A slice for each call, on a track for each rank or thread of a rank, and an arrow for each message. Times are
microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from scalatrace.operations import operation
from scalatrace.predict.export.events.rows import facts_of
from scalatrace.predict.timeline import Timeline, TimelineEvent, TimelineMessage

__all__ = ["arguments", "write_chrome"]


def write_chrome(timeline: Timeline, file: IO[bytes]) -> None:
    """Write one JSON object, a line for each event."""
    file.write(b'{"displayTimeUnit":"ns","traceEvents":[')
    separator = b"\n"
    for entry in _entries(timeline):
        file.write(separator + json.dumps(entry, separators=(",", ":")).encode())
        separator = b",\n"
    file.write(b"\n]}\n")


def _entries(timeline: Timeline) -> Iterator[dict[str, Any]]:
    program = timeline.trace.meta.get("program", "MPI program")
    yield {"ph": "M", "pid": 0, "name": "process_name", "args": {"name": program}}
    # Of one thread each, ranks are the numbers of tracks; else lines are.
    tracks = {line: i if timeline.has_threads else line[0] for i, line in enumerate(timeline.lines)}
    for line, number in tracks.items():
        track = {"ph": "M", "pid": 0, "tid": number}
        yield {**track, "name": "thread_name", "args": {"name": f"rank {timeline.label(line)}"}}
        yield {**track, "name": "thread_sort_index", "args": {"sort_index": number}}
    for line, number in tracks.items():
        for event in timeline.events(*line):
            yield _slice(event, number)
            yield from (_arrow(event, message, number) for message in event.messages)


def _slice(event: TimelineEvent, track: int) -> dict[str, Any]:
    call = event.call
    return {
        "ph": "X", "pid": 0, "tid": track, "name": f"MPI_{call.op}",
        "cat": operation(call.op).category.value, "ts": event.start_ns / 1000,
        "dur": (event.end_ns - event.start_ns) / 1000, "args": arguments(event),
    }  # fmt: skip


def arguments(event: TimelineEvent) -> dict[str, Any]:
    """Return what a viewer shows about a call, without what it does not have."""
    facts = facts_of(event.call)
    values = {
        "peer": facts.peer, "bytes": facts.bytes or None, "comm": facts.comm or None,
        "call_site": facts.call_site or None,
    }  # fmt: skip
    return {name: value for name, value in values.items() if value is not None}


def _arrow(event: TimelineEvent, message: TimelineMessage, track: int) -> dict[str, Any]:
    """Return the start of an arrow at the beginning of a call, or its end at the end of one."""
    arrow = {"pid": 0, "tid": track, "name": "message", "cat": "message", "id": message.name}
    if message.sent:
        return {"ph": "s", "ts": event.start_ns / 1000, **arrow}
    return {"ph": "f", "bp": "e", "ts": event.end_ns / 1000, **arrow}
