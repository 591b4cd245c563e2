"""Times of each rank and efficiencies, against timers around the program's calls in the same run.

    python -m benchmarks.efficiency [--ranks 4] [--repeat 3] [--keep]

The timers are in Python (own_timers.py): they include what mpi4py does before and after a call, which counts
where calls are short. The exit status is 1 if an efficiency is off by more than MAX_OFF points. "off" is the
largest difference of a rank's time, over the longest time of a rank; efficiencies are percentages, from the
trace and from the timers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np

import scalatrace
from benchmarks.table import keep, printed, show
from scalatrace.report.costs.efficiency import Efficiency, efficiency
from support.mpis import Mpi, installed
from support.programs import SAMPLES
from support.running import record

SLEEPER = """\
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
for step in range(20):
    time.sleep(0.05 if comm.rank == 1 else 0.01)
    comm.Barrier()
"""
PROGRAMS: dict[str, tuple[str, ...]] = {
    "sleeper": ("sleeper.py",),
    "stencil2d": (str(SAMPLES / "stencil2d.py"), "--steps", "200", "--size", "1000"),
    "npb/cg": (str(SAMPLES / "npb/cg.py"), "--steps", "40", "--size", "1000"),
    "npb/lu": (str(SAMPLES / "npb/lu.py"), "--steps", "20", "--size", "40"),
    "npb/ft": (str(SAMPLES / "npb/ft.py"), "--steps", "60"),
}
MAX_OFF = 5.0
"""Points by which an efficiency in per cent may differ from that of the timers."""

COLUMNS = ["program", "ranks", "MPI off", "computation off"]
COLUMNS += [f"{name} ({side})" for name in ("parallel", "balance", "communication") for side in ("st", "own")]


def measured(mpi: Mpi, words: Sequence[str], nprocs: int) -> tuple[Efficiency, Efficiency]:
    """The efficiencies of one run, from the trace and from the timers."""
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name, "a.st")
        (folder / "sleeper.py").write_text(SLEEPER)
        program = [str(folder / words[0]), *words[1:]]
        timers = str(Path(__file__).with_name("own_timers.py"))
        record(mpi, nprocs, [str(mpi.python), timers, str(folder), *program], path, timeout=300).check()
        found = efficiency(scalatrace.load(path))
        assert found is not None
        times = np.array([(folder / str(rank)).read_text().split() for rank in range(nprocs)], dtype=float)
        return found, Efficiency(found.ranks, times[:, 1], times[:, 0])


def rows(mpi: Mpi, nprocs: int, repeat: int) -> Iterator[list[str]]:
    """A row per program: medians over the runs."""
    for name, words in PROGRAMS.items():
        runs = [measured(mpi, words, nprocs) for _ in range(repeat)]
        off = [
            median(
                float(np.abs(getattr(a, which) - getattr(b, which)).max() / getattr(b, which).max())
                for a, b in runs
            )
            for which in ("comm_ns", "compute_ns")
        ]
        factors = [
            median((getattr(run[side], which) or 0.0) for run in runs)
            for which in ("parallel_efficiency", "load_balance", "communication_efficiency")
            for side in (0, 1)
        ]
        yield [
            name,
            str(nprocs),
            *(f"{100 * one:.1f} %" for one in off),
            *(f"{100 * one:.1f}" for one in factors),
        ]


def main() -> int:
    """Measure and print; 1 when an efficiency is off."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="write results/efficiency.md")
    args = parser.parse_args()
    found = list(
        printed(rows(next(mpi for mpi in installed().values() if mpi.python), args.ranks, args.repeat))
    )
    title = "Times of each rank and efficiencies: trace (st) and the program's own timers"
    show(title, COLUMNS, found)
    if args.keep:
        keep(
            "efficiency",
            title,
            COLUMNS,
            found,
            "",
            f"`python -m benchmarks.efficiency`, medians of {args.repeat}.",
        )
    pairs = [(float(row[i]), float(row[i + 1])) for row in found for i in range(4, len(COLUMNS), 2)]
    return int(any(abs(trace - own) > MAX_OFF for trace, own in pairs))


sys.exit(main())
