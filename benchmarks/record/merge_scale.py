"""The inter-node merge without MPI: queues of up to 65,536 ranks, merged in one process.

Each rank's queue is what its program would have left (loops of 20 steps, an Allreduce). Ranks are merged
along the radix tree, from C (tree.c), as in MPI_Finalize: the child packs its core, the parent unpacks and
unites it. Only that is timed, in CPU seconds. Queues are made for some ranks at a time: this fills caches.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from ctypes import POINTER, byref, c_double, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

from benchmarks.running import PROGRAMS as SOURCES
from benchmarks.study import SkippedError, Study, choose
from benchmarks.table import ResultTable, Row, grouped
from scalatrace.core.binding import COMM_WORLD, Core, StEvent, library
from scalatrace.trace.model.tables import Kind
from support.mpis import ROOT
from support.running import run

Neighbours = list[tuple[int, int]]
"""(peer, tag) of the messages sent; each is answered by one from the same peer."""


@dataclass(frozen=True)
class StepMessage:
    op: str
    peer: int
    tag: int
    site: str


@dataclass(frozen=True)
class StepWait:
    nrequests: int


StepCall = StepMessage | StepWait
Step = list[StepCall]


def _grid(rank: int, nprocs: int, ndims: int) -> tuple[list[int], list[int]]:
    """Return the sides of a grid and the rank's place in it, row-major; the sides are powers of two."""
    bits = nprocs.bit_length() - 1
    sides = [1 << (bits // ndims + (i < bits % ndims)) for i in range(ndims)]
    place, rest = list[int](), rank
    for side in reversed(sides):
        place.insert(0, rest % side)
        rest //= side
    return sides, place


def _rank(sides: list[int], place: list[int]) -> int:
    number = 0
    for side, x in zip(sides, place, strict=True):
        number = number * side + x
    return number


def neighbours(rank: int, nprocs: int, ndims: int) -> Neighbours:
    """Both neighbours in each dimension, where there is one."""
    sides, place = _grid(rank, nprocs, ndims)
    result = []
    for d in range(ndims):
        for step in (-1, 1):
            if 0 <= place[d] + step < sides[d]:
                there = [x + step * (i == d) for i, x in enumerate(place)]
                result.append((_rank(sides, there), 2 * d + (step > 0)))
    return result


def halo(ndims: int) -> Callable[[int, int], Step]:
    """Return the step of a stencil."""

    def step(rank: int, nprocs: int) -> Step:
        around = neighbours(rank, nprocs, ndims)
        ops = ("Irecv", "Isend")
        messages: Step = [StepMessage(op, peer, tag, op) for op in ops for peer, tag in around]
        return [*messages, StepWait(2 * len(around))]

    return step


def wavefront(rank: int, nprocs: int) -> Step:
    """Two sweeps over a 2-D grid: from west and north, to east and south, and back."""
    sides, place = _grid(rank, nprocs, 2)
    result: Step = []
    for step in (-1, 1):
        for op, sign in (("Recv", step), ("Send", -step)):
            for d in (0, 1):
                if 0 <= place[d] + sign < sides[d]:
                    there = [x + sign * (i == d) for i, x in enumerate(place)]
                    result.append(StepMessage(op, _rank(sides, there), d, f"sweep{step}{op}{d}"))
    return result


def butterfly(rank: int, nprocs: int) -> Step:
    """Partners at every power of two."""
    return [
        StepMessage(op, rank ^ (1 << bit), bit, site)
        for bit in range(nprocs.bit_length() - 1)
        for op, site in (("Send", "exchange"), ("Recv", "exchange2"))
    ]


PROGRAMS: dict[str, Callable[[int, int], Step]] = {
    "stencil2d": halo(2),
    "stencil3d": halo(3),
    "wavefront": wavefront,
    "butterfly": butterfly,
}


P2P = (("count", Kind.INT), ("peer", Kind.PEER), ("tag", Kind.INT), ("comm", Kind.COMM))
SUM = (("count", Kind.INT), ("comm", Kind.COMM))
WAIT = (("requests", Kind.ARRAY),)
INCLUDE = ROOT / "scalatrace/core/include"
STEPS = 20
BATCH = 5
"""Rounds of the tree whose leaves are made at once."""


class TreeDriver:
    """tree.c, compiled, with the functions of the core that it calls."""

    def __init__(self, folder: Path) -> None:
        names = ("st_core_append", "st_core_pack", "st_core_merge", "st_free")
        self._functions = (c_void_p * len(names))(
            *(ctypes.cast(getattr(library(), name), c_void_p).value for name in names)
        )
        shared, compiler = folder / "tree.so", os.environ.get("CC", "cc")
        flags = ("-O2", "-shared", "-fPIC", f"-I{INCLUDE}")
        run([compiler, *flags, "-o", shared, SOURCES / "tree.c"]).check()
        tree = ctypes.CDLL(str(shared))
        self._steps, self._merge_row = tree.steps, tree.merge_row
        self._steps.argtypes = (c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_uint64)
        self._merge_row.argtypes = (c_void_p, c_void_p, c_size_t, POINTER(c_uint64))
        self._steps.restype, self._merge_row.restype = c_int, c_double

    def steps(self, core: Core, events: list[StEvent], nsteps: int, seed: int) -> None:
        """Append a step's events so many times, with times of their own."""
        given = (StEvent * len(events))(*events)
        if error := self._steps(self._functions, core, given, len(events), nsteps, seed):
            raise RuntimeError(f"the core refuses an event, error {error}")

    def merge_row(self, cores: list[Core]) -> tuple[float, int]:
        """Merge every second core into the one before it; CPU seconds and bytes of all messages."""
        nbytes = c_uint64()
        handles = (c_void_p * len(cores))(*(core._as_parameter_ for core in cores))
        seconds = self._merge_row(self._functions, handles, len(cores), byref(nbytes))
        if seconds < 0:
            raise RuntimeError(f"the core refuses a merge, error {seconds:.0f}")
        return seconds, nbytes.value


class Leaf:
    """One rank's core and its input."""

    def __init__(self, driver: TreeDriver, rank: int, nprocs: int) -> None:
        self.core, self.rank, self.nprocs = Core(rank, nprocs), rank, nprocs
        self._driver = driver
        self._sites: dict[str, int] = {}
        for stat in ("compute_ns", "comm_ns"):
            self.core.define_stat(stat)
        if rank == 0:  # to tell all of them all members would take longer than the rest
            self.core.define_comm(COMM_WORLD, 0, "world", range(nprocs))
        self._ops = {op: self.core.define_op(op, P2P) for op in ("Send", "Recv", "Isend", "Irecv")}
        self._wait = self.core.define_op("Waitall", WAIT)
        self._sum = self.core.define_op("Allreduce", SUM)

    def run(self, step: Step) -> Core:
        """The steps, an Allreduce, and the end."""
        self._driver.steps(self.core, [self._call(call) for call in step], STEPS, self.rank + 1)
        self._driver.steps(
            self.core, [self._event(self._sum, [1, COMM_WORLD], "allreduce")], 1, self.rank + 1
        )
        self.core.finish()
        return self.core

    def _call(self, call: StepCall) -> StEvent:
        if isinstance(call, StepWait):
            requests = self.core.array(range(call.nrequests - 1, -1, -1))
            return self._event(self._wait, [requests], "waitall")
        return self._event(self._ops[call.op], [100, call.peer, call.tag, COMM_WORLD], call.site)

    def _event(self, op: int, values: list[int], site: str) -> StEvent:
        if site not in self._sites:
            self._sites[site] = self.core.define_signature([f"app.py:{site}", "app.py:1:<module>"])
        event = StEvent(
            op=op, self=self.rank, size=self.nprocs, nvalues=len(values), signature=self._sites[site]
        )
        event.values[: len(values)] = values
        return event


class Merger:
    """Merges depth first, so that only a batch of leaves and as many cores as the tree has rounds live.

    Attributes:
        seconds: CPU seconds of all merges.
    """

    def __init__(self, driver: TreeDriver, step: Callable[[int, int], Step], nprocs: int) -> None:
        self.driver, self.step, self.nprocs = driver, step, nprocs
        self._times: dict[int, list[float]] = defaultdict(list)
        self._nbytes: dict[int, list[float]] = defaultdict(list)
        self.seconds = 0.0

    def _leaf(self, rank: int) -> Core:
        return Leaf(self.driver, rank, self.nprocs).run(self.step(rank, self.nprocs))

    def _merge(self, cores: list[Core], k: int) -> list[Core]:
        """Do a row of merges of round `k`, from 0; what is left."""
        seconds, nbytes = self.driver.merge_row(cores)
        nmerges = len(cores) // 2
        self.seconds += seconds
        self._times[k].append(seconds / nmerges)
        self._nbytes[k].append(nbytes / nmerges)
        return cores[::2]

    def _subtree(self, rank: int, rounds: int) -> Core:
        """Return the core of `rank` with all the children of so many rounds."""
        if rounds > BATCH:
            cores = [self._subtree(r, rounds - 1) for r in (rank, rank | 1 << rounds - 1)]
            self._merge(cores, rounds - 1)
        else:
            cores = [self._leaf(rank + i) for i in range(1 << rounds)]
            row = cores
            for k in range(rounds):
                row = self._merge(row, k)
        for child in cores[1:]:
            child.close()
        bytearray(1 << 16)  # the C library joins the pieces now, not at a merge's first large request
        return cores[0]

    def run(self) -> int:
        """Merge all; the bytes of the trace."""
        core = self._subtree(0, (self.nprocs - 1).bit_length())
        with tempfile.TemporaryDirectory() as folder:
            core.write(Path(folder, "a.st"))
            core.close()
            return Path(folder, "a.st").stat().st_size

    def rounds(self, name: str) -> list[list[str]]:
        """The table's lines: one a round."""
        return [
            [
                name,
                *map(grouped, (k + 1, self.nprocs >> k + 1, median(s) * 1e6, int(median(self._nbytes[k])))),
            ]
            for k, s in sorted(self._times.items())
        ]


COLUMNS = ("program", "ranks", "merges, s", "most memory, MB", "trace, bytes")
ROUNDS = ("program", "round", "merges", "median, us", "message, bytes")


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    if any(n < 2 or n & (n - 1) for n in args.ranks):
        raise SkippedError("--ranks must be powers of two")
    rounds: list[Row] = []
    title = "Merging synthetic ranks in one process"
    yield ResultTable("merge_scale", title, COLUMNS, _rows(args, rounds))
    yield ResultTable("merge_rounds", "Merging, per round", ROUNDS, rounds)


def _rows(args: argparse.Namespace, rounds: list[Row]) -> Iterator[Row]:
    """A row per program and number of ranks; those of the most ranks add their `rounds`."""
    with tempfile.TemporaryDirectory() as folder:
        driver = TreeDriver(Path(folder))
        for name, nprocs in product(choose(PROGRAMS, args.only, str), args.ranks):
            merger = Merger(driver, PROGRAMS[name], nprocs)
            nbytes = merger.run()
            peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            yield [name, grouped(nprocs), f"{merger.seconds:.2f}", *map(grouped, (peak_mb, nbytes))]
            if nprocs == max(args.ranks):
                rounds += merger.rounds(name)


STUDIES = (
    Study(
        "merge-scale",
        "time, memory and messages of the merge of 65,536 synthetic ranks in one process",
        "docs/concepts/glossary.md, CHANGELOG.md",
        _tables,
        {"only": [], "ranks": [1024, 65536]},
        {"only": ["stencil2d"], "ranks": [256]},
    ),
)
