"""HTML pages of traces of 4, 64 and 1,048,576 ranks: seconds to make, bytes, time until interactive.

The traces are those of samples/stencil2d.py; the largest one is extrapolated from 16, 20, 25 and 30 ranks.
Times of the browser are medians of five loads in headless Chromium.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.running import children_cpu_s
from benchmarks.study import Study, find_mpi, one_table
from benchmarks.table import Row, grouped, verdict
from scalatrace import load
from support.browser import missing, opened, started
from support.programs import SAMPLES
from support.running import Argument, record

COLUMNS = ("ranks", "events", "seconds", "CPU seconds", "page bytes", "interactive ms", "within limits")
INPUTS = (16, 20, 25, 30)
STEPS = "20"
LOADS = 5

MAX_CPU_S, MAX_BYTES, MAX_INTERACTIVE_MS = 5.0, 3_000_000, 2000.0
COMMAND = (sys.executable, "-m", "scalatrace")


def _seconds(command: Sequence[str]) -> tuple[float, float]:
    """Return elapsed time and CPU time of a command."""
    before, start = children_cpu_s(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, children_cpu_s() - before


def _ready_ms(page: Path) -> float:
    """Return the time from the start of loading until all sections are drawn."""
    times = []
    with started() as browser:
        for _ in range(LOADS):
            with opened(browser, page) as view:
                times.append(view.ready_ms)
    return median(times)


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    reason = missing()
    if reason:
        print(f"no time until interactive: {reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for path in _traces(Path(folder), args.ranks):
            page = path.with_suffix(".html")
            wall_s, cpu_s = _seconds([*COMMAND, "report", str(path), "-o", str(page)])
            ready_ms = None if reason else _ready_ms(page)
            nbytes, trace = page.stat().st_size, load(path)
            good = cpu_s < MAX_CPU_S and nbytes < MAX_BYTES and (ready_ms or 0.0) < MAX_INTERACTIVE_MS
            ready = "-" if ready_ms is None else f"{ready_ms:.0f}"
            times = f"{wall_s:.2f}", f"{cpu_s:.2f}"
            yield [
                *map(grouped, (trace.nprocs, trace.nevents())),
                *times,
                grouped(nbytes),
                ready,
                "yes" if good else "NO",
            ]


def _traces(folder: Path, ranks: Sequence[int]) -> Iterator[Path]:
    """Traces of so many ranks; more than 64 are extrapolated."""
    mpi, program = find_mpi(), SAMPLES / "stencil2d.py"
    recorded = [nprocs for nprocs in ranks if nprocs <= 64]
    for nprocs in {*recorded, *(INPUTS if recorded != list(ranks) else ())}:
        argv: list[Argument] = [str(mpi.python), program, "--steps", STEPS]
        record(mpi, nprocs, argv, folder / f"{nprocs}.st", timeout=600).check()
    for nprocs in ranks:
        path = folder / f"{nprocs}.st"
        if nprocs not in recorded:
            inputs = [str(folder / f"{nprocs}.st") for nprocs in INPUTS]
            command = [*COMMAND, "extrapolate", *inputs, "-P", str(nprocs), "-o", str(path)]
            subprocess.run(command, check=True, capture_output=True)
        yield path


def _verdicts(rows: Sequence[Row]) -> list[str]:
    limits = f"{MAX_CPU_S:g} CPU s, {MAX_BYTES:,} bytes, 2 s"
    return [verdict(all(row[-1] == "yes" for row in rows), f"all pages are within {limits}")]


STUDIES = (
    Study(
        "report",
        "seconds to make HTML pages of traces, bytes, time until they are interactive",
        "docs/guide/report.md",
        one_table("report", "HTML pages of traces", COLUMNS, _rows, judge=_verdicts),
        {"ranks": [4, 64, 1 << 20]},
        {"ranks": [4]},
    ),
)
