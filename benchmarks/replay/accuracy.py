"""The time of replays against the program's own (§3.4.2, Figure 5.8).

A replay is compared with the very run that its trace is of: another run of the program takes another time, by
as much as the column *varies* says (from the shortest to the longest of the untraced runs, over the median).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.errors import errors_within
from benchmarks.replay.runs import TARGET_S, app_s, arguments, paced, recorded, replay_s
from support.mpis import Mpi
from support.workloads import Workload

COLUMNS = (
    "program", "ranks", "computation", "steps", "app, s", "varies",
    "lossless, s", "error", "histograms, s", "error",
)  # fmt: skip
LIMITS = {"lossless": 0.05, "histograms": 0.06}


def lines(
    mpi: Mpi,
    chosen: Sequence[Workload],
    ranks: Sequence[int],
    sleep_us: int,
    times: int,
    target_s: float = TARGET_S,
) -> Iterator[list[str]]:
    """Return a line per workload and number of ranks.

    Args:
        sleep_us: shortest sleep in place of a computation; 0: programs really compute.
        target_s: run time of the programs.
    """
    for workload, nprocs, folder in cases(chosen, ranks):
        try:
            yield _line(mpi, workload, nprocs, sleep_us, times, target_s, folder)
        except (AssertionError, TimeoutError) as error:
            reason = f"not run: {str(error).splitlines()[0]}"
            yield [workload.title, str(nprocs), "-", "-", reason, *["-"] * 5]


def _line(
    mpi: Mpi, workload: Workload, nprocs: int, sleep_us: int, times: int, target_s: float, folder: Path
) -> list[str]:
    of_steps = workload.of_steps if sleep_us else workload.of_much_computation
    pace = paced(mpi, of_steps, nprocs, sleep_us, folder, target_s)
    argv = arguments(of_steps(pace.steps), pace.sleep_us)
    compute = ["--compute", "sleep" if sleep_us else "spin"]
    # All in turns, recordings too: a machine's speed drifts, and a trace holds that of one run.
    rounds = [_round(mpi, nprocs, argv, compute, folder) for _ in range(times)]
    apps, exact, drawn = zip(*rounds, strict=True)
    app = statistics.median(apps)
    kind = f"{pace.sleep_us / 1000:.0f} ms asleep" if sleep_us else "real"
    cells = [workload.title, str(nprocs), kind, str(pace.steps), f"{app:.3f}"]
    cells.append(f"{(max(apps) - min(apps)) / app:.1%}")
    for pairs in (exact, drawn):
        error = statistics.median(replay / run - 1 for run, replay in pairs)
        cells += [f"{statistics.median(replay for _, replay in pairs):.3f}", f"{error:+.1%}"]
    return cells


Pair = tuple[float, float]
"""Seconds of the run that was recorded, and of the replay."""


def _round(
    mpi: Mpi, nprocs: int, argv: Sequence[str], compute: Sequence[str], folder: Path
) -> tuple[float, Pair, Pair]:
    """Seconds of the program untraced, and of a lossless trace and one with histograms."""
    app = app_s(mpi, nprocs, argv, folder)
    pairs = []
    for name, options in (("exact.st", ()), ("drawn.st", ("--histograms", "1"))):
        made = recorded(mpi, nprocs, argv, folder / name, options)
        pairs.append((made.run_s, replay_s(mpi, nprocs, made.trace, compute)))
    return app, pairs[0], pairs[1]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether the mean absolute errors keep to the limits."""
    return errors_within(LIMITS, rows, COLUMNS.index("lossless, s") + 1)
