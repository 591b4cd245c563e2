"""Measure the dissertation's figures and write them beside its numbers, on RESULTS.md.

After each study its CSV file and plots are written, and the page anew. An interrupted run keeps complete
studies. `--render` writes page and plots again, from the stored rows.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from benchmarks.reproduction.figure import FigureStudy, NamedRow
from benchmarks.reproduction.generated import COLLECTIVES, COMPUTATION, SCALABLE, TIMING
from benchmarks.reproduction.page import COMPARED, compared, render
from benchmarks.reproduction.real.figures import REAL_STUDIES
from benchmarks.reproduction.real.suites import NO_SOURCES, Lulesh, Npb, find_fortran_mpi
from benchmarks.reproduction.real.workshop import Workshop
from benchmarks.reproduction.replays import REPLAYS, STRONG, WEAK
from benchmarks.reproduction.settings import FULL, QUICK, Settings
from benchmarks.reproduction.sizes import SIZES
from benchmarks.reproduction.store import Results, StudyRun
from benchmarks.running import Busy
from benchmarks.study import Study, find_mpi
from benchmarks.table import printed, show
from scalatrace import __version__
from scalatrace.errors import ScalatraceError
from scalatrace.report.curves import check_plot
from support.mpis import Mpi


def facts(mpi: Mpi) -> dict[str, str]:
    """Return cores, system, processor, MPI, Python and version of this package."""
    shown = subprocess.run([mpi.mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "MPI": (shown.splitlines() or [mpi.family])[0],
        "Python": platform.python_version(),
        "scalatrace": __version__,
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


INTERRUPTED = 130
"""Exit status of a run that was interrupted."""


STAND_IN_STUDIES = (SIZES, STRONG, WEAK, REPLAYS, TIMING, SCALABLE, COMPUTATION, COLLECTIVES)
"""In the order in which they are measured."""

FIGURE_STUDIES = (*STAND_IN_STUDIES, *REAL_STUDIES)

FOLDER = Path(__file__).resolve().parents[1]


def measure(results: Results, mpi: Mpi, chosen: Sequence[FigureStudy], settings: Settings) -> int:
    """Measure studies one after the other; return the exit status.

    A study that fails (status 1) or is interrupted (INTERRUPTED) keeps its earlier results. The other
    studies are measured in spite of a failure.
    """
    machine, failed = facts(mpi), []
    for study in chosen:
        print(f"\n{study.name}: {', '.join(study.columns)}", flush=True)
        try:
            _measure(results, mpi, study, settings, machine)
        except KeyboardInterrupt:
            print(f"interrupted during {study.name}; studies before it are kept", file=sys.stderr)
            return INTERRUPTED
        except Exception:
            traceback.print_exc()
            failed.append(study.name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def _measure(
    results: Results, mpi: Mpi, study: FigureStudy, settings: Settings, machine: dict[str, str]
) -> None:
    clock, today = Busy(), date.today().isoformat()
    at_once = bool(study.nkeys) and (study.real or bool(settings.only))
    stored = results.load(study) if at_once else None
    kept = {study.key(row): row for row in stored[0]} if stored else {}
    measured: dict[tuple[str, ...], NamedRow] = {}

    def save() -> None:
        others = max(clock.others(), stored[1].others) if stored and settings.only else clock.others()
        run = StudyRun(today, settings.name, clock.elapsed_s, others, machine)
        results.save(study, list(kept.values()), run)

    for cells in printed(study.measure(mpi, settings)):
        row = study.row(cells)
        measured[study.key(row) if study.nkeys else (str(len(measured)),)] = row
        if at_once:
            kept |= measured
            save()
            render(results, [])
    if not measured and at_once:
        return
    if not (at_once and settings.only):
        kept = measured
    save()
    rows = list(kept.values())
    render(results, [study])
    for figure in study.figures:
        if mine := figure.rows(rows):
            show(f"{figure.heading}: {figure.title}", COMPARED, compared(figure, mine))


def _run(args: argparse.Namespace) -> int:
    """Measure the chosen figures, or only render the page."""
    results = Results(args.output, FIGURE_STUDIES)
    numbers = [figure.number for study in FIGURE_STUDIES for figure in study.figures]
    if unknown := [number for number in args.only if number not in numbers]:
        print(f"no figure {', '.join(unknown)}; there are {', '.join(numbers)}", file=sys.stderr)
        return 2
    suites = {"NPB": (Npb, args.npb), "LULESH": (Lulesh, args.lulesh)}
    try:
        check_plot(Path("any.svg"))
        given = {name: kind(folder) for name, (kind, folder) in suites.items() if folder is not None}
        if args.render:
            render(results, FIGURE_STUDIES)
            return 0
        if not given:
            print(NO_SOURCES)
            settings = replace(QUICK if args.quick else FULL, only=args.programs)
            return measure(results, find_mpi(), _choose(STAND_IN_STUDIES, args.only), settings)
        with tempfile.TemporaryDirectory() as name:
            mpi = find_fortran_mpi(Path(name)) if "NPB" in given else find_mpi(python=False)
            workshop = Workshop(mpi, given, Path(name), args.limit, args.programs)
            settings = replace(FULL, name="real", only=args.programs, workshop=workshop)
            return measure(results, mpi, _choose(REAL_STUDIES, args.only), settings)
    except ScalatraceError as error:
        print(error, file=sys.stderr)
        return error.exit_status


def _choose(studies: Sequence[FigureStudy], only: Sequence[str]) -> list[FigureStudy]:
    return [s for s in studies if not only or any(figure.number in only for figure in s.figures)]


STUDIES = (
    Study(
        "reproduction",
        "the dissertation's figures beside its numbers: trace sizes, replays, extrapolation, benchmarks",
        "benchmarks/RESULTS.md, Makefile (bench), README.md",
        _run,
        {
            "only": [],
            "npb": Path,
            "lulesh": Path,
            "programs": [],
            "limit": 240.0,
            "render": False,
            "output": FOLDER,
        },
    ),
)
