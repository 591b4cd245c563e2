"""Events -> MPI calls of one task, over mpi4py."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from mpi4py import MPI

from codegen.ncptl import events as e
from codegen.ncptl import tree as t
from codegen.ncptl.counters import Counters
from codegen.ncptl.draws import Draws
from codegen.ncptl.errors import ProgramError
from codegen.ncptl.evaluate import Env, integer, real
from codegen.ncptl.logfile import LogFile
from codegen.ncptl.lower import UNIT_BYTES, Lowered
from codegen.ncptl.memory import Buffers, fill, wrong_bits
from codegen.ncptl.table import Table, Varies, number
from codegen.ncptl.words import TIME_UNITS

__all__ = ["Executor"]

SLOTS = 256
"""Pending messages at most that have a place of their own; further ones share."""
TYPES = {"BYTES": MPI.BYTE, "INTEGERS": MPI.INT, "DOUBLEWORDS": MPI.DOUBLE}
NUMBERS = {"INTEGERS": np.int32, "DOUBLEWORDS": np.float64}


class Executor:
    """One task of a running program."""

    def __init__(self, lowered: Lowered, rank: int, prologue: Mapping[str, str], log: LogFile | None) -> None:
        """Make the communicators that the program needs; all ranks do so together."""
        self.world = MPI.COMM_WORLD
        self.rank, self.prologue, self.log = rank, prologue, log
        self.events = lowered.events[rank]
        everyone = tuple(range(lowered.tasks))
        self.comms: dict[e.Comm, Any] = {everyone: self.world}
        for comm in lowered.comms:
            self.comms[comm] = self.world.Split(int(rank in comm), rank)
        self.counters, self.buffers, self.table = Counters(), Buffers(), Table()
        self.draws = Draws(lowered.seed, rank)
        self.sends: list[Any] = []
        self.receives: list[tuple[Any, e.Transfer, Any]] = []
        self.aside = 0
        self.messages = 0
        self._do: dict[type, Callable[[Any], None]] = {
            e.Transfer: self._transfer,
            e.Wait: self._wait,
            e.Barrier: self._barrier,
            e.Bcast: self._bcast,
            e.Alltoall: self._alltoall,
            e.Alltoallv: self._alltoallv,
            e.Reduction: self._reduction,
            e.Local: self._local,
            e.Repeat: self._repeat,
            e.Timed: self._timed,
            e.Aside: self._aside,
            e.EndOfTable: self._end_of_table,
        }
        self._statements: dict[type, Callable[[Any, Env], None]] = {
            t.Delay: self._delay,
            t.TouchMemory: self._touch_memory,
            t.TouchBuffers: self._touch_buffers,
            t.Log: self._log,
            t.ComputeAggregates: self._aggregates,
            t.Counters: self._counters,
            t.Output: self._output,
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

    def _wait(self, event: e.Wait) -> None:
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
        other = replace(memory, buffer=None if memory.buffer is None else memory.buffer + 1)
        return outgoing, self.buffers.message(other, received, 0, id(event))

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
        for _ in range(event.count):
            self._all(event.body)

    def _timed(self, event: e.Timed) -> None:
        begin = time.perf_counter_ns()
        least = np.zeros(1, np.int64)
        while least[0] < event.microseconds:
            self._all(event.body)
            mine = np.array([(time.perf_counter_ns() - begin) // 1000], np.int64)
            self.world.Allreduce([mine, 1, MPI.LONG_LONG], [least, 1, MPI.LONG_LONG], MPI.MIN)
            if event.microseconds == 0:
                break

    def _aside(self, event: e.Aside) -> None:
        self.counters.store()
        self.aside += 1
        self._all(event.body)
        self.aside -= 1
        self.counters.restore()

    def _end_of_table(self, event: e.EndOfTable) -> None:
        if self.log is not None:
            with self.counters.paused():
                self.log.table(self.table.lines())
                self.table = Table()

    # what a task does for itself

    def _local(self, event: e.Local) -> None:
        env = replace(event.env, counter=self.counters.value, draws=self.draws)
        self._statements[type(event.statement)](event.statement, env)

    def _delay(self, node: t.Delay, env: Env) -> None:
        usecs = max(0, integer(node.duration, env)) * TIME_UNITS[node.unit]
        if node.sleeps:
            time.sleep(usecs / 1e6)
            return
        deadline = time.perf_counter_ns() + usecs * 1000
        while time.perf_counter_ns() < deadline:
            os.sched_yield()  # others may use the core

    def _bytes(self, measure: t.Measure | None, env: Env) -> int:
        if measure is None:
            return 0
        amount = 1 if measure.amount is None else integer(measure.amount, env)
        if amount < 0:
            raise ProgramError(f"a size of {amount}; expected 0 or more", measure.place)
        return (amount + 7) // 8 if measure.unit == "BITS" else amount * UNIT_BYTES[measure.unit]

    def _touch_memory(self, node: t.TouchMemory, env: Env) -> None:
        region = self.buffers.region(self._bytes(node.region, env))
        step = UNIT_BYTES[node.amount.unit] if node.amount else 1
        touches = self._bytes(node.amount, env) // step if node.amount else len(region) // step
        times = 1 if node.times is None else max(0, integer(node.times, env))
        if not len(region) or not touches:
            return
        stride = self._bytes(node.stride, env) if node.stride else step
        where = (np.arange(touches, dtype=np.int64) * stride) % len(region)
        for _ in range(times):
            if node.random_stride:
                start = self.draws.below(len(region))
                where = (
                    np.arange(touches, dtype=np.int64) * (2 * self.draws.below(2**20) + 1) + start
                ) % len(region)
            region[where] += 1

    def _touch_buffers(self, node: t.TouchBuffers, env: Env) -> None:
        self.buffers.touch(None if node.number is None else integer(node.number, env), node.current)

    def _counters(self, node: t.Counters, env: Env) -> None:
        action = {"RESETS": "reset", "STORES": "store", "RESTORES": "restore"}[node.action]
        getattr(self.counters, action)()

    def _log(self, node: t.Log, env: Env) -> None:
        if self.aside or self.log is None:
            return
        # All columns of a row show the same moment.
        values = [real(column.value, env) for column in node.columns]
        with self.counters.paused():
            for n, (column, value) in enumerate(zip(node.columns, values, strict=True)):
                functions = [
                    (f.function, 0.0 if f.percentile is None else real(f.percentile, env))
                    for f in column.functions
                ]
                try:
                    self.table.add((id(node), n), self._text(column.label), column.form, functions, value)
                except Varies as error:
                    said = f"THE value in {self._text(column.label)!r} is not always the same: {error}"
                    raise ProgramError(said, column.place) from None

    def _text(self, label: str | t.ValueOf) -> str:
        if isinstance(label, str):
            return label
        return self.prologue.get(label.key, os.environ.get(label.key, ""))

    def _aggregates(self, node: t.ComputeAggregates, env: Env) -> None:
        if not self.aside:
            with self.counters.paused():
                self.table.collapse()

    def _output(self, node: t.Output, env: Env) -> None:
        if not self.aside:
            shown = [
                self._text(item) if isinstance(item, (str, t.ValueOf)) else number(real(item, env))
                for item in node.items
            ]
            sys.stdout.write("".join(shown) + "\n")
            sys.stdout.flush()
