"""Trace Debian's lammps, hpcc and pw.x: same results as untraced, nothing lost, bytes of trace and logs."""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.running import ONE_THREAD, PROGRAMS, measure_sizes
from benchmarks.study import SkippedError, Study, choose
from benchmarks.table import ResultTable, Row, grouped, verdict
from support.mpis import Mpi, installed
from support.running import Finished, mpirun, record, run, scalatrace

MEASURED = re.compile(r"[-+]?\d+\.\d+(e[-+]?\d+)?|\d+(?= errors)", re.IGNORECASE)


@dataclass(frozen=True)
class DebianProgram:
    """A program with its input.

    Attributes:
        program: what must be installed; `package` is Debian's name for it.
        nprocs: ranks to run on.
        sizes: how long it runs, and `unit`, in what: time steps, or the order of HPL's matrix.
        arguments: of the program.
        prepare: puts the input for one of the sizes into the folder where the program will run.
        results: the lines that must be equal with and without tracing, from standard output and that folder.
    """

    name: str
    package: str
    program: str
    nprocs: tuple[int, ...]
    sizes: tuple[int, ...]
    unit: str
    arguments: tuple[str, ...]
    prepare: Callable[[Path, int], None]
    results: Callable[[str, Path], list[str]]

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.name} ({self.unit})"


def _filled(name: str, folder: Path, **values: int) -> None:
    """An input file of this folder, with `@SIZE@` and the like replaced."""
    text = (PROGRAMS / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key.upper()}@", str(value))
    (folder / name).write_text(text)


def _thermodynamics(output: str, _: Path) -> list[str]:
    """LAMMPS: atoms, the table of temperature, energies and pressure, the neighbour lists; no times."""
    wanted = r"Created \d|^\s*Step |^\s+\d+(\s+\S+){5}\s*$|Total # of neighbors|Neighbor list builds"
    return [line.strip() for line in output.splitlines() if re.search(wanted, line)]


def hpcc_input(folder: Path, order: int, rows: int = 2, columns: int = 2) -> None:
    """Write HPCC's input for a matrix of some order on a grid of ranks."""
    _filled("hpccinf.txt", folder, size=order, rows=rows, columns=columns)


def _hpcc_checks(_: str, folder: Path) -> list[str]:
    """HPCC: every verdict in its output file, and the sizes in its summary.

    No results are rates, times and dates, what comes from a seed by the clock (residuals, DGEMM_N), and
    how many updates RandomAccess lost to its races (it passes below 1 %).
    """
    lines = (folder / "hpccoutf.txt").read_text().splitlines()
    verdicts = [line for line in lines if re.search(r"PASSED|FAILED|Found|completed and passed", line)]
    sizes = [line for line in lines if re.match(r"(Success|(?!DGEMM).*_[nN]|.*_nb)=", line)]
    return [" ".join(MEASURED.sub("#", line).split()) for line in verdicts + sizes]


def _silicon(folder: Path, steps: int) -> None:
    """Silicon's pseudopotential is computed on the spot, by the package's own program for atoms."""
    _filled("si.md.in", folder, size=steps)
    shutil.copy(PROGRAMS / "si.ld1.in", folder)
    run(["ld1.x", "-in", "si.ld1.in"], cwd=folder).check()
    if not (folder / "Si.UPF").exists():
        raise OSError("ld1.x wrote no pseudopotential")


def _energies(output: str, _: Path) -> list[str]:
    """Quantum ESPRESSO: everything but times, dates and memory."""
    clock = re.compile(r"\bWALL\b|\bCPU\b|cpu time|starts on|RAM|This run was terminated on")
    return [line.rstrip() for line in output.splitlines() if not clock.search(line)]


_LAMMPS_ARGUMENTS = ("-in", "melt.in", "-log", "none")
_PW_ARGUMENTS = ("-in", "si.md.in")
RANKS = (4, 8, 16)
CASES = (
    DebianProgram(
        "lammps, LJ melt", "lammps", "lmp", RANKS, (100, 1000, 5000), "steps",
        _LAMMPS_ARGUMENTS, partial(_filled, "melt.in"), _thermodynamics,
    ),
    DebianProgram("hpcc", "hpcc", "hpcc", RANKS, (192, 384, 768), "order", (), hpcc_input, _hpcc_checks),
    DebianProgram(
        "pw.x, silicon", "quantum-espresso", "pw.x", RANKS, (2, 6, 18), "MD steps",
        _PW_ARGUMENTS, _silicon, _energies,
    ),
)  # fmt: skip


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


def plain_run(mpi: Mpi, case: DebianProgram, nprocs: int, folder: Path) -> tuple[Finished, float]:
    """The program as it is; and its seconds."""
    began = time.monotonic()
    done = mpirun(mpi, nprocs, [case.program, *case.arguments], env=ONE_THREAD, cwd=folder, timeout=600)
    return done.check(), time.monotonic() - began


def traced_run(mpi: Mpi, case: DebianProgram, nprocs: int, folder: Path) -> tuple[Finished, float]:
    """The program under the tracer, a.st and logs in the same folder; and its seconds."""
    began = time.monotonic()
    command = [case.program, *case.arguments]
    options = ["--flat-log", folder / "logs"]
    done = record(mpi, nprocs, command, folder / "a.st", options=options, env=ONE_THREAD, timeout=900)
    return done, time.monotonic() - began


def prepared(case: DebianProgram, size: int, parent: Path, name: str) -> Path:
    """A fresh folder with the program's input."""
    folder = parent / name
    folder.mkdir()
    case.prepare(folder, size)
    return folder


def _measured(mpi: Mpi, case: DebianProgram, nprocs: int, size: int, parent: Path) -> tuple[Row, list[str]]:
    """Run a program both ways; return the cells of its row, and what went wrong."""
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
    for case in choose(CASES, args.only, lambda case: case.name):
        if shutil.which(case.program) is None:
            print(f"skipped: {case.name}, {case.program} is not installed (apt install {case.package})")
            continue
        for nprocs, size in product(args.ranks or case.nprocs, args.sizes or case.sizes):
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
        "lammps, hpcc and pw.x from Debian, traced and not, three lengths on 4, 8, 16 ranks",
        "README.md",
        _tables,
        {"only": [], "ranks": [], "sizes": []},
        {"only": ["lammps"], "ranks": [4], "sizes": [100]},
    ),
)
