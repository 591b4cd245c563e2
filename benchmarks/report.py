"""HTML pages of traces of 4, 64 and 1,048,576 ranks: seconds to make, bytes, time until interactive.

python -m benchmarks.report [--keep]

The traces are those of samples/stencil2d.py; the largest one is extrapolated from 16, 20, 25 and 30 ranks.
Times of the browser are medians of five loads in headless Chromium. Exit status 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.table import keep, printed, show
from support.browser import missing, opened, started
from support.mpis import installed
from support.programs import SAMPLES
from support.running import record

COLUMNS = ("ranks", "events", "seconds", "CPU seconds", "page bytes", "interactive ms", "within limits")
TITLE = "HTML pages of traces"
INPUTS = (16, 20, 25, 30)
MAX_RANKS = 1 << 20
STEPS = "20"
LOADS = 5

MAX_CPU_S, MAX_BYTES, MAX_INTERACTIVE_MS = 5.0, 3_000_000, 2000.0


def main() -> int:
    """Record, extrapolate, make and open the pages; print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/report.md")
    args = parser.parse_args()
    if reason := missing():
        print(f"no time until interactive: {reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        rows = list(printed(_rows(Path(folder), not reason)))
    show(TITLE, COLUMNS, rows)
    if args.keep:
        keep("report", TITLE, COLUMNS, rows, "", f"Limits: {MAX_CPU_S:g} CPU s, {MAX_BYTES:,} bytes, 2 s.")
    return int(any(row[-1] == "NO" for row in rows))


def _rows(folder: Path, browser: bool) -> Iterator[Sequence[str]]:
    for path in _traces(folder):
        page = path.with_suffix(".html")
        wall_s, cpu_s = _seconds([*COMMAND, "report", str(path), "-o", str(page)])
        ready_ms = _ready_ms(page) if browser else None
        size = page.stat().st_size
        good = cpu_s < MAX_CPU_S and size < MAX_BYTES and (ready_ms or 0.0) < MAX_INTERACTIVE_MS
        ready = "-" if ready_ms is None else f"{ready_ms:.0f}"
        ranks, events = _shape(path)
        numbers = (f"{ranks:,}", f"{events:,}", f"{wall_s:.2f}", f"{cpu_s:.2f}", f"{size:,}", ready)
        yield (*numbers, "yes" if good else "NO")


COMMAND = (sys.executable, "-m", "scalatrace")


def _traces(folder: Path) -> Iterator[Path]:
    mpi = installed()["openmpi"]
    for nprocs in (4, 64, *INPUTS):
        path = folder / f"{nprocs}.st"
        done = record(
            mpi, nprocs, [mpi.python, SAMPLES / "stencil2d.py", "--steps", STEPS], path, timeout=600
        )
        if done.returncode:
            sys.exit(f"recording {nprocs} ranks failed:\n{done.stderr}")
        if nprocs not in INPUTS:
            yield path
    path = folder / f"{MAX_RANKS}.st"
    inputs = [str(folder / f"{nprocs}.st") for nprocs in INPUTS]
    subprocess.run(
        [*COMMAND, "extrapolate", *inputs, "-P", str(MAX_RANKS), "-o", str(path)],
        check=True,
        capture_output=True,
    )
    yield path


def _shape(path: Path) -> tuple[int, int]:
    import scalatrace

    trace = scalatrace.load(path)
    return trace.nprocs, trace.nevents()


def _seconds(command: Sequence[str]) -> tuple[float, float]:
    """Return elapsed time and CPU time of a command."""
    before, start = _used_s(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, _used_s() - before


def _used_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ready_ms(page: Path) -> float:
    """Return the time from the start of loading until all sections are drawn."""
    times = []
    with started() as browser:
        for _ in range(LOADS):
            with opened(browser, page) as view:
                times.append(view.ready_ms)
    return median(times)


if __name__ == "__main__":
    sys.exit(main())
