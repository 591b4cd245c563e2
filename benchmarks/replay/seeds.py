"""Many seeded replays of traces with histograms for sources, destinations and counts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.replay.runs import arguments, recorded, replayed
from support.mpis import Mpi
from support.workloads import Workload

COLUMNS = ("program", "ranks", "replays", "hung or failed", "differ", "messages", "most time, s")
NPROCS, STEPS = 4, 10


def lines(mpi: Mpi, chosen: Sequence[Workload], times: int) -> Iterator[list[str]]:
    """A line per workload."""
    for workload in chosen:
        with tempfile.TemporaryDirectory() as folder:
            argv = arguments(workload, STEPS, 0)
            trace = recorded(mpi, NPROCS, argv, Path(folder, "a.st"), ["--histograms", "1"])
            yield _line(mpi, workload, trace, times)


def _line(mpi: Mpi, workload: Workload, trace: Path, times: int) -> list[str]:
    failed = differ = messages = 0
    most = 0.0
    for seed in range(times):
        try:
            options = ["--compute", "none", "--verify", "--seed", str(seed)]
            facts = replayed(mpi, NPROCS, trace, options)
        except (AssertionError, TimeoutError) as error:
            # A replay that differs ends with a status too.
            failed, differ = (failed, differ + 1) if '"unequal"' in str(error) else (failed + 1, differ)
            continue
        messages, most = facts["received"], max(most, facts["wall_s"])
    return [workload.title, str(NPROCS), str(times), str(failed), str(differ), f"{messages:,}", f"{most:.2f}"]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether all replays ended and agreed."""
    good = all(row[3] == row[4] == "0" for row in rows)
    return [f"{'yes' if good else 'NO'}: no replay hangs, fails or differs from its trace"]
