"""Many seeded replays of traces with histograms for sources, destinations and counts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.replay.runs import arguments, recorded
from support.mpis import Mpi
from support.running import mpirun
from support.workloads import Workload

COLUMNS = ("program", "ranks", "replays", "hung or failed", "differ", "messages", "most time, s")
NPROCS, STEPS = 4, 10
MANY = Path(__file__).with_name("many.py")


def lines(mpi: Mpi, chosen: Sequence[Workload], times: int) -> Iterator[list[str]]:
    """A line per workload."""
    for workload in chosen:
        with tempfile.TemporaryDirectory() as folder:
            argv = arguments(workload.of_steps(STEPS), 0)
            trace = recorded(mpi, NPROCS, argv, Path(folder, "a.st"), ["--histograms", "1"]).trace
            yield _line(mpi, workload, trace, times)


def _line(mpi: Mpi, workload: Workload, trace: Path, times: int) -> list[str]:
    command = [str(mpi.python), MANY, trace, str(times)]
    done = mpirun(mpi, NPROCS, command, cwd=trace.parent, timeout=60 + 5 * times)
    seeds = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    differ = sum(seed["unequal"] > 0 for seed in seeds)
    messages = max((seed["received"] for seed in seeds), default=0)
    most = max((seed["wall_s"] for seed in seeds), default=0.0)
    missing = times - len(seeds)
    return [
        workload.title,
        str(NPROCS),
        str(times),
        str(missing),
        str(differ),
        f"{messages:,}",
        f"{most:.2f}",
    ]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """Whether all replays ended and agreed."""
    good = all(row[3] == row[4] == "0" for row in rows)
    return [f"{'yes' if good else 'NO'}: no replay hangs, fails or differs from its trace"]
