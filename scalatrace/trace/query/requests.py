"""The live requests of a rank along its walk: what a Start moves is said where its request was made.

As in the recorder, a request's name is its age: how many of those alive are newer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING

from scalatrace.errors import LimitError
from scalatrace.ops import operation
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.walk import Call, walk

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["ENDING", "STARTING", "ages", "started", "starts"]

MAX_WALKED = 1 << 24
"""Calls of a rank that are walked to find which requests it starts; more would take minutes."""

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
    """Each Start or Startall of a rank with the calls that made the requests it starts.

    A null request is left out, and so is one that no recorded call made: recording was off at the time.
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
    """What a rank started, like with like: node of the Start, call that made the request, how often.

    Takes no time when the rank never starts a request; else the rank's calls are walked.

    Raises:
        LimitError: these are more than MAX_WALKED.
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
            f"rank {rank} makes {calls} calls and starts persistent requests: "
            f"more than the {MAX_WALKED} calls that are walked to find which requests it starts"
        )
    # Calls of one place with the same values are alike: requests made in a loop cost no memory.
    times = Counter(
        (start.place, made.place, made.values) for start, all_made in starts(trace, rank) for made in all_made
    )
    for (at, place, values), n in times.items():
        yield at.node, Call(place, values, -1), n


class _Live:
    """The calls that made the requests alive, oldest first."""

    def __init__(self) -> None:
        self._made: list[Call] = []

    def add(self, call: Call) -> None:
        """A call makes the newest request."""
        self._made.append(call)

    def persistent(self, ages: Sequence[int]) -> tuple[Call, ...]:
        """The calls that made the persistent requests of these ages."""
        made = (self._made[position] for position in self._positions(ages))
        return tuple(call for call in made if _is_persistent(call))

    def end(self, ages: Sequence[int], freed: bool) -> None:
        """Requests complete, which persistent ones survive, or are freed; ages are those before that."""
        ended = {i for i in self._positions(ages) if freed or not _is_persistent(self._made[i])}
        if ended:
            first = min(ended)
            rest = enumerate(self._made[first:], first)
            self._made[first:] = [call for i, call in rest if i not in ended]

    def _positions(self, ages: Sequence[int]) -> list[int]:
        n = len(self._made)
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


def _is_persistent(made: Call) -> bool:
    return operation(made.op).flow_later


def ages(call: Call) -> Sequence[int]:
    """The ages that a call starts or ends; of those that Waitany or Testany ask for, the one at the index."""
    if "request" in call:
        return (call["request"],)
    every: tuple[int, ...] = call["requests"]
    if "index" not in call:
        return every
    index = call["index"]
    return every[index : index + 1] if index >= 0 else ()
