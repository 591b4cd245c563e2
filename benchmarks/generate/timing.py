"""The time of generated benchmarks against the application's (Figures 4.8 and 4.9)."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.errors import errors_within
from benchmarks.generate.programs import LANGUAGES, benchmark
from benchmarks.generate.runs import cells_of, seconds
from benchmarks.replay.runs import app_s, arguments, paced, recorded
from scalatrace import load
from support.mpis import Mpi
from support.workloads import Workload

COLUMNS = (
    "program", "ranks", "asleep, ms", "steps", "app, s",
    "C, s", "error", "Python, s", "error", "coNCePTuaL, s", "error",
)  # fmt: skip
LIMITS = {"c": 0.05, "python": 0.08, "conceptual": 0.06}


def lines(
    mpi: Mpi,
    chosen: Sequence[Workload],
    ranks: Sequence[int],
    sleep_us: int,
    times: int,
    most_s: float,
    languages: Collection[str] = LANGUAGES,
) -> Iterator[list[str]]:
    """A row per workload and number of ranks; computations are asleep for `sleep_us` or more."""
    for workload, nprocs, folder in cases(chosen, ranks):
        yield _line(mpi, workload, nprocs, sleep_us, times, most_s, languages, folder)


def _line(
    mpi: Mpi,
    workload: Workload,
    nprocs: int,
    sleep_us: int,
    times: int,
    most_s: float,
    languages: Collection[str],
    folder: Path,
) -> list[str]:
    head = [workload.title, str(nprocs)]
    try:
        pace = paced(mpi, workload.of_steps, nprocs, sleep_us, folder, most_s)
        argv = arguments(workload.of_steps(pace.steps), pace.sleep_us)
        app = statistics.median(app_s(mpi, nprocs, argv, folder) for _ in range(times))
        trace = load(recorded(mpi, nprocs, argv, folder / "app.st").trace)
    except (AssertionError, TimeoutError) as error:
        return [*head, "-", "-", f"not run: {str(error).splitlines()[0]}", *["-"] * 6]

    def spent(language: str) -> float:
        return seconds(mpi, nprocs, benchmark(trace, language).text, language, folder, times)

    cells = cells_of(languages, app, spent)
    return [*head, f"{pace.sleep_us / 1000:.0f}", str(pace.steps), f"{app:.3f}", *cells]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether the mean absolute errors keep to the limits."""
    return errors_within(LIMITS, rows, COLUMNS.index("app, s") + 2)
