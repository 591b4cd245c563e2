"""Track the live requests of a rank along its walk: find the call that created each request.

A Start moves the data that the creating call describes. As in the recorder, a request's name is its age: the
number of newer live requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import cache

from scalatrace.errors import LimitError
from scalatrace.operations import operation
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.walk import walk

__all__ = ["ENDING", "STARTING", "ages", "started", "starts"]

MAX_WALKED = 1 << 24
"""Calls of a rank walked to find the requests that it starts; more would take minutes."""

STARTING = frozenset({"Start", "Startall"})
ENDING = frozenset({"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"})


class Role(Enum):
    """What an operation does to requests."""

    NONE = auto()
    MAKES = auto()
    STARTS = auto()
    COMPLETES = auto()
    FREES = auto()


def starts(trace: Trace, rank: int) -> Iterator[tuple[Call, tuple[Call, ...]]]:
    """Yield each Start or Startall of a rank with the calls that created the requests it starts.

    Null requests are left out, as are requests created while recording was off.
    """
    live = _Live()
    for call in walk(trace, rank):
        role = _role(call.op)
        if role is Role.MAKES:
            live.add(call)
        elif role is Role.STARTS:
            yield call, live.persistent(ages(call))
        elif role is not Role.NONE:
            live.end(ages(call), freed=role is Role.FREES)


def started(trace: Trace, rank: int) -> Iterator[tuple[Event, Call, int]]:
    """Yield node of the Start, call that created the request, and count, of the requests a rank starts.

    Walks the rank's calls only when it starts requests.

    Raises:
        LimitError: these calls are more than MAX_WALKED.
    """
    if not any(op.name in STARTING for op in trace.ops):
        return
    calls = starting = 0
    for event, n in executions_of(trace, rank):
        calls += n
        starting += trace.ops[event.op].name in STARTING
    if not starting:
        return
    if calls > MAX_WALKED:
        raise LimitError(
            f"rank {rank} starts persistent requests and has {calls} calls: finding the requests it starts "
            f"is limited to {MAX_WALKED} calls; record fewer steps"
        )
    # Calls of one place with the same values are counted together: requests created in a loop cost no memory.
    times = Counter(
        (start.place, creator.place, creator.values)
        for start, creators in starts(trace, rank)
        for creator in creators
    )
    for (at, place, values), n in times.items():
        yield at.node, Call(place, values, -1), n


class _Live:
    """The calls that created the live requests, oldest first."""

    def __init__(self) -> None:
        self._creators: list[Call] = []

    def add(self, call: Call) -> None:
        """Add the newest request by the call that creates it."""
        self._creators.append(call)

    def persistent(self, ages: Sequence[int]) -> tuple[Call, ...]:
        """Return the calls that created the persistent requests of these ages."""
        creators = (self._creators[position] for position in self._positions(ages))
        return tuple(call for call in creators if _is_persistent(call))

    def end(self, ages: Sequence[int], freed: bool) -> None:
        """Remove completed (unless persistent) or freed requests; ages are those before the call."""
        ended = {i for i in self._positions(ages) if freed or not _is_persistent(self._creators[i])}
        if ended:
            first = min(ended)
            rest = enumerate(self._creators[first:], first)
            self._creators[first:] = [call for i, call in rest if i not in ended]

    def _positions(self, ages: Sequence[int]) -> list[int]:
        n = len(self._creators)
        return [n - 1 - age for age in ages if 0 <= age < n]


@cache
def _role(op: str) -> Role:
    row = operation(op)
    if row.makes_request:
        return Role.MAKES
    if op in STARTING:
        return Role.STARTS
    if op in ENDING:
        return Role.COMPLETES
    return Role.FREES if op == "Request_free" else Role.NONE


def _is_persistent(creator: Call) -> bool:
    return operation(creator.op).flow_later


def ages(call: Call) -> Sequence[int]:
    """Return the request ages that a call starts or ends; of Waitany and Testany the completed one.

    There are none where the trace does not have them.
    """
    if "request" in call:
        return (call["request"],)
    every = call.get("requests")
    if not isinstance(every, tuple):
        return ()
    if "index" not in call:
        return every
    index = call["index"]
    return every[index : index + 1] if index >= 0 else ()
