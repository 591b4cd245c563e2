"""Trace Debian's lammps, hpcc and pw.x: same results as untraced, nothing lost, bytes of trace and logs.

python -m benchmarks.debian [--only hpcc] [--ranks 4] [--sizes 100 1000] [--keep]
python -m benchmarks.debian --histograms [--keep]    bytes where counts and peers past 8 values are histograms
"""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from benchmarks.debian.cases import CASES, Case
from benchmarks.result_table import ResultTable
from benchmarks.sizes import SINGLE, measure
from benchmarks.table import grouped, keep, show
from support.mpis import Mpi, installed
from support.running import Finished, mpirun, record, scalatrace

TITLE = "Programs from Debian's packages, Debian's Open MPI"
COLUMNS = (
    "program",
    "ranks",
    "size",
    "results",
    "verify",
    "calls",
    "trace",
    "log",
    "log.gz",
    "s plain",
    "s traced",
)
NOTES = ("Calls, trace and logs are those of all ranks; sizes in bytes.",)
HISTOGRAMS = ("--histograms", "8")


def plain_run(mpi: Mpi, case: Case, nprocs: int, folder: Path) -> tuple[Finished, float]:
    """The program as it is; and its seconds."""
    began = time.monotonic()
    done = mpirun(mpi, nprocs, [case.program, *case.arguments], env=SINGLE, cwd=folder, timeout=600)
    return done.check(), time.monotonic() - began


def traced_run(mpi: Mpi, case: Case, nprocs: int, folder: Path) -> tuple[Finished, float]:
    """The program under the tracer, a.st and logs in the same folder; and its seconds."""
    began = time.monotonic()
    command = [case.program, *case.arguments]
    options = ["--flat-log", folder / "logs"]
    done = record(mpi, nprocs, command, folder / "a.st", options=options, env=SINGLE, timeout=900)
    return done, time.monotonic() - began


def prepared(case: Case, size: int, parent: Path, name: str) -> Path:
    """A fresh folder with the program's input."""
    folder = parent / name
    folder.mkdir()
    case.prepare(folder, size)
    return folder


def one(mpi: Mpi, case: Case, nprocs: int, size: int, parent: Path) -> tuple[list[str], list[str]]:
    """Run a case both ways. Returns what stands in its row, and what went wrong."""
    plain, traced = (prepared(case, size, parent, name) for name in ("plain", "traced"))
    try:
        expected, plain_s = plain_run(mpi, case, nprocs, plain)
        done, traced_s = traced_run(mpi, case, nprocs, traced)
    except TimeoutError:
        return ["time limit", *["-"] * 7], []
    wanted = case.results(expected.stdout, plain)
    if not wanted:
        raise ValueError(f"{case.name}: no results in the output, nothing to compare")
    seconds = [f"{plain_s:.1f}", f"{traced_s:.1f}"]
    if done.returncode != 0 or not (traced / "a.st").exists():
        return [f"status {done.returncode}", *["-"] * 5, *seconds], [f"{case.name}: {done.stderr[-3000:]}"]
    found = case.results(done.stdout, traced)
    problems = list(difflib.unified_diff(wanted, found, "plain", "traced", lineterm=""))
    verdicts = ["differ" if problems else "equal"]
    checked = scalatrace(mpi, "verify", traced / "a.st", traced / "logs", timeout=600)
    verdicts.append("clean" if checked.returncode == 0 else "LOST")
    if checked.returncode != 0:
        problems += [checked.stdout[-2000:], checked.stderr[-2000:]]
    sizes = measure(traced / "a.st", traced / "logs")
    return [
        *verdicts,
        *map(grouped, (sizes.calls, sizes.trace, sizes.log, sizes.gzipped)),
        *seconds,
    ], problems


def bytes_of(mpi: Mpi, case: Case, nprocs: int, sizes: Sequence[int], parent: Path) -> list[str]:
    """The row of a program and a number of ranks: trace bytes for each size, recorded with histograms."""
    row = [case.title, str(nprocs), ", ".join(map(str, sizes))]
    for size in sizes:
        folder = prepared(case, size, parent, str(size))
        command = [case.program, *case.arguments]
        trace = folder / "a.st"
        try:
            record(mpi, nprocs, command, trace, options=HISTOGRAMS, env=SINGLE, timeout=900).check()
            row.append(grouped(trace.stat().st_size))
        except TimeoutError:
            row.append("time limit")
    return row


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--ranks", type=int, nargs="+", help="instead of each program's own choice")
    parser.add_argument(
        "--sizes", type=int, nargs="+", help="likewise: time steps, the order of HPL's matrix"
    )
    parser.add_argument("--histograms", action="store_true", help="sizes with histograms, no logs")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/debian*.md")
    args = parser.parse_args()
    mpi = installed().get("debian-openmpi")
    if mpi is None:
        print("skipped: Debian's Open MPI is not installed (apt install openmpi-bin libopenmpi-dev)")
        return 0
    with tempfile.TemporaryDirectory() as folder:  # the shim is built now, not inside the first measured run
        record(mpi, 1, ["true"], Path(folder, "a.st"), timeout=300)
    chosen = [case for case in CASES if args.only in case.name]
    for case in (case for case in chosen if shutil.which(case.program) is None):
        print(f"skipped: {case.name}, {case.program} is not installed (apt install {case.package})")
    chosen = [case for case in chosen if shutil.which(case.program)]
    return with_histograms(mpi, chosen, args) if args.histograms else lossless(mpi, chosen, args)


def with_histograms(mpi: Mpi, chosen: Sequence[Case], args: argparse.Namespace) -> int:
    """The table of sizes with histograms."""
    rows = []
    for case in chosen:
        for nprocs in args.ranks or case.nprocs:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(bytes_of(mpi, case, nprocs, args.sizes or case.sizes, Path(folder)))
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    title, columns = (
        f"{TITLE}, {' '.join(HISTOGRAMS)}",
        ("program", "ranks", "sizes", *("bytes" for _ in max(rows, key=len, default=[])[3:])),
    )
    show(title, columns, rows)
    if args.keep:
        keep("debian_histograms", title, columns, rows)
    return 0


def lossless(mpi: Mpi, chosen: Sequence[Case], args: argparse.Namespace) -> int:
    """The table of lossless traces beside plain logs."""
    table = ResultTable("debian", TITLE, COLUMNS, 3, args.keep, NOTES)
    problems = []
    for case in chosen:
        for nprocs, size in product(args.ranks or case.nprocs, args.sizes or case.sizes):
            with tempfile.TemporaryDirectory() as folder:
                found, wrong = one(mpi, case, nprocs, size, Path(folder))
            row = [case.title, str(nprocs), str(size), *found]
            print(*row, sep="  ", file=sys.stderr, flush=True)
            table.add(row)
            problems += wrong
    print("\n".join(problems))
    table.show()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
