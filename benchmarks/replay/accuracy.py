"""The time of replays against the program's own (§3.4.2, Figure 5.8)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.replay.runs import app_s, arguments, paced, recorded, replay_s
from support.mpis import Mpi
from support.workloads import Workload

COLUMNS = (
    "program", "ranks", "computation", "steps", "app, s",
    "lossless, s", "error", "histograms, s", "error",
)  # fmt: skip
LIMITS = {"lossless": 0.05, "histograms": 0.06}


def lines(
    mpi: Mpi, chosen: Sequence[Workload], ranks: Sequence[int], sleep_us: int, times: int
) -> Iterator[list[str]]:
    """A line per workload and number of ranks; computations asleep for `sleep_us` or more, or real for 0."""
    for workload, nprocs, folder in cases(chosen, ranks):
        yield _line(mpi, workload, nprocs, sleep_us, times, folder)


def _line(mpi: Mpi, workload: Workload, nprocs: int, sleep_us: int, times: int, folder: Path) -> list[str]:
    of_steps = workload.of_steps if sleep_us else workload.of_much_computation
    pace = paced(mpi, of_steps, nprocs, sleep_us, folder)
    argv = arguments(of_steps(pace.steps), pace.sleep_us)
    app = app_s(mpi, nprocs, argv, folder, times)
    exact = recorded(mpi, nprocs, argv, folder / "exact.st")
    drawn = recorded(mpi, nprocs, argv, folder / "drawn.st", ["--histograms", "1"])
    compute = ["--compute", "sleep" if sleep_us else "spin"]
    kind = f"{pace.sleep_us / 1000:.0f} ms asleep" if sleep_us else "real"
    cells = [workload.title, str(nprocs), kind, str(pace.steps), f"{app:.3f}"]
    for trace in (exact, drawn):
        seconds = replay_s(mpi, nprocs, trace, compute, times)
        cells += [f"{seconds:.3f}", f"{(seconds - app) / app:+.1%}"]
    return cells


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether the mean absolute errors keep to the limits, with computations asleep and real ones."""
    found = []
    for real in (False, True):
        some = [row for row in rows if (row[2] == "real") == real]
        for kind, column in (("lossless", 6), ("histograms", 8)) if some else ():
            errors = [abs(float(row[column].rstrip("%")) / 100) for row in some]
            mean, limit = statistics.fmean(errors), LIMITS[kind]
            word = "yes" if mean <= limit else "NO"
            shown = f"{mean:.1%}, at most {limit:.0%} (most {max(errors):.1%})"
            found.append(f"{word}: {kind}, {'real' if real else 'asleep'}: mean absolute error {shown}")
    return found
