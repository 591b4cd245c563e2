"""Events as a Paraver trace: `.prv` with the records, `.pcf` with the meaning of values, `.row` with names.

Records are in the order of their times. A call is a state and a pair of events; a message has four times.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path

from scalatrace.files import output_file, write_file
from scalatrace.operations import Category, operation
from scalatrace.predict.timeline import Timeline, TimelineEvent, TimelineMessage

__all__ = ["write_paraver"]

MPI_CALL = 50000003
"""Type of the events: the MPI call that a rank is in; value 0 is none."""

RUNNING = 1
_STATES = {
    1: "Running", 3: "Waiting a message", 4: "Blocking send", 8: "Wait", 9: "Group communication",
    10: "Immediate send", 11: "Immediate receive", 12: "I/O", 15: "Others", 17: "Send receive",
}  # fmt: skip
_BY_CATEGORY = {
    Category.SEND: 4, Category.RECV: 3, Category.SENDRECV: 17, Category.COMPLETION: 8, Category.COLLECTIVE: 9,
    Category.NEIGHBOUR: 9, Category.IO: 12, Category.FILE: 12, Category.PROBE: 3,
}  # fmt: skip

Record = tuple[int, int, str]
"""Time in ns, order at equal times, text."""


def write_paraver(timeline: Timeline, path: Path) -> None:
    """Write `path` (.prv) and, beside it, the .pcf and .row of the same name."""
    ends = _ends(timeline)
    calls = _ParaverCalls()
    streams = [_records(timeline, position, ends, calls) for position in range(len(timeline.ranks))]
    with output_file(path) as file:
        file.write(f"{_header(timeline)}\n".encode())
        file.writelines(f"{text}\n".encode() for _, _, text in heapq.merge(*streams))
    write_file(path.with_suffix(".pcf"), calls.legend().encode())
    write_file(path.with_suffix(".row"), _names(timeline).encode())


class _ParaverCalls:
    """Values of the event MPI_CALL, from 1 in the order in which they occur."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}

    def value(self, op: str) -> int:
        return self._values.setdefault(op, len(self._values) + 1)

    def legend(self) -> str:
        states = "".join(f"{value:<5}{name}\n" for value, name in _STATES.items())
        values = "".join(f"{value:<5}MPI_{op}\n" for op, value in self._values.items())
        event = f"EVENT_TYPE\n0    {MPI_CALL}    MPI call\nVALUES\n0    Outside MPI\n{values}\n"
        return f"STATES\n{states}\n\n{event}"


def _header(timeline: Timeline) -> str:
    n = len(timeline.ranks)
    tasks = ",".join(f"1:{i + 1}" for i in range(n))
    cpus = ",".join("1" for _ in range(n))
    return f"#Paraver (01/01/2000 at 00:00):{timeline.end_ns}_ns:{n}({cpus}):1:{n}({tasks})"


def _names(timeline: Timeline) -> str:
    n = len(timeline.ranks)
    ranks = "".join(f"rank {rank}\n" for rank in timeline.ranks)
    return f"LEVEL CPU SIZE {n}\n{ranks}\nLEVEL NODE SIZE {n}\n{ranks}\nLEVEL THREAD SIZE {n}\n{ranks}"


def _ends(timeline: Timeline) -> dict[str, int]:
    """Return when each message was received, by its name."""
    return {
        message.name: event.end_ns
        for rank in timeline.ranks
        for event in timeline.events(rank)
        for message in event.messages
        if not message.sent
    }


def _records(
    timeline: Timeline, position: int, ends: dict[str, int], calls: _ParaverCalls
) -> Iterator[Record]:
    """Yield the records of one rank in the order of their times."""
    who, before = _object(position), 0
    positions = {rank: i for i, rank in enumerate(timeline.ranks)}
    for event in timeline.events(timeline.ranks[position]):
        start, end = event.start_ns, event.end_ns
        if start > before:
            yield before, 1, f"1:{who}:{before}:{start}:{RUNNING}"
        yield start, 1, f"1:{who}:{start}:{end}:{_state(event)}"
        yield start, 2, f"2:{who}:{start}:{MPI_CALL}:{calls.value(event.call.op)}"
        for message in event.messages:
            if message.sent and message.name in ends:
                yield start, 3, _message(message, who, _object(positions[message.dest]), start, ends)
        yield end, 2, f"2:{who}:{end}:{MPI_CALL}:0"
        before = end


def _object(position: int) -> str:
    """Return CPU, application, task and thread of a rank, all from 1."""
    return f"{position + 1}:1:{position + 1}:1"


def _state(event: TimelineEvent) -> int:
    row = operation(event.call.op)
    if row.makes_request and row.category in (Category.SEND, Category.RECV):
        return 10 if row.category is Category.SEND else 11
    return _BY_CATEGORY.get(row.category, 15)


def _message(message: TimelineMessage, source: str, dest: str, start: int, ends: dict[str, int]) -> str:
    """Return a record with logical and physical times of both ends, which are equal here."""
    end = ends[message.name]
    return f"3:{source}:{start}:{start}:{dest}:{end}:{end}:{message.nbytes}:{message.tag}"
