"""Running a workload, its recording and its replays, each in its processes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from support.mpis import Mpi
from support.programs import SAMPLES, Sample
from support.running import Argument, mpirun, record

TARGET_S = 2.0
"""How long the programs are to run."""

ASLEEP = 0.9
"""The part of it that is computation."""

MAX_STEPS = 20_000
TRIAL_STEPS = 3

TIMED = Path(__file__).with_name("timed.py")

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Ranks that share cores have one thread each: with more, a program's time varies by a fifth."""


def arguments(sample: Sample, sleep_us: int | str) -> list[str]:
    """A workload's program and its arguments; its computations sleep for so many microseconds each."""
    return [str(SAMPLES / sample.source), *sample.arguments, "--sleep-us", str(sleep_us)]


def equal_arguments(sample: Sample, sleep_us: int) -> tuple[list[str], dict[str, str]]:
    """The same with an environment that has the time: runs of different times have the same arguments."""
    return arguments(sample, "$SLEEP_US"), {"SLEEP_US": str(sleep_us)}


def app_s(
    mpi: Mpi, nprocs: int, argv: Sequence[str], folder: Path, env: Mapping[str, str] = NO_VARIABLES
) -> float:
    """Seconds of the untraced program."""
    result = folder / "seconds"
    command = [str(mpi.python), TIMED, result, *argv]
    mpirun(mpi, nprocs, command, env=ONE_THREAD | dict(env), cwd=folder, timeout=300).check()
    return float(result.read_text())


@dataclass(frozen=True)
class Pacing:
    """Limits for the pace of a program at its largest number of ranks; `paced` explains them.

    Attributes:
        few_ranks: trial runs have the fewest ranks on which the program runs anyway.
    """

    sleep_us: int
    target_s: float = TARGET_S
    longest_s: float = math.inf
    few_ranks: bool = False

    def paced(self, mpi: Mpi, of_steps: Callable[[int], Sample], ranks: Sequence[int], folder: Path) -> Pace:
        """Return the pace for the largest of the numbers of ranks."""
        trial_ranks = min(ranks) if self.few_ranks else 0
        return paced(
            mpi, of_steps, max(ranks), self.sleep_us, folder, self.target_s, self.longest_s, trial_ranks
        )


@dataclass(frozen=True)
class Pace:
    """Steps of a run that lasts long enough, and microseconds asleep in each of its computations."""

    steps: int
    sleep_us: int


def paced(
    mpi: Mpi,
    of_steps: Callable[[int], Sample],
    nprocs: int,
    sleep_us: int,
    folder: Path,
    target_s: float = TARGET_S,
    longest_s: float = math.inf,
    trial_ranks: int = 0,
) -> Pace:
    """How to run a workload so that it computes nine tenths of its time, tried with a few steps.

    Args:
        of_steps: the workload's sample with so many time steps.
        sleep_us: the least that a computation sleeps; 0: it really computes.
        longest_s: limit of the run time with the fewest steps. Where nine tenths of the time exceed it,
            computations sleep less, but `sleep_us` at least.
        trial_ranks: ranks of the trial runs, if they are fewer than `nprocs`. The time without sleep then
            counts as proportional to the ranks, which share the cores.
    """
    asleep = sleep_us
    trial_ranks = trial_ranks if sleep_us and trial_ranks else nprocs
    sample = of_steps(TRIAL_STEPS)
    trial = app_s(mpi, trial_ranks, arguments(sample, asleep), folder)
    if sleep_us:
        bare = app_s(mpi, trial_ranks, arguments(sample, 0), folder)
        slept = max(trial - bare, trial / 10)
        bare *= nprocs / trial_ranks
        factor = max(1.0, min(ASLEEP / (1 - ASLEEP) * bare, longest_s - bare) / slept)
        asleep = round(sleep_us * factor, -4)
        trial = slept * factor + bare
    steps = _scaled(TRIAL_STEPS, trial, target_s)
    if not sleep_us:  # the first steps may be slow ones
        again = app_s(mpi, nprocs, arguments(of_steps(steps), 0), folder)
        steps = _scaled(steps, again, target_s)
    return Pace(steps, asleep)


def _scaled(steps: int, seconds: float, target_s: float) -> int:
    return min(MAX_STEPS, max(TRIAL_STEPS, round(steps * target_s / seconds)))


@dataclass(frozen=True)
class Recording:
    """A trace, and the seconds that the run which it is of took."""

    trace: Path
    run_s: float


def recorded(
    mpi: Mpi,
    nprocs: int,
    argv: Sequence[str],
    trace: Path,
    options: Sequence[str] = (),
    env: Mapping[str, str] = NO_VARIABLES,
) -> Recording:
    """Record the program, which begins as it does when it is timed."""
    result = trace.with_suffix(".seconds")
    command = [str(mpi.python), str(TIMED), str(result), *argv]
    record(mpi, nprocs, command, trace, options=options, env=ONE_THREAD | dict(env), timeout=300).check()
    return Recording(trace, float(result.read_text()))


def replayed(mpi: Mpi, nprocs: int, trace: Path, options: Sequence[Argument]) -> dict[str, Any]:
    """What a replay reports."""
    command = [*mpi.scalatrace(), "replay", trace, "--json", *options]
    done = mpirun(mpi, nprocs, command, cwd=trace.parent, timeout=300)
    facts: dict[str, Any] = json.loads(done.check().stdout)
    return facts


def replay_s(mpi: Mpi, nprocs: int, trace: Path, options: Sequence[Argument]) -> float:
    """Seconds of a replay."""
    return float(replayed(mpi, nprocs, trace, options)["wall_s"])
