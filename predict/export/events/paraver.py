"""Events as a Paraver trace: `.prv` with the records, `.pcf` with the meaning of values, `.row` with names.

Records are in the order of their times. A call is a state and a pair of events; a message has four times.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path

from scalatrace.files import output_file, write_file
from scalatrace.operations import Category, operation
from scalatrace.predict.timeline import Line, Timeline, TimelineEvent, TimelineMessage

__all__ = ["write_paraver"]

MPI_CALL = 50000003
"""Type of the events: the MPI call that a rank is in; value 0 is none. Extrae's number of other MPI calls."""

RUNNING, IMMEDIATE_SEND, IMMEDIATE_RECEIVE, OTHERS = 1, 10, 11, 15
_STATES = {
    1: "Running", 3: "Waiting a message", 4: "Blocking send", 8: "Wait", 9: "Group communication",
    10: "Immediate send", 11: "Immediate receive", 12: "I/O", 15: "Others", 17: "Send receive",
}  # fmt: skip
"""Numbers and names of states as in Extrae's traces, so that Paraver's configurations fit."""

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
    streams = [_records(timeline, line, ends, calls) for line in timeline.lines]
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
    n, threads = len(timeline.ranks), _threads(timeline)
    tasks = ",".join(f"{max(threads[rank]) + 1}:{i + 1}" for i, rank in enumerate(timeline.ranks))
    cpus = ",".join("1" for _ in range(n))
    return f"#Paraver (01/01/2000 at 00:00):{timeline.end_ns}_ns:{n}({cpus}):1:{n}({tasks})"


def _names(timeline: Timeline) -> str:
    n = len(timeline.ranks)
    ranks = "".join(f"rank {rank}\n" for rank in timeline.ranks)
    lines = [(rank, i) for rank, own in _threads(timeline).items() for i in range(max(own) + 1)]
    threads = "".join(f"rank {timeline.label(line)}\n" for line in lines)
    sizes = f"LEVEL CPU SIZE {n}\n{ranks}\nLEVEL NODE SIZE {n}\n{ranks}"
    return f"{sizes}\nLEVEL THREAD SIZE {len(lines)}\n{threads}"


def _threads(timeline: Timeline) -> dict[int, list[int]]:
    """Return the threads of each rank that make calls; Paraver numbers those of a task without gaps."""
    threads: dict[int, list[int]] = {}
    for rank, thread in timeline.lines:
        threads.setdefault(rank, []).append(thread)
    return threads


def _ends(timeline: Timeline) -> dict[str, tuple[int, int]]:
    """Return when each message was received, and by which thread, by its name."""
    return {
        message.name: (event.end_ns, event.thread)
        for line in timeline.lines
        for event in timeline.events(*line)
        for message in event.messages
        if not message.sent
    }


def _records(
    timeline: Timeline, line: Line, ends: dict[str, tuple[int, int]], calls: _ParaverCalls
) -> Iterator[Record]:
    """Yield the records of one line in the order of their times."""
    positions = {rank: i for i, rank in enumerate(timeline.ranks)}
    who, before = _object(positions[line[0]], line[1]), 0
    for event in timeline.events(*line):
        start, end = event.start_ns, event.end_ns
        if start > before:
            yield before, 1, f"1:{who}:{before}:{start}:{RUNNING}"
        yield start, 1, f"1:{who}:{start}:{end}:{_state(event)}"
        yield start, 2, f"2:{who}:{start}:{MPI_CALL}:{calls.value(event.call.op)}"
        for message in event.messages:
            if message.sent and message.name in ends:
                end_ns, thread = ends[message.name]
                dest = _object(positions[message.dest], thread)
                yield start, 3, _message(message, who, dest, start, end_ns)
        yield end, 2, f"2:{who}:{end}:{MPI_CALL}:0"
        before = end


def _object(position: int, thread: int) -> str:
    """Return CPU, application, task and thread of a line, all from 1."""
    return f"{position + 1}:1:{position + 1}:{thread + 1}"


def _state(event: TimelineEvent) -> int:
    row = operation(event.call.op)
    if row.makes_request and row.category in (Category.SEND, Category.RECV):
        return IMMEDIATE_SEND if row.category is Category.SEND else IMMEDIATE_RECEIVE
    return _BY_CATEGORY.get(row.category, OTHERS)


def _message(message: TimelineMessage, source: str, dest: str, start: int, end: int) -> str:
    """Return a record with logical and physical times of both ends, which are equal here."""
    return f"3:{source}:{start}:{start}:{dest}:{end}:{end}:{message.nbytes}:{message.tag}"
