"""The order in which the operations of a schedule begin, if messages took no time.

MPI calls of a rank follow each other; operations of a schedule only keep their dependencies. An execution of
all ranks gives an order of each rank in which no rank waits for ever: computations take their times, those
of one CPU after each other, and messages take none. Operations that could begin together keep the order of
the file. Sends end when they are received, as large ones do in LogGOPSim; where all ranks would wait, those
under way end without.

    missing[rank][n]   dependencies of operation n that are still open
    ready[rank]        heap of operations whose dependencies are met
    ends               heap of the ends of computations: time, serial, rank, operation
    sent, posted       messages under way, and receives that wait, by (receiver, sender, tag)
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import product

from scalatrace.convert.schedules.model import ANY, OperationKind, OperationSchedule, ScheduledOperation

__all__ = ["OperationOrder", "order_operations"]

Place = tuple[int, int]
"""A rank, and the number of one of its operations."""


@dataclass(slots=True)
class OperationOrder:
    """The order of one rank.

    Attributes:
        numbers: of its operations, in the order in which they begin.
        computed_ns: computation since the operation before began, up to the beginning of each.
        rest_ns: computation after the last one began.
    """

    numbers: list[int]
    computed_ns: list[int]
    rest_ns: int = 0


def order_operations(schedule: OperationSchedule) -> list[OperationOrder]:
    """Return the order of each rank.

    Raises:
        TextError, FormatError: a message has no receive or a receive no message, dependencies form a circle,
            ranks wait for each other, or collectives or their roots differ. The error names the
            operation.
    """
    execution = _Execution(schedule)
    execution.run()
    return [rank.order for rank in execution.ranks]


class _RankState:
    """The state of one rank: open dependencies, operations that need others, and computation so far."""

    def __init__(self, operations: list[ScheduledOperation]) -> None:
        count = len(operations)
        self.operations = operations
        self.missing = [len(op.ended) + len(op.begun) for op in operations]
        self.after_end: dict[int, list[int]] = defaultdict(list)
        self.after_begin: dict[int, list[int]] = defaultdict(list)
        for number, op in enumerate(operations):
            for other in op.ended:
                self.after_end[other].append(number)
            for other in op.begun:
                self.after_begin[other].append(number)
        self.ready = [number for number in range(count) if not self.missing[number]]
        self.has_ended = bytearray(count)
        self.order = OperationOrder([], [])
        self.cpu_free_ns: dict[int, int] = {}
        self.running = 0
        self.covered_ns = 0

    def meet(self, later: list[int]) -> None:
        """Close one dependency of each of these operations."""
        for number in later:
            self.missing[number] -= 1
            if not self.missing[number]:
                heappush(self.ready, number)

    def compute_until(self, now_ns: int) -> None:
        """Count computation up to a time; computations of several CPUs at one time count once."""
        if self.running:
            self.order.rest_ns += now_ns - self.covered_ns
        self.covered_ns = now_ns


class _Execution:
    def __init__(self, schedule: OperationSchedule) -> None:
        self._schedule = schedule
        self.ranks = [_RankState(operations) for operations in schedule.ranks]
        self._now_ns = self._serial = 0
        self._active = deque(range(len(self.ranks)))
        self._ends: list[tuple[int, int, int, int]] = []
        self._sent: dict[int, dict[Place, deque[tuple[int, Place]]]] = defaultdict(dict)
        self._posted: dict[int, dict[Place, deque[tuple[int, Place]]]] = defaultdict(dict)
        self._blocked: dict[Place, None] = {}
        self._joined: dict[tuple[tuple[int, ...], int], list[Place]] = defaultdict(list)
        self._joins: dict[tuple[int, tuple[int, ...]], int] = defaultdict(int)

    def run(self) -> None:
        """Execute until nothing is left, or nothing moves."""
        while True:
            while self._active:
                rank = self._active.popleft()
                ready = self.ranks[rank].ready
                while ready:
                    self._begin(rank, heappop(ready))
            if self._ends:
                self._now_ns, _, rank, number = heappop(self._ends)
                state = self.ranks[rank]
                state.compute_until(self._now_ns)
                state.running -= 1
                self._end((rank, number))
            elif self._blocked:
                for place in list(self._blocked):
                    self._end(place)
            else:
                break
        self._check()

    def _begin(self, rank: int, number: int) -> None:
        state = self.ranks[rank]
        operation = state.operations[number]
        state.compute_until(self._now_ns)
        state.order.numbers.append(number)
        state.order.computed_ns.append(state.order.rest_ns)
        state.order.rest_ns = 0
        state.meet(state.after_begin.pop(number, []))
        match operation.kind:
            case OperationKind.CALC:
                self._compute(rank, number, operation)
            case OperationKind.SEND:
                self._send(rank, number, operation)
            case OperationKind.RECV:
                self._receive(rank, number, operation)
            case OperationKind.COLLECTIVE:
                self._join(rank, number, operation)

    def _compute(self, rank: int, number: int, operation: ScheduledOperation) -> None:
        if not operation.size:
            self._end((rank, number))
            return
        state = self.ranks[rank]
        end_ns = max(self._now_ns, state.cpu_free_ns.get(operation.cpu, 0)) + operation.size
        state.cpu_free_ns[operation.cpu] = end_ns
        state.running += 1
        heappush(self._ends, (end_ns, self._next_serial(), rank, number))

    def _send(self, rank: int, number: int, operation: ScheduledOperation) -> None:
        posted = self._posted[operation.peer]
        keys = product((rank, ANY), (operation.tag, ANY))
        waiting = [(posted[key][0][0], key) for key in keys if posted.get(key)]
        if waiting:
            self._end(posted[min(waiting)[1]].popleft()[1])
            self._end((rank, number))
            return
        queue = self._sent[operation.peer].setdefault((rank, operation.tag), deque())
        queue.append((self._next_serial(), (rank, number)))
        self._blocked[rank, number] = None

    def _receive(self, rank: int, number: int, operation: ScheduledOperation) -> None:
        sent, key = self._sent[rank], (operation.peer, operation.tag)
        if ANY in key:
            fitting = [
                (queue[0][0], (peer, tag))
                for (peer, tag), queue in sent.items()
                if queue and operation.peer in (peer, ANY) and operation.tag in (tag, ANY)
            ]
            key = min(fitting)[1] if fitting else key
        if sent.get(key):
            self._end(sent[key].popleft()[1])
            self._end((rank, number))
            return
        queue = self._posted[rank].setdefault(key, deque())
        queue.append((self._next_serial(), (rank, number)))

    def _join(self, rank: int, number: int, operation: ScheduledOperation) -> None:
        assert operation.collective is not None
        members = operation.collective.members
        ordinal = self._joins[rank, members]
        self._joins[rank, members] += 1
        places = self._joined[members, ordinal]
        if places:
            self._check_alike(rank, operation, places[0])
        places.append((rank, number))
        if len(places) == len(members):
            for place in self._joined.pop((members, ordinal)):
                self._end(place)

    def _check_alike(self, rank: int, operation: ScheduledOperation, place: Place) -> None:
        """Check that a rank joins with the collective, and the root, of the rank at `place`."""
        first = self.ranks[place[0]].operations[place[1]]
        called, expected = str(operation.collective), str(first.collective)
        if called != expected:
            reason = f"rank {rank} calls {called}, and rank {place[0]} of its group {expected}"
            raise self._schedule.error(rank, operation, reason)

    def _end(self, place: Place) -> None:
        rank, number = place
        state = self.ranks[rank]
        self._blocked.pop(place, None)
        if state.has_ended[number]:
            return
        state.has_ended[number] = 1
        state.meet(state.after_end.pop(number, []))
        self._active.append(rank)

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _check(self) -> None:
        """Raise the error of what has not ended: messages and receives first, since others wait for them."""
        for queues, reason in (
            (self._posted, "is waited for, and no rank sends such a message"),
            (self._sent, "is sent, and no receive takes it"),
        ):
            places = [place for by_key in queues.values() for queue in by_key.values() for _, place in queue]
            if places:
                rank, number = min(places)
                operation = self.ranks[rank].operations[number]
                raise self._schedule.error(rank, operation, f"rank {rank}: '{operation}' {reason}")
        for rank, state in enumerate(self.ranks):
            if 0 in state.has_ended:
                operation = state.operations[state.has_ended.index(0)]
                begun = operation.kind == OperationKind.COLLECTIVE and not any(state.missing)
                reason = (
                    "is not called by all its ranks"
                    if begun
                    else "never begins: its dependencies form a circle"
                )
                raise self._schedule.error(rank, operation, f"rank {rank}: '{operation}' {reason}")
