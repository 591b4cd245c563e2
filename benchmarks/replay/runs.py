"""Running a workload, its recording and its replays, each in its processes."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import Argument, mpirun, record
from support.workloads import Workload

TIMED = Path(__file__).with_name("timed.py")

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Ranks that share cores have one thread each: with more, a program's time varies by a fifth."""


def arguments(workload: Workload, steps: int, sleep_us: int) -> list[str]:
    """The workload's program and its arguments: with computation asleep, or with much of it for 0."""
    sample = workload.of_steps(steps) if sleep_us else workload.of_much_computation(steps)
    return [str(SAMPLES / sample.source), *sample.arguments, "--sleep-us", str(sleep_us)]


def app_s(mpi: Mpi, nprocs: int, argv: Sequence[str], folder: Path, times: int) -> float:
    """Median seconds of the untraced program."""
    result = folder / "seconds"
    found = []
    for _ in range(times):
        command = [str(mpi.python), TIMED, result, *argv]
        mpirun(mpi, nprocs, command, env=ONE_THREAD, cwd=folder, timeout=300).check()
        found.append(float(result.read_text()))
    return statistics.median(found)


def recorded(mpi: Mpi, nprocs: int, argv: Sequence[str], trace: Path, options: Sequence[str] = ()) -> Path:
    """Record the program, which begins as it does when it is timed."""
    result = trace.with_suffix(".seconds")
    command = [str(mpi.python), str(TIMED), str(result), *argv]
    record(mpi, nprocs, command, trace, options=options, env=ONE_THREAD, timeout=300).check()
    return trace


def replayed(mpi: Mpi, nprocs: int, trace: Path, options: Sequence[Argument]) -> dict[str, Any]:
    """What a replay reports."""
    command = [*mpi.scalatrace(), "replay", trace, "--json", *options]
    done = mpirun(mpi, nprocs, command, cwd=trace.parent, timeout=300)
    facts: dict[str, Any] = json.loads(done.check().stdout)
    return facts


def replay_s(mpi: Mpi, nprocs: int, trace: Path, options: Sequence[Argument], times: int) -> float:
    """Median seconds of its replays."""
    return statistics.median(replayed(mpi, nprocs, trace, options)["wall_s"] for _ in range(times))
