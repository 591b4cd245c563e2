"""End programs in all ways: count the messages and recovered calls, and compare the exit status.

python -m benchmarks.endings [--mpi openmpi mpich] [--only SIG] [--keep]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.endings.cases import EVENTS, NPROCS, Case, Programs, cases, folder_of
from benchmarks.endings.outcome import Outcome, outcome
from benchmarks.table import keep, kept, show
from scalatrace.record.shim_cache import shim_of
from support.mpis import Mpi, installed

TITLE = f"Endings of a program with {EVENTS} events on each of {NPROCS} ranks"
COLUMNS = ("ending", "MPI", "status without, with the tracer", "recovered", "lines of the tracer", "holds")
NOTES = (
    "Rank 1 ends in this way. An older trace stands in the place of the new one at first.",
    "Events of parts are those of the trace that `scalatrace merge` makes of them.",
)


def measure(mpi: Mpi, case: Case, programs: Programs, old: Path | None) -> Outcome | None:
    """Run a case; None where it cannot be run here."""
    command = programs.command(case)
    if command is None:
        return None
    shim_of(command)  # built before the time limit of the run begins
    with tempfile.TemporaryDirectory() as made, folder_of(case, Path(made)) as folder:
        return None if folder is None else outcome(mpi, case, command, folder, old)


def old_trace(mpi: Mpi, programs: Programs, folder: Path) -> Path:
    """Record a trace for the place of later ones."""
    case = Case("old", arguments=("fork",), whole=True)
    command = programs.command(case)
    assert command is not None, f"{mpi.mpicc} compiles nothing"
    shim_of(command)
    result = outcome(mpi, case, command, folder, None)
    assert not result.problems, result.problems
    return folder / "a.st"


def row(mpi: Mpi, case: Case, result: Outcome) -> list[str]:
    """The table's line of a case."""
    status = "same" if result.plain == result.status else "other"
    return [
        case.name,
        mpi.name,
        f"{result.plain}, {result.status} ({status})",
        result.recovered,
        "; ".join(result.lines).replace("|", "/") or "none",
        "; ".join(result.problems) or "yes",
    ]


def rows_of(mpi: Mpi, only: str) -> list[list[str]]:
    """The lines of an MPI."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(mpi, Path(folder))
        (Path(folder) / "old").mkdir()
        old = old_trace(mpi, programs, Path(folder) / "old")
        for case in (case for case in cases(mpi) if only in case.name):
            result = measure(mpi, case, programs, old)
            rows.append(
                [case.name, mpi.name, "-", "-", "-", "skipped"] if result is None else row(mpi, case, result)
            )
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return rows


def with_kept(rows: list[list[str]]) -> list[list[str]]:
    """The rows of the kept table with new ones in their place, and further ones."""
    new = {(cells[0], cells[1]): cells for cells in rows}
    old = [new.pop((cells[0], cells[1]), cells) for cells in kept("endings", COLUMNS)]
    return [*old, *new.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--mpi", nargs="*", default=["openmpi", "mpich"], help="MPIs (openmpi mpich)")
    parser.add_argument("--only", default="", help="endings whose name contains this")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/endings.md")
    args = parser.parse_args()
    rows = []
    for name in args.mpi:
        if name in installed():
            rows += rows_of(installed()[name], args.only)
        else:
            print(f"skipped: no {name} here")
    show(TITLE, COLUMNS, rows)
    if args.keep:
        keep("endings", TITLE, COLUMNS, with_kept(rows), *NOTES)
    return 0 if all(cells[-1] in ("yes", "skipped") for cells in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
