"""Events -> MPI calls of one task, over mpi4py."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from mpi4py import MPI

from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.lowering.collecting import UNIT_BYTES
from scalatrace.codegen.conceptual.lowering.lower import BoundProgram
from scalatrace.codegen.conceptual.run.logfile import LogFile
from scalatrace.codegen.conceptual.run.memory import RunBuffers, fill, wrong_bits
from scalatrace.codegen.conceptual.run.own import OwnWork, RunCounters
from scalatrace.codegen.conceptual.run.table import LogTable
from scalatrace.codegen.conceptual.values.draws import Draws

__all__ = ["Executor"]

SLOTS = 256
"""Pending messages at most that have a place of their own; further ones share."""
MAX_KEPT_ITERATIONS = 1 << 18
"""Of a loop over numbers within another loop: it is worked out only once."""
TYPES = {"BYTES": MPI.BYTE, "INTEGERS": MPI.INT, "DOUBLEWORDS": MPI.DOUBLE}


class Executor:
    """One task of a running program."""

    def __init__(
        self, lowered: BoundProgram, rank: int, prologue: Mapping[str, str], log: LogFile | None
    ) -> None:
        """Make the communicators that the program needs; all ranks do so together."""
        self.world = MPI.COMM_WORLD
        self.rank, self.log = rank, log
        self.events = lowered.events[rank]
        everyone = tuple(range(lowered.tasks))
        self.comms: dict[e.Comm, Any] = {everyone: self.world}
        for comm in lowered.comms:
            self.comms[comm] = self.world.Split(int(rank in comm), rank)
        self.counters, self.buffers = RunCounters(), RunBuffers()
        self.own = OwnWork(self.counters, self.buffers, Draws(lowered.seed, rank), prologue, log is not None)
        self.sends: list[Any] = []
        self.receives: list[tuple[Any, e.Transfer, Any]] = []
        self.messages = self.loops = 0
        self._do: dict[type, Callable[[Any], None]] = {
            e.Transfer: self._transfer,
            e.WaitEvent: self._wait,
            e.Barrier: self._barrier,
            e.Bcast: self._bcast,
            e.Alltoall: self._alltoall,
            e.Alltoallv: self._alltoallv,
            e.Reduction: self._reduction,
            e.LocalStep: self.own.do,
            e.Repeat: self._repeat,
            e.Each: self._each,
            e.Timed: self._timed,
            e.Aside: self._aside,
            e.EndOfTable: self._end_of_table,
        }

    def run(self) -> None:
        """Execute all events. Raises ProgramError."""
        self.counters.reset()
        self._all(self.events)

    def _all(self, events: Sequence[e.Event]) -> None:
        for event in events:
            self._do[type(event)](event)

    # messages

    def _transfer(self, event: e.Transfer) -> None:
        for _ in range(event.count):
            if event.sends:
                self._send(event)
            else:
                self._receive(event)

    def _send(self, event: e.Transfer) -> None:
        # What is only read may be sent from one place many times.
        written = event.memory.verified or event.memory.touched
        slot = -1 - (len(self.sends) % SLOTS if written else 0)
        message = self.buffers.message(event.memory, event.size, slot, id(event))
        if event.memory.verified:
            self.messages += 1
            fill(message, (self.rank << 32) + self.messages)
        elif event.memory.touched:
            message += 1
        spec = [message, event.size, MPI.BYTE]
        if event.asynchronous:
            self.sends.append(self.world.Isend(spec, event.peer, event.tag))
        else:
            self.world.Send(spec, event.peer, event.tag)
        self.counters.sent(1, event.size)

    def _receive(self, event: e.Transfer) -> None:
        slot = len(self.receives) % SLOTS
        message = self.buffers.message(event.memory, event.size, slot, id(event))
        spec = [message, event.size, MPI.BYTE]
        if event.asynchronous:
            request = self.world.Irecv(spec, event.peer, event.tag)
            self.receives.append((request, event, message))
        else:
            self.world.Recv(spec, event.peer, event.tag)
            self._received(event, message)

    def _received(self, event: e.Transfer, message: Any) -> None:
        self.counters.received(1, event.size)
        if event.memory.verified:
            self.counters.counts["bit_errors"] += wrong_bits(message)
        elif event.memory.touched:
            int(message.sum())

    def _wait(self, event: e.WaitEvent) -> None:
        if self.sends:
            MPI.Request.Waitall(self.sends)
            self.sends = []
        if self.receives:
            MPI.Request.Waitall([request for request, _, _ in self.receives])
            for _, receive, message in self.receives:
                self._received(receive, message)
            self.receives = []

    # collectives

    def _barrier(self, event: e.Barrier) -> None:
        self.comms[event.comm].Barrier()

    def _bcast(self, event: e.Bcast) -> None:
        comm, root = self._comm(event.comm), event.comm.index(event.root)
        size = event.count * UNIT_BYTES[event.unit]
        for _ in range(event.times):
            message = self.buffers.message(event.memory, size, 0, id(event))
            if event.memory.touched and event.root == self.rank:
                message += 1
            comm.Bcast([message, event.count, TYPES[event.unit]], root)
            if event.memory.touched and event.root != self.rank:
                int(message.sum())

    def _comm(self, ranks: e.Comm) -> Any:
        return self.comms[ranks]

    def _alltoall(self, event: e.Alltoall) -> None:
        total = event.size * len(event.comm)
        for _ in range(event.times):
            sent, received = self._both(event, total, total)
            self._comm(event.comm).Alltoall([sent, event.size, MPI.BYTE], [received, event.size, MPI.BYTE])

    def _both(
        self, event: e.Alltoall | e.Alltoallv | e.Reduction, sent: int, received: int
    ) -> tuple[Any, Any]:
        """Memory to send from and, another, to receive into."""
        memory = event.memory
        outgoing = self.buffers.message(memory, sent, -1, id(event))
        if memory.touched:
            outgoing += 1
        second = replace(memory, buffer=None if memory.buffer is None else memory.buffer + 1)
        return outgoing, self.buffers.message(second, received, 0, id(event))

    def _alltoallv(self, event: e.Alltoallv) -> None:
        for _ in range(event.times):
            sent, received = self._both(event, sum(event.sent), sum(event.received))
            self._comm(event.comm).Alltoallv(
                [sent, (event.sent, None), MPI.BYTE], [received, (event.received, None), MPI.BYTE]
            )

    def _reduction(self, event: e.Reduction) -> None:
        comm, kind = self._comm(event.comm), TYPES[event.unit]
        size = event.count * UNIT_BYTES[event.unit]
        sent, received = self._both(event, size, size)
        if event.root is None:
            comm.Allreduce([sent, event.count, kind], [received, event.count, kind], MPI.SUM)
        else:
            comm.Reduce(
                [sent, event.count, kind],
                [received, event.count, kind],
                MPI.SUM,
                event.comm.index(event.root),
            )

    # loops

    def _repeat(self, event: e.Repeat) -> None:
        self.loops += 1
        for _ in range(event.count):
            self._all(event.body)
        self.loops -= 1

    def _each(self, event: e.Each) -> None:
        """Execute iterations as they are generated; generation is excluded from the program's time."""
        if event.kept:
            for body in event.kept:
                self._all(body)
            return
        bodies = event.bodies()
        again = self.loops > 0 and event.count <= MAX_KEPT_ITERATIONS
        while True:
            with self.counters.paused():
                next_body = next(bodies, None)
            if next_body is None:
                return
            if again:
                event.kept.append(next_body)
            self._all(next_body)

    def _timed(self, event: e.Timed) -> None:
        self.loops += 1
        begin = time.perf_counter_ns()
        least = np.zeros(1, np.int64)
        while least[0] < event.microseconds:
            self._all(event.body)
            mine = np.array([(time.perf_counter_ns() - begin) // 1000], np.int64)
            self.world.Allreduce([mine, 1, MPI.LONG_LONG], [least, 1, MPI.LONG_LONG], MPI.MIN)
            if event.microseconds == 0:
                break
        self.loops -= 1

    def _aside(self, event: e.Aside) -> None:
        self.counters.store()
        self.own.aside += 1
        self._all(event.body)
        self.own.aside -= 1
        self.counters.restore()

    def _end_of_table(self, event: e.EndOfTable) -> None:
        if self.log is not None:
            with self.counters.paused():
                self.log.table(self.own.table.lines())
                self.own.table = LogTable()
