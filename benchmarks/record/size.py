"""Bytes of trace, plain log and gzip of the plain log, over time steps and ranks."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

from benchmarks.running import RunSizes, measure_sizes
from benchmarks.study import Study, choose, find_mpi, one_table
from benchmarks.table import Row, grouped, number, verdict
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, record

COLUMNS = ("program", "ranks", "steps", "calls", "trace", "plain log", "log, gzip", "log / trace")

PROGRAMS: dict[str, tuple[str, ...]] = {
    "stencil2d, 5 points, periodic": ("--steps", "stencil2d.py", "--periodic"),
    "stencil2d, 5 points": ("--steps", "stencil2d.py"),
    "stencil2d, 9 points, cartesian": ("--steps", "stencil2d.py", "--points", "9", "--cartesian"),
    "stencil3d, 7 points": ("--steps", "stencil3d.py"),
    "stencil3d, 27 points": ("--steps", "stencil3d.py", "--points", "27"),
    "ring": ("--rounds", "ring.py"),
    "subcomms": ("--steps", "subcomms.py"),
    "persistent": ("--steps", "persistent.py"),
    "Figure 2.1": ("--steps", "fig2_1.py"),
    "Figure 5.2, zigzag": ("--steps", "fig5_2.py", "--trips", "zigzag"),
}
"""By name: the option for the number of steps, file and arguments."""

CLAIMS: tuple[tuple[str, str, Callable[[Sequence[float]], bool]], ...] = (
    (
        "stencil2d, 5 points, periodic",
        "changes by less than 5 % over steps and ranks",
        lambda traces: max(traces) / min(traces) - 1 < 0.05,
    ),
    ("stencil2d, 5 points, periodic", "stays below 8 KB", lambda traces: max(traces) < 8_000),
    ("stencil2d, 5 points", "stays below 24 KB", lambda traces: max(traces) < 24_000),
    ("stencil3d, 7 points", "stays below 24 KB", lambda traces: max(traces) < 24_000),
)
"""Required of the bytes of all traces of a program."""


def _sizes(mpi: Mpi, program: str, nprocs: int, steps: int) -> RunSizes:
    option, source, *arguments = PROGRAMS[program]
    with tempfile.TemporaryDirectory() as folder:
        trace, logs = Path(folder, "a.st"), Path(folder, "logs")
        command: list[Argument] = [str(mpi.python), SAMPLES / source, *arguments, option, str(steps)]
        record(mpi, nprocs, command, trace, options=["--flat-log", logs], timeout=1800).check()
        return measure_sizes(trace, logs)


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi = find_mpi()
    for program, nprocs, steps in product(choose(PROGRAMS, args.only, str), args.ranks, args.steps):
        head = [program, str(nprocs), str(steps)]
        try:
            s = _sizes(mpi, program, nprocs, steps)
        except (AssertionError, TimeoutError) as error:  # the other rows are worth having
            print(error, file=sys.stderr)
            yield [*head, *["failed"] * 5]
            continue
        yield [*head, *map(grouped, (s.calls, s.trace, s.log, s.gzipped, s.log / s.trace))]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """Judge each claim about a measured program."""
    result = [verdict(False, f"{', '.join(row[:3])}: failed") for row in rows if row[-1] == "failed"]
    for program, text, holds in CLAIMS:
        traces = [nbytes for row in rows if row[0] == program and (nbytes := number(row[4])) is not None]
        if traces:
            result.append(verdict(holds(traces), f"{program}: {text}"))
    return result


STUDIES = (
    Study(
        "size",
        "bytes of trace, plain log and gzip of the log, over 10..10,000 steps and 16, 64 ranks",
        "README.md",
        one_table("size", "Bytes of trace and log", COLUMNS, _rows, judge=_verdicts),
        {"only": [], "steps": [10, 100, 1000, 10000], "ranks": [16, 64]},
        {"only": ["ring"], "steps": [10], "ranks": [4]},
    ),
)
