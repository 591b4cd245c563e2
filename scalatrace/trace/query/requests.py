"""Track the live requests of a rank along its walk: find the call that created each request.

A Start moves the data that the creating call describes. As in the recorder, a request's name is its age: the
number of newer live requests. Where a rank has several threads, it is that of the requests which the calling
thread created, of which no call of this thread has completed; a request of another thread is named otherwise
(docs/reference/format.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from scalatrace.errors import LimitError
from scalatrace.operations import operation
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.walk import CompiledEvent, WalkStep, compiled

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = [
    "ENDING", "MAX_WALKED", "OF_ALL", "OF_STREAM", "POLLING", "STARTING", "ForeignNames", "LiveRequests",
    "RequestUse", "ages", "ended", "is_foreign", "names_of", "started", "thread_requests",
]  # fmt: skip

MAX_WALKED = 1 << 22
"""Calls and iterations of a rank followed to find the requests that it starts; more would take minutes."""

T = TypeVar("T")

STARTING = frozenset({"Start", "Startall"})
STARTED_SOURCES, STARTED_TAGS = "sources", "tags"
"""Parameters of starts where receives from any source got a sender: a world rank and a tag each."""

ENDING = frozenset({"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"})
OF_ALL = ("Wait", "Waitall")
"""Operations that complete all requests that they are given."""

POLLING = frozenset({"Test", "Testall", "Testany", "Testsome", "Iprobe", "Improbe"})
"""Calls that may find nothing; a trace has one event for all of them until one succeeds."""


class RequestRole(Enum):
    """Effect of an operation on requests."""

    NONE = auto()
    MAKES = auto()
    STARTS = auto()
    COMPLETES = auto()
    FREES = auto()


def started(trace: Trace, rank: int) -> Iterator[tuple[Event, Call, int]]:
    """Yield node of the Start, call that created the request, and count, of the requests a rank starts.

    Follows the rank's calls only when it starts requests, and loops that repeat themselves only once.

    Raises:
        LimitError: the calls that are followed are more than MAX_WALKED.
    """
    if not any(op.name in STARTING for op in trace.ops):
        return
    if not any(trace.ops[event.op].name in STARTING for event, _ in executions_of(trace, rank)):
        return
    if trace.has_streams:
        uses = (use for use in thread_requests(trace, rank) if _role(use.call.op) is RequestRole.STARTS)
        pairs = Counter(
            (use.call.place, creator.place, creator.values)
            for use in uses
            for creator in use.creators
            if creator is not None and _is_persistent(creator)
        )
        for (at, place, values), n in pairs.items():
            yield at.node, Call(place, values, -1), n
        return
    for (at, place, values), n in _Started(rank).follow(compiled(trace, trace.nodes, rank)).items():
        yield at.node, Call(place, values, -1), n


def ended(trace: Trace, rank: int, limit: int) -> tuple[set[tuple[int, Call]], bool]:
    """Return the requests that calls of a rank complete: id of the node of the completion, and creating call.

    Equal calls of one node are one. Loops that repeat themselves are followed only once.

    Returns:
        The requests, and whether all calls were followed.

    Args:
        limit: calls and iterations that are followed.
    """
    requests = set[Ended]()
    complete = True
    if trace.has_streams:
        try:
            uses = [
                use
                for use in thread_requests(trace, rank, limit)
                if _role(use.call.op) is RequestRole.COMPLETES
            ]
        except LimitError:
            return set(), False
        return {(id(use.call.node), c) for use in uses for c in use.ended if c is not None}, complete
    try:
        _Started(rank, limit, requests).follow(compiled(trace, trace.nodes, rank))
    except LimitError:
        complete = False
    return {(node, Call(place, values, -1)) for node, place, values in requests}, complete


OF_STREAM = 1 << 40
"""The name of a request of another thread is at least (that thread + 1) times this."""


def is_foreign(name: int) -> bool:
    """Return whether a name in a call is that of another thread's request."""
    return name >= OF_STREAM


class ForeignNames:
    """The names that one thread gives to requests of other threads: each is relative to the one before."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}

    def resolve(self, name: int) -> tuple[int, int]:
        """Return the thread that created a request, and the number of requests that it created before.

        Call it for each such name, in the order of the calls and their values.
        """
        thread, offset = name // OF_STREAM - 1, name % OF_STREAM - OF_STREAM // 2
        ordinal = self._next.get(thread, 0) + offset
        self._next[thread] = ordinal + 1
        return thread, ordinal


@dataclass(frozen=True, slots=True)
class RequestUse:
    """A call of a rank of several threads that names requests.

    Attributes:
        creators: the calls that created the requests, in the order of the names; None: null or not recorded.
        ended: those of `creators` that the call completes, where it is a completion.
    """

    call: Call
    creators: tuple[Call | None, ...]
    ended: tuple[Call | None, ...] = ()


def thread_requests(trace: Trace, rank: int, limit: int = MAX_WALKED) -> Iterator[RequestUse]:
    """Yield the calls of all threads of a rank that name requests.

    Raises:
        LimitError: the rank has more calls than the limit.
    """
    if sum(n for _, n in executions_of(trace, rank)) > limit:
        raise LimitError(
            f"rank {rank} has several threads and more than {limit} calls: finding the requests that they "
            "start is limited to so many; record fewer steps"
        )
    creators = {
        thread: [call for call in trace.walk(rank, thread) if _role(call.op) is RequestRole.MAKES]
        for thread in trace.threads
    }
    for thread in trace.threads:
        yield from _uses_of_thread(trace.walk(rank, thread), creators)


def _uses_of_thread(walk: Iterator[Call], made_by_thread: dict[int, list[Call]]) -> Iterator[RequestUse]:
    live, foreign = LiveRequests[Call](_is_persistent), ForeignNames()

    def creator_of(name: int) -> Call | None:
        if not is_foreign(name):
            of_thread = live.of_ages((name,))
            return of_thread[0] if of_thread else None
        thread, ordinal = foreign.resolve(name)
        of_others = made_by_thread.get(thread, [])
        return of_others[ordinal] if 0 <= ordinal < len(of_others) else None

    for call in walk:
        role = _role(call.op)
        if role is RequestRole.MAKES:
            live.add(call)
            continue
        names = names_of(call)
        if not names:
            continue
        creators = tuple(map(creator_of, names))
        own_ages = ages(call)
        at = range(len(names)) if own_ages == names else range(call["index"], call["index"] + len(own_ages))
        ended = tuple(creators[i] for i in at) if role is RequestRole.COMPLETES else ()
        yield RequestUse(call, creators, ended)
        if role in (RequestRole.COMPLETES, RequestRole.FREES):
            live.end(own_ages, freed=role is RequestRole.FREES)


def names_of(call: Call) -> tuple[int, ...]:
    """Return all names of requests in a call."""
    if "request" in call:
        return (call["request"],)
    every = call.get("requests")
    return every if isinstance(every, tuple) else ()


Counts = Counter[tuple[CompiledEvent, CompiledEvent, tuple[int, ...]]]
"""(place of the Start, place and values of the call that created the request) -> how many are started."""


Ended = tuple[int, CompiledEvent, tuple[int, ...]]
"""Id of the node of a completion, place and values of the call that created the request."""


class _Started:
    """Counter of the requests that a rank starts.

    Calls of one place with the same values are counted together: requests created in a loop cost no memory.

    Args:
        limit: calls and iterations that are followed; None: MAX_WALKED.
        ended: gets the requests that it completes; None: they are not wanted.
    """

    def __init__(self, rank: int, limit: int | None = None, ended: set[Ended] | None = None) -> None:
        self._rank, self._live, self._followed = rank, _Live(), 0
        self._limit = MAX_WALKED if limit is None else limit
        self._ended = ended

    def follow(self, steps: Sequence[WalkStep]) -> Counts:
        """Follow steps once; return the requests that they start.

        An iteration of a loop is like the one before where neither its calls nor the live requests differ.
        """
        counts: Counts = Counter()
        for step in steps:
            if step.place is None:
                counts.update(self._follow_loop(step))
            elif not (step.steady and _role(step.place.op.name) is RequestRole.NONE):
                counts.update(self._follow_calls(step.place, step.times()))
        return counts

    def _follow_calls(self, place: CompiledEvent, times: int) -> Counts:
        self._count(times)
        calls = (Call(place, values, -1) for values in islice(place.rows, times))
        if _role(place.op.name) is RequestRole.STARTS:
            return Counter(
                (place, request.place, request.values) for c in calls for request in self._live.started(c)
            )
        for call in calls:
            completed = self._live.follow(call)
            if self._ended is not None:
                self._ended.update((id(place.node), request.place, request.values) for request in completed)
        return Counter()

    def _follow_loop(self, step: WalkStep) -> Counts:
        counts: Counts = Counter()
        times, steady = step.times(), all(inner.steady for inner in step.steps)
        for i in range(1, times + 1):
            self._count(1)
            # Compared more and more rarely: there may be very many live requests.
            before = self._live.names() if steady and i & (i - 1) == 0 else None
            own_ended = self.follow(step.steps)
            counts.update(own_ended)
            if i < times and before is not None and self._live.names() == before:
                for key, n in own_ended.items():
                    counts[key] += n * (times - i)
                break
        return counts

    def _count(self, times: int) -> None:
        """Count calls and iterations, which are limited. Raises LimitError."""
        self._followed += times
        if self._followed > self._limit:
            raise LimitError(
                f"rank {self._rank} starts persistent requests in changing loops: finding the requests it "
                f"starts is limited to {self._limit} calls; record fewer steps"
            )


class LiveRequests(Generic[T]):
    """The live requests of a rank, oldest first, as values of any type.

    Args:
        is_persistent: whether a request is left when it is completed.

    Attributes:
        items: the requests; always the same list object.
    """

    def __init__(self, is_persistent: Callable[[T], bool]) -> None:
        self._is_persistent = is_persistent
        self.items: list[T] = []

    def __len__(self) -> int:
        return len(self.items)

    def add(self, request: T) -> T:
        """Add the newest request."""
        self.items.append(request)
        return request

    def of_ages(self, ages: Sequence[int]) -> list[T]:
        """Return the requests of these ages; null requests and such as no recorded call made are left out."""
        return [self.items[position] for position in self._positions(ages)]

    def end(self, ages: Sequence[int], freed: bool) -> list[T]:
        """Remove completed (unless persistent) or freed requests, and return them; ages are those before."""
        positions = self._positions(ages)
        result = [self.items[i] for i in positions]
        self.drop({i for i in positions if freed or not self._is_persistent(self.items[i])})
        return result

    def drop(self, positions: Collection[int]) -> None:
        """Remove the requests at these positions, of which 0 is the oldest."""
        if positions:
            first = min(positions)
            later = enumerate(self.items[first:], first)
            self.items[first:] = [request for i, request in later if i not in positions]

    def _positions(self, ages: Sequence[int]) -> list[int]:
        n = len(self.items)
        return [n - 1 - age for age in ages if 0 <= age < n]


class _Live:
    """The calls that created the live requests."""

    def __init__(self) -> None:
        self._requests: LiveRequests[Call] = LiveRequests(_is_persistent)

    def started(self, call: Call) -> Sequence[Call]:
        """Return the calls that created the requests which a Start starts."""
        return [request for request in self._requests.of_ages(ages(call)) if _is_persistent(request)]

    def follow(self, call: Call) -> Sequence[Call]:
        """Make, end or free requests as a call does; return the calls that created those it completes."""
        role = _role(call.op)
        if role is RequestRole.MAKES:
            self._requests.add(call)
        elif role in (RequestRole.COMPLETES, RequestRole.FREES):
            requests = self._requests.end(ages(call), freed=role is RequestRole.FREES)
            return requests if role is RequestRole.COMPLETES else ()
        return ()

    def names(self) -> list[tuple[CompiledEvent, tuple[int, ...]]]:
        """Return the places and values of the calls that created the live requests."""
        return [(creator.place, creator.values) for creator in self._requests.items]


@cache
def _role(op: str) -> RequestRole:
    row = operation(op)
    if row.makes_request:
        return RequestRole.MAKES
    if op in STARTING:
        return RequestRole.STARTS
    if op in ENDING:
        return RequestRole.COMPLETES
    return RequestRole.FREES if op == "Request_free" else RequestRole.NONE


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
