"""Give the calls of a flat log to the core again, and measure the core's time."""

from __future__ import annotations

import ctypes
import math
from ctypes import c_double, c_size_t, c_void_p
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.compiled import loaded
from scalatrace.core.binding import (
    COMM_NULL,
    COMM_SELF,
    COMM_WORLD,
    MAX_STATS,
    Core,
    StEvent,
    family,
    library,
)
from scalatrace.trace.io.flatlog import FlatCall, FlatComm, FlatLog
from scalatrace.trace.model.tables import Kind
from support.mpis import Mpi

HERE = Path(__file__).resolve().parent
MAX_CALLS = 300_000
STATS = ("compute_ns", "comm_ns")
_NAMED = {"world": COMM_WORLD, "self": COMM_SELF, "null": COMM_NULL}


class Feed:
    """One rank's calls.

    Attributes:
        ncalls: how many, at most MAX_CALLS.
        frames: mean number of frames above a call.
    """

    def __init__(self, log: Path) -> None:
        """Raises FormatError when the log is damaged."""
        self._log = FlatLog(log)
        calls = list(islice(self._log, MAX_CALLS))
        self.ncalls = len(calls)
        self.frames = sum(len(self._log.stacks[call.signature]) for call in calls) / max(1, len(calls))
        with self.core() as core:
            self._keep(core, calls)

    def core(self) -> Core:
        """A fresh core that knows the log's operations, stacks, communicators and statistics."""
        core = Core(self._log.rank, self._log.nprocs)
        for stat in STATS:
            core.define_stat(stat)
        self._ops = {name: core.define_op(name, schema) for name, schema in self._log.schemas.items()}
        self._sites = {number: core.define_signature(stack) for number, stack in self._log.stacks.items()}
        self._types = {
            number: core.define_type(t.description, t.size, t.extent) for number, t in self._log.types.items()
        }
        for number, comm in self._log.comms.items():
            core.define_comm(self._name(number), COMM_WORLD, comm.kind, comm.members, comm.remote)
        return core

    def _name(self, number: int) -> int:
        return _NAMED.get(self._log.comms[number].kind) or family(COMM_WORLD, number)

    def _keep(self, core: Core, calls: list[FlatCall]) -> None:
        """Each different call once, and which it is one after the other."""
        numbers: dict[FlatCall, int] = {}
        self._calls = np.array([numbers.setdefault(call, len(numbers)) for call in calls], np.uint32)
        self._kinds = (StEvent * len(numbers))(*(self._event(core, call) for call in numbers))
        lists, integers = [], []
        for i, call in enumerate(calls):
            for slot, value in enumerate(call.values):
                if isinstance(value, tuple):
                    lists.append((i, slot, len(integers), len(value)))
                    integers.extend(value)
        self._lists = np.array(lists, np.uint64).reshape(-1, 4)
        self._integers = np.array(integers, np.int64)
        # As of a program whose computation varies a little.
        self._times = np.random.default_rng(0).lognormal(10, 0.2, (len(calls), len(STATS)))

    def _event(self, core: Core, call: FlatCall) -> StEvent:
        event = StEvent(op=self._ops[call.op], signature=self._sites[call.signature], size=1)
        event.nvalues = len(call.values)
        event.stats[:] = [math.nan] * MAX_STATS
        for i, (value, (_, kind)) in enumerate(zip(call.values, self._log.schemas[call.op], strict=True)):
            if kind is Kind.COMM and value in self._log.comms:
                if event.size == 1:
                    event.self, event.size = place(self._log.comms[value], self._log.rank)
                value = self._name(value)
            elif kind is Kind.TYPE and value in self._types:
                value = self._types[value]
            elif kind is Kind.STRING:
                value = core.string(value)
            event.values[i] = 0 if isinstance(value, tuple) else value
        return event

    def run(self, feeder: ctypes.CDLL) -> tuple[float, float]:
        """Give all calls to a fresh core; ns of CPU per call of the first half and of the second."""
        lists, integers = self._lists.ctypes.data, self._integers.ctypes.data
        calls = (self._kinds, self._calls.ctypes.data, self._times.ctypes.data, self.ncalls)
        given = (*calls, lists, len(self._lists), integers)
        ns = (c_double * 2)()
        with self.core() as core:
            code = feeder.feed(core, library().st_core_append, library().st_array, *given, ns)
        if code < 0:
            raise ValueError(f"{self._log.path}: the core refuses a call, error {code}")
        return ns[0], ns[1]


def place(comm: FlatComm, rank: int) -> tuple[int, int]:
    """A rank's place in a communicator and the size that its peers are counted in."""
    own = comm.members.index(rank) if rank in comm.members else 0
    return own, len(comm.members if comm.remote is None else comm.remote)


def feeder(mpi: Mpi, folder: Path) -> ctypes.CDLL:
    """Compile feed.c."""
    result = loaded(mpi.mpicc, HERE / "feed.c", folder, mpi.environment())
    sizes = (6, 8)  # ncalls, nlists
    result.feed.argtypes = tuple(c_size_t if i in sizes else c_void_p for i in range(11))
    return result
