"""Compare the saving that `scalatrace tune` expects with replays of the trace, with and without its rules.

Replays with and without rules take turns, in random order; the saving follows from the ratios of their times,
with its interval of 95 %. They leave out the computation, whose times vary by more than is to be measured.
Where no rules are written, nothing is compared. Ranks are bound to cores, if there are enough cores.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.running import ONE_THREAD, PROGRAMS, not_run
from benchmarks.study import Study, choose, find_mpi, one_table
from benchmarks.table import NO_VALUE, Row
from scalatrace.stats.trimmed_mean import MeanInterval, paired_saving
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun, record

COLUMNS = (
    "program", "ranks", "MPI", "collectives, ms", "rules", "expected saving, ms", "replay, s",
    "measured saving, ms", "replays are faster",
)  # fmt: skip


@dataclass(frozen=True)
class TunedProgram:
    """A program whose collectives differ from those of the others."""

    title: str
    about: str
    source: Path
    arguments: tuple[str, ...]


CASES = (
    TunedProgram(
        "solver", "Allreduce of 16 sums", PROGRAMS / "collectives.py", ("solver", "--steps", "10000")
    ),
    TunedProgram(
        "training", "Allreduce of gradients", PROGRAMS / "collectives.py", ("training", "--steps", "300")
    ),
    TunedProgram("ft", "Alltoall of large blocks", SAMPLES / "npb/ft.py", ("--size", "48", "--steps", "20")),
    TunedProgram(
        "tables", "Bcast, Scatter, Gather", PROGRAMS / "collectives.py", ("tables", "--steps", "2000")
    ),
)


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    mpi = find_mpi(args.mpi)
    for program in choose(CASES, args.only, lambda program: program.title):
        for nprocs in args.ranks:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    yield _row(mpi, program, nprocs, args, Path(folder))
                except (AssertionError, TimeoutError) as error:
                    cells = [NO_VALUE] * (len(COLUMNS) - 4)
                    yield [f"{program.title}: {program.about}", str(nprocs), mpi.name, not_run(error), *cells]


def _row(mpi: Mpi, program: TunedProgram, nprocs: int, args: argparse.Namespace, folder: Path) -> Row:
    argv = [str(mpi.python), str(program.source), *program.arguments]
    trace = folder / "a.st"
    record(mpi, nprocs, argv, trace, env=ONE_THREAD, timeout=300).check()
    words: list[Argument] = ["tune", trace, "-o", folder / "rules", "--seconds", args.tuning_s, "--json"]
    tuning = [*_binding(mpi, nprocs), *mpi.scalatrace(), *words]
    done = mpirun(mpi, nprocs, [*tuning, "--seed", args.seed], cwd=folder, timeout=20 * args.tuning_s + 120)
    facts: dict[str, Any] = json.loads(done.check().stdout)
    name = [
        f"{program.title}: {program.about}",
        str(nprocs),
        facts["mpi"],
        f"{facts['collective_ns'] / 1e6:.2f}",
    ]
    rules = [point for point in facts["points"] if point["rule"]]
    if not rules:
        return [*name, "none", *[NO_VALUE] * 4]
    expected = [facts[key] / 1e6 for key in ("saving_ns", "saving_low_ns", "saving_high_ns")]
    plain, tuned = _replays(mpi, nprocs, trace, facts["environment"], args)
    saving = paired_saving(plain, tuned)
    faster = "yes" if saving.low > 0 else "no" if saving.high < 0 else "not significant"
    measured = _interval(saving)
    cells = [_listed(expected), f"{statistics.median(plain):.3f}", measured, faster]
    return [*name, str(len(rules)), *cells]


def _binding(mpi: Mpi, nprocs: int) -> list[str]:
    """Options of mpiexec that give each rank a core, where there are enough: else two may share one."""
    option = "--bind-to" if mpi.family == "openmpi" else "-bind-to"
    return [option, "core"] if nprocs <= len(os.sched_getaffinity(0)) else []


def _replays(
    mpi: Mpi, nprocs: int, trace: Path, environment: dict[str, str], args: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Return the seconds of replays without and with rules."""
    words: list[Argument] = ["replay", trace, "--compute", "none", "--json"]
    command = [*_binding(mpi, nprocs), *mpi.scalatrace(), *words]
    shuffled = random.Random(args.seed)
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(args.repeat):
        for tuned in shuffled.sample([False, True], 2):
            env = environment if tuned else {}
            done = mpirun(mpi, nprocs, command, env=env, cwd=trace.parent, timeout=300).check()
            times[tuned].append(json.loads(done.stdout)["wall_s"])
    return times[False], times[True]


def _interval(saving: MeanInterval) -> str:
    return _listed([saving.mean * 1e3, saving.low * 1e3, saving.high * 1e3])


def _listed(values: list[float]) -> str:
    mean, low, high = (f"{value:.3g}" for value in values)
    return f"{mean} ({low} to {high})"


STUDIES = (
    Study(
        "tune",
        "the saving that `tune` expects against replays with and without its rules",
        "docs/guide/tune.md",
        one_table("tune", "Rules for the collectives of a program", COLUMNS, _rows, 3),
        {"only": [], "ranks": [2, 4], "repeat": 15, "tuning_s": 30.0, "seed": 0, "mpi": "openmpi"},
        {"only": ["ft"], "ranks": [2], "repeat": 2, "tuning_s": 3.0},
    ),
)
