"""Compare the saving that `scalatrace tune` expects with replays of the trace, with and without its rules.

Replays with and without rules take turns, in random order; the saving is the trimmed mean of the differences,
with its interval of 95 %. So is the expected one. Where no rules are written, nothing is compared.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.running import ONE_THREAD, PROGRAMS, not_run
from benchmarks.study import Study, choose, find_mpi, one_table
from benchmarks.table import NO_VALUE, Row
from scalatrace.stats.trimmed_mean import MeanInterval, trimmed_mean
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun, record

COLUMNS = (
    "program", "ranks", "MPI", "collectives, ms", "rules", "expected saving, ms", "replay, s",
    "measured saving, ms", "agree",
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
        "training", "Allreduce of gradients", PROGRAMS / "collectives.py", ("training", "--steps", "400")
    ),
    TunedProgram("ft", "Alltoall of large blocks", SAMPLES / "npb/ft.py", ("--size", "48", "--steps", "40")),
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
    tuning = [*mpi.scalatrace(), "tune", trace, "-o", folder / "rules", "--seconds", args.tuning_s, "--json"]
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
    saving = trimmed_mean([a - b for a, b in zip(plain, tuned, strict=True)])
    overlap = saving.high * 1e3 >= expected[1] and saving.low * 1e3 <= expected[2]
    measured = _interval(saving)
    cells = [_listed(expected), f"{trimmed_mean(plain).mean:.3f}", measured, "yes" if overlap else "no"]
    return [*name, str(len(rules)), *cells]


def _replays(
    mpi: Mpi, nprocs: int, trace: Path, environment: dict[str, str], args: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Return the seconds of replays without and with rules."""
    command = [*mpi.scalatrace(), "replay", trace, "--json"]
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
        {"only": [], "ranks": [2, 4], "repeat": 10, "tuning_s": 40.0, "seed": 0, "mpi": "openmpi"},
        {"only": ["ft"], "ranks": [2], "repeat": 2, "tuning_s": 3.0},
    ),
)
