"""Run coNCePTuaL programs with both engines on the tasks of one mpiexec; print what differs.

    mpiexec -n 4 python -m support.ncptl_engines FOLDER PROGRAM...

Each program's output and log files go to FOLDER/<name>-<engine>.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path

from mpi4py import MPI

from scalatrace.codegen.conceptual.checks.program import check
from scalatrace.codegen.conceptual.run.compiled import PROGRAM
from scalatrace.codegen.conceptual.run.run import run

RANK = MPI.COMM_WORLD.Get_rank()
ENGINES = ("python", "compiled")
OWN_LINES = (
    "coNCePTuaL backend",
    "Microsecond timer type",
    "Average microsecond timer overhead",
    "Log-file template",
    "Log creation time",
    "Log completion time",
    "Elapsed time",
    "Process CPU usage",
    "Peak memory allocation",
)
"""Keys of lines that differ between two runs of a program."""


@contextmanager
def redirected(path: Path) -> Iterator[None]:
    """Write standard output and standard error of this process, also those of C, to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, number in zip(saved, (1, 2), strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(file)


def outcome(source: Path, engine: str, folder: Path) -> tuple[str, ...]:
    """Lines: exit status, output and log file of this rank."""
    base = folder / f"{source.stem}-{engine}-{RANK}"
    program = check(source.read_text(), str(source))
    with redirected(base.with_suffix(".out")):
        status = run(program, str(source), ["-L", f"{folder}/{source.stem}-{engine}-%p.log"], 7, engine)
    log = base.with_suffix(".log")
    lines = log.read_text().splitlines() if log.exists() else []
    kept = [line for line in lines if not line.removeprefix("# ").startswith(OWN_LINES)]
    output = base.with_suffix(".out").read_text().replace(f"-{engine}-", "-").splitlines()
    return f"status {status}", *(line for line in output if PROGRAM.notice not in line), *kept


def main(folder: Path, programs: list[Path]) -> int:
    """Run all programs; 1 when the engines differ."""
    differing = 0
    for source in programs:
        results = [outcome(source, engine, folder) for engine in ENGINES]
        if RANK == 0:
            print(results[0][0], source.stem, flush=True)
        if results[0] != results[1]:
            differing = 1
            lines = unified_diff(*results, *ENGINES, lineterm="", n=0)
            print(f"{source.stem}, rank {RANK}", *lines, sep="\n", flush=True)
    return differing


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]]))
