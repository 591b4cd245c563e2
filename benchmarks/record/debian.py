"""Trace ten programs of Debian: same results as untraced, nothing lost, bytes of trace and logs, CPU time."""

from __future__ import annotations

import argparse
import difflib
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from benchmarks.running import ONE_THREAD, children_cpu_s, measure_sizes
from benchmarks.study import SkippedError, Study, choose
from benchmarks.table import ResultTable, Row, grouped, verdict
from support.applications import APPLICATIONS, RANKS, Application
from support.mpis import Mpi, installed
from support.running import Finished, mpirun, record, scalatrace

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
    "CPU s plain",
    "CPU s traced",
)


def plain_run(mpi: Mpi, case: Application, nprocs: int, size: int, folder: Path) -> tuple[Finished, float]:
    """Run the program as it is; return also its CPU seconds."""
    before_s = children_cpu_s()
    done = mpirun(mpi, nprocs, case.argv(size), env=ONE_THREAD, cwd=folder, timeout=600)
    return done.check(), children_cpu_s() - before_s


def traced_run(
    mpi: Mpi, case: Application, nprocs: int, size: int, folder: Path, options: Sequence[str] = ()
) -> tuple[Finished, float]:
    """Run the program under the tracer, a.st in its folder; return also CPU seconds, the merge included."""
    before_s = children_cpu_s()
    done = record(mpi, nprocs, case.argv(size), folder / "a.st", options=options, env=ONE_THREAD, timeout=900)
    return done, children_cpu_s() - before_s


def prepared(case: Application, size: int, parent: Path, name: str) -> Path:
    """A fresh folder with the program's input."""
    folder = parent / name
    folder.mkdir()
    case.prepare(folder, size)
    return folder


def _measured(mpi: Mpi, case: Application, nprocs: int, size: int, parent: Path) -> tuple[Row, list[str]]:
    """Run a program plain, traced, and traced with logs; return the cells of its row, and what went wrong."""
    plain, timed, traced = (prepared(case, size, parent, name) for name in ("plain", "timed", "traced"))
    try:
        expected, plain_s = plain_run(mpi, case, nprocs, size, plain)
        _, traced_s = traced_run(mpi, case, nprocs, size, timed)
        done, _ = traced_run(mpi, case, nprocs, size, traced, ["--flat-log", "logs"])
    except TimeoutError:
        return ["time limit", *["-"] * 7], []
    wanted = case.results(expected.stdout, plain)
    if not wanted:
        raise ValueError(f"{case.name}: no results in the output, nothing to compare")
    seconds = [f"{plain_s:.1f}", f"{traced_s:.1f}"]
    if done.returncode != 0 or not (traced / "a.st").exists():
        return [f"status {done.returncode}", *["-"] * 5, *seconds], [done.stderr[-3000:]]
    found = case.results(done.stdout, traced)
    problems = list(difflib.unified_diff(wanted, found, "plain", "traced", lineterm=""))
    cells = ["differ" if problems else "equal"]
    checked = scalatrace(mpi, "verify", traced / "a.st", traced / "logs", timeout=600)
    cells.append("clean" if checked.returncode == 0 else "LOST")
    if checked.returncode != 0:
        problems += [checked.stdout[-2000:], checked.stderr[-2000:]]
    sizes = measure_sizes(traced / "a.st", traced / "logs")
    numbers = map(grouped, (sizes.calls, sizes.trace, sizes.log, sizes.gzipped))
    return [*cells, *numbers, *seconds], problems


def _rows(mpi: Mpi, args: argparse.Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:  # the shim is built now, not inside the first measured run
        record(mpi, 1, ["true"], Path(folder, "a.st"), timeout=300)
    for case in choose(APPLICATIONS, args.only, lambda case: case.name):
        if missing := case.missing:
            print(f"skipped: {case.name}, no {missing[0]} (apt install {case.package})")
            continue
        for nprocs, size in product(
            sorted(set(args.ranks or RANKS) & set(case.nprocs)), args.sizes or case.sizes
        ):
            with tempfile.TemporaryDirectory() as folder:
                cells, wrong = _measured(mpi, case, nprocs, size, Path(folder))
            print(*wrong, sep="\n")
            yield [case.title, str(nprocs), str(size), *cells]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    wrong = [", ".join(row[:3]) for row in rows if row[3:5] not in (["equal", "clean"], ["time limit", "-"])]
    return [verdict(not wrong, "; ".join(["equal results, lossless traces", *wrong]))]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi = installed().get("debian-openmpi")
    if mpi is None:
        raise SkippedError("Debian's Open MPI is not installed (apt install openmpi-bin libopenmpi-dev)")
    title = "Programs from Debian's packages, Debian's Open MPI"
    notes = ("Calls, trace and logs are those of all ranks; sizes in bytes.",)
    yield ResultTable("debian", title, COLUMNS, _rows(mpi, args), 3, notes, _verdicts)


STUDIES = (
    Study(
        "debian",
        "ten programs of Debian, traced and not, three lengths on 4, 8, 16 ranks",
        "README.md",
        _tables,
        {"only": [], "ranks": [], "sizes": []},
        {"only": ["lammps"], "ranks": [4], "sizes": [100]},
    ),
)
