"""CPU time (ns) of the tracer per event of a workload; ../README.md explains the measurement."""

from __future__ import annotations

import ctypes
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import TypeVar

import rich.progress
from rich.console import Console

from benchmarks.overhead.setups import Bench, Loop
from benchmarks.result_table import Line, ResultTable
from benchmarks.sizes import SINGLE
from benchmarks.table import grouped
from benchmarks.workloads.feed import Feed, feeder
from benchmarks.workloads.sizes import command
from support.mpis import Mpi
from support.running import Argument, record
from support.workloads import Workload

T = TypeVar("T")
TITLE = "ns of CPU per event of the workloads"
NPROCS, STEPS, ROUNDS = 4, 1000, 7
COLUMNS = (
    "program",
    "events",
    "frames",
    "first half",
    "core",
    "median",
    "most",
    "no stacks",
    "Python stacks",
)
LIMITS = {"no stacks": 250, "Python stacks": 700}
#: Values that follow no rule cost more.
IRREGULAR, IRREGULAR_LIMIT = ("is", "amr"), 500
SETUPS = ("plain", "none", "python")
#: With fewer calls there is no steady state to judge.
MIN_EVENTS = 1000
#: Calls of the Python loop, and under how many frames.
CALLS, SHALLOW, DEEP = 200_000, 4, 16
LOOPS = {frames: Loop("mpi4py", None, CALLS, {}, frames) for frames in (SHALLOW, DEEP)}


@dataclass
class Fed:
    """A rank's calls and the times of giving them to the core: ns per call of either half."""

    feed: Feed
    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)

    def run(self, library: ctypes.CDLL) -> None:
        """Once more."""
        first, second = self.feed.run(library)
        self.first.append(first)
        self.second.append(second)


@dataclass(frozen=True)
class Around:
    """What comes on top of the core's time, in ns per event: a call of the shim, and Python frames."""

    shim: float
    stack: float
    frame: float

    def added(self, frames: float) -> tuple[float, float]:
        """Without stacks, and with so many frames."""
        return self.shim, self.shim + self.stack + self.frame * frames


def recorded(mpi: Mpi, nprocs: int, run: list[Argument], *options: Argument) -> Fed:
    """The calls of rank 0 of a run."""
    with tempfile.TemporaryDirectory() as folder:
        trace, logs = Path(folder, "a.st"), Path(folder, "logs")
        given = [*options, "--flat-log", logs]
        record(mpi, nprocs, run, trace, options=given, env=SINGLE, timeout=300).check()
        return Fed(Feed(logs / "rank-0.log"))


def around(loops: dict[tuple[int, str], list[float]], core: float) -> Around:
    """From the times of the Python loop, shallow and deep, and the core's share of the plain call in it."""
    ns = {key: min(values) for key, values in loops.items()}
    stack = {frames: ns[frames, "python"] - ns[frames, "none"] for frames in LOOPS}
    none = min(ns[frames, "none"] - ns[frames, "plain"] for frames in LOOPS)
    frame = (stack[DEEP] - stack[SHALLOW]) / (DEEP - SHALLOW)
    return Around(none - core, stack[SHALLOW] - SHALLOW * frame, frame)


def measure(mpi: Mpi, chosen: Sequence[Workload], keeps: bool) -> ResultTable:
    """Record every program once, then take turns, so that a busy machine hits all alike."""
    with tempfile.TemporaryDirectory() as folder:
        bench, library = Bench(mpi, Path(folder)), feeder(mpi, Path(folder))
        plain = recorded(mpi, 1, bench.python_loop(LOOPS[DEEP], CALLS), "--stacks", "none")
        fed = {w.title: recorded(mpi, NPROCS, command(mpi, w, STEPS)) for w in track(chosen, "recording")}
        loops: dict[tuple[int, str], list[float]] = defaultdict(list)
        for _ in track(range(ROUNDS), "taking turns"):
            for frames, setup in product(LOOPS, SETUPS):
                loops[frames, setup].append(bench.measure(LOOPS[frames], setup).ns)
                for each in (plain, *fed.values()):
                    each.run(library)
    surroundings = around(loops, min(plain.second))
    result = table(keeps, surroundings)
    for title, each in fed.items():
        result.add(row(title, each, surroundings))
    return result


def track(sequence: Sequence[T], text: str) -> Iterable[T]:
    """With a bar on the terminal."""
    return rich.progress.track(sequence, text, console=Console(stderr=True))


def row(title: str, fed: Fed, surroundings: Around) -> list[str]:
    """A row of the table."""
    core, frames = min(fed.second), fed.feed.frames
    numbers = (min(fed.first), core, median(fed.second), max(fed.second))
    added = (core + ns for ns in surroundings.added(frames))
    return [title, grouped(fed.feed.ncalls), f"{frames:.1f}", *map(grouped, (*numbers, *added))]


def limits(lines: list[Line]) -> list[str]:
    """A sentence for each program and column that exceeds its limit, or one that none does."""
    result = []
    for line in (line for line in lines if (line.number("events") or 0) >= MIN_EVENTS):
        for column, limit in LIMITS.items():
            irregular = line["program"] in IRREGULAR and column == "no stacks"
            most = IRREGULAR_LIMIT if irregular else limit
            ns = line.number(column)
            if ns is not None and ns > most:
                result.append(f"NO: {line['program']}, {column}: {ns:.0f} > {most} ns")
    return result or ["yes: all within " + ", ".join(f"{ns} ns, {column}" for column, ns in LIMITS.items())]


def table(keeps: bool, surroundings: Around) -> ResultTable:
    """The table."""
    shim, deep = surroundings.added(10)
    note = (
        f"Rank 0 of {NPROCS}, {STEPS} steps. *core*: the second half of the calls, least, median and most of "
        f"{ROUNDS * len(LOOPS) * len(SETUPS)} times. The last two columns add what a call costs around the "
        f"core: {shim:.0f} ns, with 10 Python frames {deep:.0f} ns."
    )
    return ResultTable("workloads_cost", TITLE, COLUMNS, 1, keeps, (note,), limits)
