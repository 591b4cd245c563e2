"""ns of CPU per MPI call over the plain program, medians of interleaved repetitions; peak memory over steps.

python -m benchmarks.overhead [--repeat 7] [--mpi debian-mpich] [--only mpi4py] [--keep]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.overhead.setups import LOOPS, SETUPS, STATS, Bench, Loop
from benchmarks.table import grouped, keep, show
from support.mpis import Mpi, installed

TITLE = "ns of CPU per MPI call over the plain program"
COLUMNS = ("loop", "plain", "flat24", "no stacks", "Python stacks", "native stacks", "limits")
STATS_TITLE = "ns of CPU per MPI call that a stat adds to the tracer without stacks"
STATS_COLUMNS = ("loop", "tracer", *STATS[:-2], "samples/switches.c", "samples/allocations.py")
MEMORY_TITLE = "Peak memory over the plain program, MiB"
MEMORY_STEPS = (10_000, 100_000, 1_000_000)


def setups_for(loop: Loop, mpi: Mpi) -> list[str]:
    """The setups that say something about a loop: a C program has no Python stack."""
    if loop.program is None and mpi.python is None:
        return []
    return [s for s in SETUPS if loop.program is None or s != "python"]


def medians(bench: Bench, loop: Loop, setups: Sequence[str], repeat: int) -> dict[str, float]:
    """Median ns per call for each setup; repetitions take turns, so that a busy machine hits all alike."""
    runs: dict[str, list[float]] = {setup: [] for setup in setups}
    for _ in range(repeat):
        for setup in setups:
            runs[setup].append(bench.measure(loop, setup).ns)
    return {setup: median(values) for setup, values in runs.items()}


def line(loop: Loop, ns: dict[str, float]) -> list[str]:
    """A row of the table: the plain program's own ns, then what each setup adds."""
    added = [f"{ns[s] - ns['plain']:.0f}" if s in ns else "" for s in SETUPS[1:]]
    limits = ", ".join(f"{setup} {limit}" for setup, limit in loop.limits.items())
    return [loop.name, f"{ns['plain']:.0f}", *added, limits]


def stats_line(loop: Loop, ns: dict[str, float]) -> list[str]:
    """A row: the tracer's ns over nothing, then what each stat adds; "" where it is not for the program."""
    python = STATS[-1]
    added = [f"{ns[s] - ns['none']:.0f}" if s != python or loop.program is None else "" for s in STATS]
    return [loop.name, f"{ns['none']:.0f}", *added]


def exceeded(loop: Loop, ns: dict[str, float]) -> list[str]:
    """The limits of a loop that do not hold."""
    over = {setup: ns[setup] - ns["plain"] for setup in loop.limits if setup in ns}
    return [
        f"{loop.name}, {setup}: {added:.0f} > {loop.limits[setup]} ns"
        for setup, added in over.items()
        if added > loop.limits[setup]
    ]


def memory(bench: Bench, loop: Loop, steps: Sequence[int]) -> list[str]:
    """A row: peak memory that the tracer adds at each number of calls, in MiB."""
    added = []
    for calls in steps:
        plain, traced = (bench.measure(loop, setup, calls).peak_kib for setup in ("plain", "none"))
        added.append(f"{(traced - plain) / 1024:.1f}")
    return [loop.name, *added]


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--mpi", default="openmpi", help="one of: " + ", ".join(installed()))
    parser.add_argument("--only", default="", help="loops whose name contains this")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/overhead.md")
    args = parser.parse_args()
    mpi = installed().get(args.mpi)
    if mpi is None:
        print(f"skipped: no {args.mpi} here, only {', '.join(installed()) or 'nothing'}")
        return 0
    loops = [loop for loop in LOOPS if args.only in loop.name and setups_for(loop, mpi)]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(mpi, Path(folder))
        results = {loop: medians(bench, loop, setups_for(loop, mpi), args.repeat) for loop in loops}
        measured = {loop: medians(bench, loop, ("none", *STATS), args.repeat) for loop in loops}
        peaks = [memory(bench, loop, MEMORY_STEPS) for loop in loops]
    stats = [stats_line(loop, ns) for loop, ns in measured.items()]
    return report(args.mpi, results, stats, peaks, args.keep)


def report(
    mpi: str,
    results: dict[Loop, dict[str, float]],
    stats: list[list[str]],
    peaks: list[list[str]],
    write: bool,
) -> int:
    """Show (and keep) the tables; 1 when a limit does not hold."""
    table = [line(loop, ns) for loop, ns in results.items()]
    columns = ("loop", *(f"{grouped(steps)} calls" for steps in MEMORY_STEPS))
    show(f"{TITLE} ({mpi})", COLUMNS, table)
    show(STATS_TITLE, STATS_COLUMNS, stats)
    show(MEMORY_TITLE, columns, peaks)
    if write:
        keep("overhead", TITLE, COLUMNS, table, f"MPI: {mpi}. One rank.")
        keep("stats", STATS_TITLE, STATS_COLUMNS, stats, f"MPI: {mpi}. One rank.")
        keep("memory", MEMORY_TITLE, columns, peaks, f"MPI: {mpi}. One rank, no stacks.")
    broken = [text for loop, ns in results.items() for text in exceeded(loop, ns)]
    for text in broken:
        print("NO  ", text)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
