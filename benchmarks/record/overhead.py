"""ns of CPU per MPI call over the plain program, medians of interleaved runs; peak memory over steps."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.running import PROGRAMS, compile_c
from benchmarks.study import Study, choose, find_mpi
from benchmarks.table import ResultTable, Row, grouped, number
from scalatrace.record.shim import INCLUDE
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun


@dataclass(frozen=True, eq=False)
class TimedLoop:
    """A loop to measure.

    Attributes:
        program: argument of loops.c; None for the Python loop.
        calls: MPI calls per repetition.
        limits: most ns per call over the plain run, by setup.
    """

    name: str
    program: str | None
    calls: int
    limits: dict[str, int]

    def setups(self) -> list[str]:
        """The setups that differ for this loop: a C program has no Python stack."""
        return [setup for setup in SETUPS if self.program is None or setup != "python"]


LOOPS = (
    TimedLoop("Send to PROC_NULL", "procnull", 1_000_000, {"none": 200, "native": 900}),
    TimedLoop("Irecv + Send + Wait to self", "self", 600_000, {"none": 250, "native": 900}),
    TimedLoop("Send, 5000 different counts", "counts", 300_000, {"none": 500, "native": 900}),
    TimedLoop("Testany of 8, none complete", "polls", 1_000_000, {"none": 60, "native": 60}),
    TimedLoop("mpi4py, 10 Python frames", None, 300_000, {"none": 200, "python": 700}),
)
FRAMES = 10
SETUPS = ("plain", "flat24", "none", "python", "native")
STATS = ("cpu", "cpu:both", "memory", "instructions", "{library}", "{python}")
"""Setups for the stat plug-ins, without stacks; the last two are the samples in C and in Python."""

COLUMNS = ("loop", "plain", "flat24", "no stacks", "Python stacks", "native stacks", "limits")
STATS_COLUMNS = ("loop", "tracer", *STATS[:-2], "samples/switches.c", "samples/allocations.py")
MEMORY_STEPS = (10_000, 100_000, 1_000_000)
MEMORY_COLUMNS = ("loop", *(f"{grouped(steps)} calls" for steps in MEMORY_STEPS))


class Bench:
    """Compiles the loops and the bare log for one MPI and runs them."""

    def __init__(self, mpi: Mpi, folder: Path) -> None:
        self.mpi, self._folder = mpi, folder
        shared = ("-shared", "-fPIC")
        self._loops = compile_c(mpi, "loops.c", folder / "loops")
        self._flat24 = compile_c(mpi, "flat24.c", folder / "flat24.so", *shared)
        plugin = compile_c(mpi, SAMPLES / "switches.c", folder / "plugin.so", *shared, f"-I{INCLUDE}")
        self._plugins = {"library": plugin, "python": f"{SAMPLES / 'allocations.py'}:Allocations"}

    def measure(self, loop: TimedLoop, setup: str, calls: int | None = None) -> tuple[float, int]:
        """Run a loop once on one rank; return ns of CPU per call and the peak resident memory in KiB."""
        ncalls = str(calls or loop.calls)
        command: list[Argument] = [self._loops, loop.program or "", ncalls]
        if loop.program is None:
            command = [str(self.mpi.python), PROGRAMS / "loop.py", ncalls, str(FRAMES)]
        if setup == "flat24":
            env = {"LD_PRELOAD": self._flat24, "FLAT24_OUT": self._folder / "flat24.bin"}
            command = ["env", *(f"{name}={value}" for name, value in env.items()), *command]
        elif setup != "plain":
            stacks = ["--stacks", "none" if setup in STATS else setup]
            stats = ["--stat", setup.format(**self._plugins)] if setup in STATS else []
            options: list[Argument] = ["record", "-o", self._folder / "a.st", *stacks, *stats, "--"]
            command = [*self.mpi.scalatrace(), *options, *command]
        words = mpirun(self.mpi, 1, command, cwd=self._folder, timeout=300).check().stdout.split()
        return float(words[-2]), int(words[-1])

    def medians(self, loop: TimedLoop, setups: Sequence[str], repeat: int) -> dict[str, float]:
        """Median ns per call by setup; repetitions take turns, so that a busy machine affects all alike."""
        runs: dict[str, list[float]] = {setup: [] for setup in setups}
        for _ in range(repeat):
            for setup in setups:
                runs[setup].append(self.measure(loop, setup)[0])
        return {setup: median(values) for setup, values in runs.items()}


def _times(bench: Bench, loops: Sequence[TimedLoop], repeat: int) -> Iterator[Row]:
    """The plain program's own ns, then what each setup adds."""
    for loop in loops:
        ns = bench.medians(loop, loop.setups(), repeat)
        added = [f"{ns[setup] - ns['plain']:.0f}" if setup in ns else "" for setup in SETUPS[1:]]
        limits = ", ".join(f"{setup} {limit}" for setup, limit in loop.limits.items())
        yield [loop.name, f"{ns['plain']:.0f}", *added, limits]


def _stats(bench: Bench, loops: Sequence[TimedLoop], repeat: int) -> Iterator[Row]:
    """The tracer's ns without stats, then what each stat adds; "" where it is not for the program."""
    for loop in loops:
        ns = bench.medians(loop, ("none", *STATS), repeat)
        stats = [stat if stat != STATS[-1] or loop.program is None else "" for stat in STATS]
        yield [loop.name, f"{ns['none']:.0f}", *(f"{ns[s] - ns['none']:.0f}" if s else "" for s in stats)]


def _memory(bench: Bench, loops: Sequence[TimedLoop]) -> Iterator[Row]:
    """Peak memory that the tracer adds at each number of calls, in MiB."""
    for loop in loops:
        peaks = [[bench.measure(loop, setup, n)[1] for setup in ("none", "plain")] for n in MEMORY_STEPS]
        yield [loop.name, *(f"{(traced - plain) / 1024:.1f}" for traced, plain in peaks)]


def _exceeded(rows: Sequence[Row]) -> list[str]:
    """The limits that do not hold."""
    measured = [(loop, row) for loop in LOOPS for row in rows if row[0] == loop.name]
    return [
        f"NO: {loop.name}, {setup}: {ns:.0f} > {limit} ns"
        for loop, row in measured
        for setup, limit in loop.limits.items()
        if (ns := number(row[1 + SETUPS.index(setup)]) or 0) > limit
    ]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi = find_mpi(args.mpi, python=False)
    loops = choose(LOOPS, args.only, lambda loop: loop.name)
    loops = [loop for loop in loops if loop.program or mpi.python]
    title, note = "ns of CPU per MPI call", f"MPI: {args.mpi}. One rank"
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(mpi, Path(folder))
        rows = _times(bench, loops, args.repeat)
        yield ResultTable(
            "overhead", f"{title} over the plain program", COLUMNS, rows, 0, (f"{note}.",), _exceeded
        )
        rows = _stats(bench, loops, args.repeat)
        title += " that a stat adds to the tracer without stacks"
        yield ResultTable("stats", title, STATS_COLUMNS, rows, 0, (f"{note}.",))
        title, rows = "Peak memory over the plain program, MiB", _memory(bench, loops)
        yield ResultTable("memory", title, MEMORY_COLUMNS, rows, 0, (f"{note}, no stacks.",))


STUDIES = (
    Study(
        "overhead",
        "ns per MPI call over the plain program; peak memory over the number of calls",
        "README.md",
        _tables,
        {"only": [], "repeat": 5, "mpi": "openmpi"},
        {"only": ["Send to"], "repeat": 1},
    ),
)
