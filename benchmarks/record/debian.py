"""Trace public programs, ten of Debian and irregular ones: equal results, nothing lost, costs, bytes."""

from __future__ import annotations

import argparse
import difflib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path

from benchmarks.running import ONE_THREAD, Busy, compile_c, measure_sizes
from benchmarks.study import SkippedError, Study, choose
from benchmarks.table import NO_VALUE, ResultTable, Row, grouped, verdict
from support.applications import APPLICATIONS, IRREGULAR, RANKS, Application
from support.mpis import Mpi, installed
from support.running import Argument, Finished, mpirun, record, scalatrace

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
    "ns per call",
    "MB plain",
    "MB traced",
    "others",
    "measured",
)
NOTES = (
    "Calls, trace and logs are those of all ranks; sizes in bytes. *log.gz*: gzip of the flat logs.",
    "CPU seconds are those of all ranks with the merge of their traces, without launchers.",
    "*ns per call*: CPU time of the traced run over the plain one's. In short runs it has the start-up,",
    "with more ranks than cores the waits of ranks, which poll: it can be negative.",
    "MB: largest peak of resident memory of a rank.",
    "*others*: CPU time of other processes during the runs, of all cores. It makes CPU times too large.",
)
NOT_MEASURED = (NO_VALUE,) * (len(COLUMNS) - 6)
"""Cells of a row that has only a reason in the column of results."""

LIMIT_S = 240
"""Seconds of a plain run; a traced one may take twice as many."""


@dataclass(frozen=True)
class RankUse:
    """What the ranks of a run used: CPU seconds of all, and the largest peak of resident memory in MB."""

    cpu_s: float
    peak_mb: float


class Ranks:
    """Starts each rank by `programs/peak.c`, which notes what it used.

    Args:
        folder: of the compiled starter and of its notes.
    """

    def __init__(self, mpi: Mpi, folder: Path) -> None:
        self.mpi, self._notes = mpi, folder / "peaks"
        self._starter = compile_c(mpi, "peak.c", folder / "peak")

    def plain(self, case: Application, nprocs: int, size: int, folder: Path) -> tuple[Finished, RankUse]:
        """Run the program as it is."""
        command, env = self._started(case, size)
        done = mpirun(self.mpi, nprocs, command, env=env, cwd=folder, timeout=LIMIT_S)
        return done, self._used()

    def traced(
        self, case: Application, nprocs: int, size: int, folder: Path, options: Sequence[str] = ()
    ) -> tuple[Finished, RankUse]:
        """Run the program under the tracer, with the trace a.st in its folder."""
        command, env = self._started(case, size)
        trace = folder / "a.st"
        done = record(self.mpi, nprocs, command, trace, options=options, env=env, timeout=2 * LIMIT_S)
        return done, self._used()

    def _started(self, case: Application, size: int) -> tuple[list[Argument], Mapping[str, str]]:
        """Return the command and the environment of a run, without notes of an earlier one."""
        self._notes.unlink(missing_ok=True)
        return [self._starter, *case.argv(size)], ONE_THREAD | {"PEAK_FILE": str(self._notes)}

    def _used(self) -> RankUse:
        lines = [line.split() for line in self._notes.read_text().splitlines()]
        return RankUse(sum(int(us) for _, us in lines) / 1e6, max(int(kib) for kib, _ in lines) / 1024)


def _prepared(case: Application, size: int, parent: Path, name: str) -> Path:
    """A fresh folder with the program's input."""
    folder = parent / name
    folder.mkdir()
    case.prepare(folder, size)
    return folder


def _measured(
    ranks: Ranks, case: Application, nprocs: int, size: int, parent: Path
) -> tuple[list[str], list[str]]:
    """Run a program plain, traced, and traced with logs; return the cells of its row, and what went wrong."""
    plain, timed, traced = (_prepared(case, size, parent, name) for name in ("plain", "timed", "traced"))
    try:
        expected, before = ranks.plain(case, nprocs, size, plain)
        _, after = ranks.traced(case, nprocs, size, timed)
        done, _ = ranks.traced(case, nprocs, size, traced, ["--flat-log", "logs"])
    except TimeoutError:
        return ["time limit", *NOT_MEASURED], []
    if expected.returncode != 0:
        return [f"plain: status {expected.returncode}", *NOT_MEASURED], [expected.stderr[-3000:]]
    wanted = case.results(expected.stdout, plain)
    if not wanted:
        raise ValueError(f"{case.name}: no results in the output, nothing to compare")
    if done.returncode != 0 or not (traced / "a.st").exists():
        return [f"status {done.returncode}", *NOT_MEASURED], [done.stderr[-3000:]]
    found = case.results(done.stdout, traced)
    problems = list(difflib.unified_diff(wanted, found, "plain", "traced", lineterm=""))
    cells = ["differ" if problems else "equal"]
    checked = scalatrace(ranks.mpi, "verify", traced / "a.st", traced / "logs", timeout=600)
    cells.append("clean" if checked.returncode == 0 else "LOST")
    if checked.returncode != 0:
        problems += [checked.stdout[-2000:], checked.stderr[-2000:]]
    sizes = measure_sizes(traced / "a.st", traced / "logs")
    cells += map(grouped, (sizes.calls, sizes.trace, sizes.log, sizes.gzipped))
    added_ns = (after.cpu_s - before.cpu_s) * 1e9 / sizes.calls
    cells += [f"{before.cpu_s:.1f}", f"{after.cpu_s:.1f}", grouped(added_ns)]
    return [*cells, f"{before.peak_mb:.0f}", f"{after.peak_mb:.0f}"], problems


def _rows(mpi: Mpi, cases: Sequence[Application], args: argparse.Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(mpi, 1, ["true"], folder / "a.st", timeout=300)  # else the first run would compile the shim
        ranks = Ranks(mpi, folder)
        for case in choose(cases, args.only, lambda case: case.name):
            chosen = set(args.ranks or RANKS) & set(case.nprocs)
            for nprocs, size in product(sorted(chosen), args.sizes or case.sizes):
                cells, others = [f"not installed: {case.hint}", *NOT_MEASURED], NO_VALUE
                if not case.missing:
                    clock = Busy()
                    with tempfile.TemporaryDirectory() as parent:
                        cells, wrong = _measured(ranks, case, nprocs, size, Path(parent))
                    others = f"{clock.others():.0%}"
                    print(*wrong, sep="\n")
                yield [case.title, str(nprocs), str(size), *cells, others, date.today().isoformat()]


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """Return whether programs that are installed and ended in time have equal results and clean traces."""
    excused = ("time limit", "not installed")
    wrong = [row for row in rows if row[3:5] != ["equal", "clean"] and not row[3].startswith(excused)]
    return [
        verdict(not wrong, "; ".join(["equal results, lossless traces", *(", ".join(w[:3]) for w in wrong)]))
    ]


def _tables(args: argparse.Namespace) -> Iterator[ResultTable]:
    mpi = installed().get("debian-openmpi")
    if mpi is None:
        raise SkippedError("Debian's Open MPI is not installed (apt install openmpi-bin libopenmpi-dev)")
    for name, title, cases in (
        ("debian", "Programs from Debian's packages, Debian's Open MPI", APPLICATIONS),
        ("irregular", "Programs whose calls follow data, Debian's Open MPI", IRREGULAR),
    ):
        if choose(cases, args.only, lambda case: case.name):
            yield ResultTable(name, title, COLUMNS, _rows(mpi, cases, args), 3, NOTES, _verdicts)


STUDIES = (
    Study(
        "debian",
        "ten programs of Debian on 4, 8, 16 ranks with three lengths, and irregular ones on 4 ranks",
        "README.md, docs/guide/record.md",
        _tables,
        {"only": [], "ranks": [], "sizes": []},
        {"only": ["lammps"], "ranks": [4], "sizes": [100]},
    ),
)
