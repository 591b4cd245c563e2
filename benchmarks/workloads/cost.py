"""ns of CPU that the tracer takes per event of a workload; ../README.md says what is measured, and why."""

from __future__ import annotations

import ctypes
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.overhead.setups import Bench, Loop
from benchmarks.sizes import SINGLE
from benchmarks.table import grouped
from benchmarks.workloads.book import Book, Line
from benchmarks.workloads.feed import Feed
from benchmarks.workloads.sizes import command
from support.mpis import Mpi
from support.running import record
from support.workloads import Workload

TITLE = "ns of CPU per event of the workloads"
NPROCS, STEPS, REPEAT = 4, 1000, 15
COLUMNS = (
    "program",
    "events",
    "frames",
    "core, first half",
    "core",
    "from",
    "to",
    "no stacks",
    "Python stacks",
)
LIMITS = {"no stacks": 250, "Python stacks": 700}
#: Values that follow no rule cost more.
IRREGULAR, IRREGULAR_LIMIT = ("is", "amr"), 500
SHALLOW, DEEP, CALLS = 4, 16, 200_000


@dataclass(frozen=True)
class Around:
    """What comes on top of the core's time, in ns per event: a call of the shim, and Python frames."""

    shim: float
    stack: float
    frame: float

    def added(self, frames: float) -> tuple[float, float]:
        """Without stacks, and with so many frames."""
        return self.shim, self.shim + self.stack + self.frame * frames


def around(mpi: Mpi, library: ctypes.CDLL, folder: Path) -> Around:
    """Measure a Python loop on one rank, where nobody waits for anybody, shallow and deep."""
    print(f"a loop under {SHALLOW} and {DEEP} frames, {REPEAT} times", file=sys.stderr, flush=True)
    bench = Bench(mpi, folder)
    loops = {frames: Loop("mpi4py", None, CALLS, {}, frames) for frames in (SHALLOW, DEEP)}
    found: dict[tuple[int, str], list[float]] = {}
    for _ in range(REPEAT):
        for frames, loop in loops.items():
            for setup in ("plain", "none", "python"):
                found.setdefault((frames, setup), []).append(bench.measure(loop, setup).ns)
    ns = {key: min(values) for key, values in found.items()}
    stack = {frames: ns[frames, "python"] - ns[frames, "none"] for frames in loops}
    none = min(ns[frames, "none"] - ns[frames, "plain"] for frames in loops)
    logs = folder / "loop"
    options = ["--stacks", "none", "--flat-log", logs]
    record(mpi, 1, bench.python_loop(loops[DEEP], CALLS), folder / "loop.st", options=options).check()
    feed = Feed(logs / "rank-0.log")
    core = min(feed.run(library)[1] for _ in range(REPEAT))
    frame = (stack[DEEP] - stack[SHALLOW]) / (DEEP - SHALLOW)
    return Around(none - core, stack[SHALLOW] - SHALLOW * frame, frame)


def cost_line(mpi: Mpi, workload: Workload, library: ctypes.CDLL, surroundings: Around) -> list[str]:
    """Record once; give the calls of rank 0 to the core again and again."""
    with tempfile.TemporaryDirectory() as folder:
        trace, logs = Path(folder, "a.st"), Path(folder, "logs")
        run = command(mpi, workload, STEPS)
        options = ["--flat-log", logs]
        record(mpi, NPROCS, run, trace, options=options, env=SINGLE, timeout=300).check()
        feed = Feed(logs / "rank-0.log")
    halves = [feed.run(library) for _ in range(REPEAT)]
    first, later = zip(*halves, strict=True)
    core = min(later)
    added = surroundings.added(feed.frames)
    numbers = (min(first), core, median(later), max(later), *(core + ns for ns in added))
    return [workload.title, grouped(feed.ncalls), f"{feed.frames:.1f}", *map(grouped, numbers)]


def limits(lines: list[Line]) -> list[str]:
    """A sentence for each program and column that exceeds its limit, or one that none does."""
    found = []
    for line in lines:
        for column, limit in LIMITS.items():
            irregular = line["program"] in IRREGULAR and column == "no stacks"
            most = IRREGULAR_LIMIT if irregular else limit
            ns = line.number(column)
            if ns is not None and ns > most:
                found.append(f"NO: {line['program']}, {column}: {ns:.0f} > {most} ns")
    return found or ["yes: all within " + ", ".join(f"{ns} ns, {column}" for column, ns in LIMITS.items())]


def book(keeps: bool, surroundings: Around) -> Book:
    """The table."""
    shim, deep = surroundings.added(10)
    note = (
        f"Rank 0 of {NPROCS}, {STEPS} steps. *core*: the second half of the calls, least, median and most of "
        f"{REPEAT} times. The last two columns add what a call costs around the core: {shim:.0f} ns, with 10 "
        f"Python frames {deep:.0f} ns."
    )
    return Book("workloads_cost", TITLE, COLUMNS, 1, keeps, (note,), limits)
