"""What will go wrong, found before anything runs.

Every task's events are known, so they can be gone through as MPI would: a receive waits for the message it
is matched with, a barrier for all its tasks. Blocking sends are taken to be buffered, so only deadlocks that
no MPI can avoid are reported.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import Note, ProgramError, SourcePlace
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.lower import BoundProgram

__all__ = ["check_awaited", "find_faults"]

BUDGET = 400_000
"""Events gone through at most: a larger program is not checked for deadlocks."""

TaskChannel = tuple[int, int, int]
"""Sender, receiver, tag."""


def find_faults(lowered: BoundProgram) -> list[Note]:
    """Check the events of all tasks; warnings about messages that nobody receives.

    Raises ProgramError: un-awaited messages, counters restored more often than stored, a deadlock, or a
    message that does not fit where it is received.
    """
    for rank, events in lowered.events.items():
        check_awaited(rank, events)
        _restores(rank, events)
    if len(lowered.events) < lowered.tasks:
        return []
    try:
        return _FaultSimulation(lowered).run()
    except _TooMuchError:
        return []


class _TooMuchError(Exception):
    """The program is too large to be gone through."""


def check_awaited(rank: int, events: Sequence[e.Event]) -> None:
    """Raise ProgramError when messages of a rank are still pending at the end."""
    unawaited = _pending(events, [])
    if unawaited:
        shown = f"{len(unawaited)} messages" if len(unawaited) > 1 else "a message"
        reason = f"task {rank} never awaits {shown} that it starts; expected AWAIT COMPLETION behind"
        raise ProgramError(reason, unawaited[0].place)


def _pending(events: Sequence[e.Event], pending: list[e.Event]) -> list[e.Event]:
    for event in events:
        if isinstance(event, e.WaitEvent):
            pending = []
        elif isinstance(event, e.Transfer) and event.asynchronous:
            pending = [*pending, event] if len(pending) < 2 else pending
        elif isinstance(event, (e.Repeat, e.Timed, e.Aside)):
            pending = _pending(event.body, pending)
            if len(pending) == 1 and isinstance(event, e.Repeat) and event.count > 1:
                pending = _pending(event.body, pending)
    return pending


def _restores(rank: int, events: Sequence[e.Event], depth: int = 0) -> int:
    for event in events:
        if isinstance(event, e.LocalStep) and isinstance(event.statement, t.Counters):
            depth += {"STORES": 1, "RESTORES": -1}.get(event.statement.action, 0)
        elif isinstance(event, (e.Repeat, e.Timed, e.Aside)):
            after = _restores(rank, event.body, depth)
            grown = after - depth
            count = event.count if isinstance(event, e.Repeat) else 1
            depth = depth if isinstance(event, e.Aside) else depth + grown * count
        if depth < 0:
            raise ProgramError(f"task {rank} restores counters that it has not stored", event.place)
    return depth


class _PendingSend:
    """What was sent on a channel: statements with the number of messages up to and with theirs."""

    def __init__(self) -> None:
        self.upto: list[int] = []
        self.statements: list[e.Transfer] = []

    def __len__(self) -> int:
        return self.upto[-1] if self.upto else 0

    def add(self, event: e.Transfer) -> None:
        """Add the messages of a statement."""
        self.upto.append(len(self) + event.count)
        self.statements.append(event)

    def from_(self, number: int, count: int) -> Sequence[e.Transfer]:
        """Return the statements that sent some messages, as far as they are sent."""
        return self.statements[bisect_right(self.upto, number) : bisect_left(self.upto, number + count) + 1]


class _PendingReceive(NamedTuple):
    """A statement that receives: where, and the number of its first message there."""

    channel: TaskChannel
    first: int
    event: e.Transfer


@dataclass
class _Task:
    """One rank on its way through its events."""

    steps: Iterator[e.Event]
    at: e.Event | None = None
    blocked: Callable[[], bool] | None = None
    waits: list[_PendingReceive] = field(default_factory=list)
    entry_counts: Counter[e.Comm] = field(default_factory=Counter)


class _FaultSimulation:
    """Goes through all ranks' events until none can go on."""

    def __init__(self, lowered: BoundProgram) -> None:
        self.lowered = lowered
        self.left = BUDGET
        self.balanced = _find_balanced_loops(lowered)
        self.sent: dict[TaskChannel, _PendingSend] = defaultdict(_PendingSend)
        self.posted: Counter[TaskChannel] = Counter()
        self.arrived: dict[tuple[e.Comm, int], set[int]] = defaultdict(set)
        self.tasks = {rank: _Task(self._steps(events)) for rank, events in lowered.events.items()}

    def _steps(self, events: Sequence[e.Event]) -> Iterator[e.Event]:
        for event in events:
            self.left -= 1
            if self.left < 0:
                raise _TooMuchError
            if isinstance(event, e.Aside):
                yield from self._steps(event.body)
            elif isinstance(event, (e.Repeat, e.Timed)):
                for _ in range(self._turns(event)):
                    yield from self._steps(event.body)
                    if isinstance(event, e.Timed):
                        yield e.Barrier(tuple(range(self.lowered.tasks)), place=event.place)
            else:
                yield event

    def _turns(self, event: e.Repeat | e.Timed) -> int:
        """A loop that leaves nothing behind need not be gone through often."""
        if event.serial in self.balanced:
            return min(event.count, 2) if isinstance(event, e.Repeat) else 1
        if isinstance(event, e.Timed):
            raise _TooMuchError
        return event.count

    def run(self) -> list[Note]:
        """Go through it all. Raises ProgramError."""
        ready = deque(self.tasks)
        stuck = 0
        while ready and stuck < len(ready):
            rank = ready.popleft()
            before = self.left
            if self._advance(rank, self.tasks[rank]):
                stuck = 0
                continue
            ready.append(rank)
            stuck = stuck + 1 if before == self.left else 0
        if ready:
            raise self._deadlock(sorted(ready))
        return self._note_unreceived()

    def _advance(self, rank: int, task: _Task) -> bool:
        """Let a rank go on as far as it can; whether it got to its end."""
        while task.blocked is None or task.blocked():
            task.blocked = None
            task.at = next(task.steps, None)
            if task.at is None:
                return True
            task.blocked = self._execute(rank, task, task.at)
        return False

    def _execute(self, rank: int, task: _Task, event: e.Event) -> Callable[[], bool] | None:
        """Apply an event; return what it waits for, or None."""
        if isinstance(event, e.Transfer):
            return self._transfer(rank, task, event)
        if isinstance(event, e.WaitEvent):
            waits, task.waits = task.waits, []
            return lambda: all(map(self._receive_matches, waits))
        if isinstance(event, (e.Barrier, e.Bcast, e.Alltoall, e.Alltoallv, e.Reduction)):
            return self._collective(rank, task, event)
        return None

    def _transfer(self, rank: int, task: _Task, event: e.Transfer) -> Callable[[], bool] | None:
        if event.sends:
            self.sent[rank, event.peer, event.tag].add(event)
            return None
        channel = (event.peer, rank, event.tag)
        receive = _PendingReceive(channel, self.posted[channel], event)
        self.posted[channel] += event.count
        if not event.asynchronous:
            return lambda: self._receive_matches(receive)
        task.waits.append(receive)
        return None

    def _receive_matches(self, receive: _PendingReceive) -> bool:
        channel, first, event = receive
        sent = self.sent[channel]
        for send in sent.from_(first, event.count):
            if send.size > event.size:
                sends = f"task {channel[0]} sends {send.size} in line {send.place.line}"
                reason = f"task {channel[1]} receives at most {event.size} bytes here, but {sends}"
                raise ProgramError(reason, event.place)
        return len(sent) >= first + event.count

    def _collective(self, rank: int, task: _Task, event: e.Event) -> Callable[[], bool]:
        comm: e.Comm = event.comm  # type: ignore[union-attr]
        key = (comm, task.entry_counts[comm])
        task.entry_counts[comm] += 1
        arrived = self.arrived[key]
        arrived.add(rank)
        root = getattr(event, "root", None)
        if isinstance(event, e.Bcast):
            return lambda: root in arrived
        if root is not None and rank != root:
            return lambda: True
        return lambda: len(arrived) == len(comm)

    def _deadlock(self, ranks: list[int]) -> ProgramError:
        first = self.tasks[ranks[0]].at
        shown = "; ".join(self._describe_wait(rank) for rank in ranks[:4])
        more = f" and {len(ranks) - 4} more tasks likewise" if len(ranks) > 4 else ""
        return ProgramError(f"this never ends: {shown}{more}", first.place if first else SourcePlace())

    def _describe_wait(self, rank: int) -> str:
        event = self.tasks[rank].at
        assert event is not None
        awaited = "for others"
        if isinstance(event, e.Transfer):
            tag = f" with tag {event.tag}" if event.tag else ""
            awaited = f"for a message of task {event.peer}{tag}"
        elif isinstance(event, e.WaitEvent):
            awaited = "for the completion of its messages"
        return f"task {rank} waits {awaited} (line {event.place.line})"

    def _note_unreceived(self) -> list[Note]:
        result = []
        for channel, sent in self.sent.items():
            if len(sent) > self.posted[channel]:
                reason = f"task {channel[1]} never receives what task {channel[0]} sends here"
                result.append(Note(reason, sent.from_(self.posted[channel], 1)[0].place))
        return result


def _find_balanced_loops(lowered: BoundProgram) -> set[int]:
    """The loops in whose bodies everything that is sent is received, and nothing is left pending."""
    net: dict[int, Counter[TaskChannel]] = {}
    open_: set[int] = set()
    for rank, events in lowered.events.items():
        _count(rank, events, net, open_)
    return {serial for serial, channels in net.items() if not any(channels.values())} - open_


def _count(
    rank: int, events: Sequence[e.Event], net: dict[int, Counter[TaskChannel]], open_: set[int]
) -> Mapping[TaskChannel, int]:
    """How many more messages a rank sends than it receives on each channel; by loop in `net`."""
    total: Counter[TaskChannel] = Counter()
    for event in events:
        if isinstance(event, e.Transfer):
            channel = (rank, event.peer, event.tag) if event.sends else (event.peer, rank, event.tag)
            total[channel] += event.count if event.sends else -event.count
        elif isinstance(event, e.Aside):
            for channel, n in _count(rank, event.body, net, open_).items():
                total[channel] += n
        elif isinstance(event, (e.Repeat, e.Timed)):
            inner = _count(rank, event.body, net, open_)
            counts = net.setdefault(event.serial, Counter())
            for channel, n in inner.items():
                counts[channel] += n
                total[channel] += n * (event.count if isinstance(event, e.Repeat) else 1)
            if _pending(event.body, []):
                open_.add(event.serial)
    return total
