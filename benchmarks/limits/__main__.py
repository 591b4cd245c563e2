"""Limits of use: large numbers of one thing, recorded and compared with what was recorded.

python -m benchmarks.limits [--scale 0.01] [--only NAME] [--keep]

Limits of the compressor are measured without MPI, limits of handles with MPI programs on one rank. Traces are
compared with the calls or with flat logs. Seconds and memory are those of the recording process; under MPI,
seconds are those of the whole command. The result is "lossless", what differs, or the message of a refusal.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.limits import in_memory
from benchmarks.table import grouped, keep, printed, show
from support.mpis import Mpi, installed
from support.running import record, run, scalatrace

TITLE = "Limits of use"
COLUMNS = ("limit", "number", "seconds", "peak MB", "trace bytes", "result")
PROGRAMS = {"requests": 100_000, "communicators": 5_000, "datatypes": 1_000, "nested": 1_000, "names": 1_000}
TIMEOUT_S = 3600
LOSSLESS = "lossless"


def without_mpi(case: str, n: int, folder: Path) -> list[str]:
    """Return the line of a case of the compressor."""
    path = folder / "a.st"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak_mb = pool.apply(in_memory.measured, (case, n, path))
        different = pool.apply(in_memory.differences, (case, n, path))
    result = f"{different} differences" if different else LOSSLESS
    return _line(case, n, seconds, peak_mb, path, result)


def with_mpi(mpi: Mpi, case: str, n: int, folder: Path) -> list[str]:
    """Return the line of a program, which prints its peak memory in KiB."""
    program, path, logs = folder / "program", folder / "a.st", folder / "logs"
    source = Path(__file__).with_name("programs.c")
    run([mpi.mpicc, "-O1", "-o", program, source], env=mpi.environment()).check()
    start = time.perf_counter()
    done = record(mpi, 1, [program, case, str(n)], path, options=["--flat-log", logs], timeout=TIMEOUT_S)
    seconds = time.perf_counter() - start
    if done.returncode or not path.exists():
        return _line(case, n, seconds, 0, path, _last_line(done.stderr) or "no trace")
    verified = scalatrace(mpi, "verify", path, logs, timeout=TIMEOUT_S)
    result = LOSSLESS if LOSSLESS in verified.stdout else _last_line(verified.stdout + verified.stderr)
    return _line(case, n, seconds, int(done.stdout) / 1024, path, result)


def _last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "")


def _line(case: str, n: int, seconds: float, peak_mb: float, path: Path, result: str) -> list[str]:
    nbytes = path.stat().st_size if path.exists() else 0
    return [case, grouped(n), f"{seconds:.1f}", f"{peak_mb:.0f}", grouped(nbytes), result]


def rows(scale: float, only: str) -> Iterator[list[str]]:
    """Measure the limits whose name contains `only`, each number times `scale`."""
    mpi = next(iter(installed().values()), None)
    for case, (number, _, _) in in_memory.CASES.items():
        if only in case:
            with tempfile.TemporaryDirectory() as folder:
                yield without_mpi(case, max(1, int(number * scale)), Path(folder))
    for case, number in PROGRAMS.items():
        if only in case and mpi is not None:
            with tempfile.TemporaryDirectory() as folder:
                yield with_mpi(mpi, case, max(1, int(number * scale)), Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers")
    parser.add_argument("--only", default="", help="limits whose name contains this")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/limits.md")
    args = parser.parse_args()
    lines = list(printed(rows(args.scale, args.only)))
    show(TITLE, COLUMNS, lines)
    if args.keep:
        keep("limits", TITLE, COLUMNS, lines)
    return int(any(line[-1] != LOSSLESS for line in lines))


if __name__ == "__main__":
    sys.exit(main())
