"""Write a schedule as the MPI calls of its ranks.

An operation that the next one waits for becomes a blocking call; another one a nonblocking call, completed
before the first operation that waits for it. Computation is the delta time of the call after it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from os import PathLike
from typing import Any

from scalatrace.convert.collectives import BYTE, collective_params, split_families
from scalatrace.convert.ranks import CallError, RankCalls, write_trace
from scalatrace.convert.schedules.model import ANY, OperationKind, OperationSchedule, ScheduledOperation
from scalatrace.convert.schedules.order import OperationOrder, order_operations
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG

__all__ = ["write_schedule"]

Params = list[tuple[str, Kind, Any]]


def write_schedule(schedule: OperationSchedule, output: str | PathLike[str], meta: Mapping[str, str]) -> None:
    """Write the trace of a schedule. Raises the errors of `order_operations`, also for large values."""
    orders = order_operations(schedule)
    nranks = len(schedule.ranks)
    groups = {
        operation.collective.members: None
        for operations in schedule.ranks
        for operation in operations
        if operation.collective is not None and operation.collective.members != tuple(range(nranks))
    }
    families = dict(zip(groups, split_families(groups), strict=True))

    def record(rank: int) -> RankCalls:
        return _RankWriter(rank, schedule, orders[rank], families).write()

    write_trace(range(nranks), record, output, meta)


class _RankWriter:
    """Writes the calls of one rank.

    Attributes:
        _live: the serial of the live request of each operation that has one.
        _serials: serials of live requests, ascending: the oldest first.
    """

    def __init__(
        self,
        rank: int,
        schedule: OperationSchedule,
        order: OperationOrder,
        families: dict[tuple[int, ...], int],
    ) -> None:
        self._rank, self._schedule, self._operations = rank, schedule, schedule.ranks[rank]
        self._order, self._families = order, families
        self._calls = RankCalls(rank, len(schedule.ranks), ("compute_ns",))
        self._live: dict[int, int] = {}
        self._serials: list[int] = []
        self._serial = 0
        self._computed_ns = 0

    def write(self) -> RankCalls:
        numbers = self._order.numbers
        operation = ScheduledOperation(OperationKind.CALC, 0)
        try:
            for at, number in enumerate(numbers):
                operation = self._operations[number]
                self._computed_ns += self._order.computed_ns[at]
                self._write_operation(at, number)
            self._wait_for(list(self._live))
            self._computed_ns += self._order.rest_ns
            if self._computed_ns:
                self._append("Finalize", [])
        except CallError as error:
            raise self._schedule.error(
                self._rank, operation, f"rank {self._rank}: '{operation}': {error}"
            ) from None
        return self._calls

    def _write_operation(self, at: int, number: int) -> None:
        operation = self._operations[number]
        self._wait_for(operation.ended)
        if operation.kind == OperationKind.CALC:
            return
        blocks = at + 1 == len(self._order.numbers) or self._waits_for(at + 1, number)
        self._issue(operation, blocks)
        if not blocks:
            self._live[number] = self._serial
            self._serials.append(self._serial)
            self._serial += 1

    def _waits_for(self, at: int, number: int) -> bool:
        """Return whether an operation begins when another one has ended, without computation between them."""
        following = self._operations[self._order.numbers[at]]
        begins = number in following.ended and number not in following.begun
        return begins and not self._order.computed_ns[at]

    def _wait_for(self, numbers: list[int]) -> None:
        """Complete the live requests of these operations; takes logarithmic time for each to find its age."""
        awaited = sorted(self._live.pop(number) for number in set(numbers) if number in self._live)
        if not awaited:
            return
        last = len(self._serials) - 1
        ages = tuple(last - bisect_left(self._serials, serial) for serial in awaited)
        for age in reversed(ages):
            del self._serials[last - age]
        if len(ages) == 1:
            self._append("Wait", [("request", Kind.INT, ages[0])])
        else:
            self._append("Waitall", [("requests", Kind.ARRAY, ages)])

    def _issue(self, operation: ScheduledOperation, blocks: bool) -> None:
        if operation.collective is not None:
            self._issue_collective(operation, blocks)
            return
        sends = operation.kind == OperationKind.SEND
        name = "Send" if sends else "Recv"
        peer, tag = operation.peer, operation.tag
        params: Params = [
            ("count", Kind.INT, operation.size), ("datatype", Kind.TYPE, BYTE),
            ("dest" if sends else "source", Kind.PEER, ANY_SOURCE if peer == ANY else peer),
            ("tag", Kind.INT, ANY_TAG if tag == ANY else tag), ("comm", Kind.COMM, "world"),
        ]  # fmt: skip
        self._append(name if blocks else f"I{name.lower()}", params)

    def _issue_collective(self, operation: ScheduledOperation, blocks: bool) -> None:
        collective = operation.collective
        assert collective is not None
        key: object = "world"
        if collective.members in self._families:
            key = collective.members
            self._calls.comm(key, "split", collective.members, ordinal=self._families[collective.members])
        nranks, size = len(collective.members), operation.size
        received = size // nranks if collective.op == "Reduce_scatter_block" else size
        params = collective_params(collective.op, size, received, nranks, collective.root)
        name = collective.op if blocks else f"I{collective.op.lower()}"
        self._append(name, [*params, ("comm", Kind.COMM, key)])

    def _append(self, op: str, params: Params) -> None:
        self._calls.append(op, params, stats=(float(self._computed_ns),))
        self._computed_ns = 0
