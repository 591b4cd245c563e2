"""Events per second of replays without computation between two ranks, and the engine's part in it."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.replay.runs import app_s, recorded, replayed
from support.mpis import Mpi

COLUMNS = (
    "messages", "computation, us", "events per rank", "program, events/s", "replay, events/s",
    "engine, us", "not hidden, us", "in MPI, us",
)  # fmt: skip
LIMIT = 150_000
PAIR = Path(__file__).with_name("pair.py")
MESSAGES = 50_000
COMPUTATIONS_US = (0, 20, 100)
MOST_LATE_US = 1
"""What is not hidden in computations of 20 us or more: a look at the clock, the interrupts of a machine."""


def lines(mpi: Mpi, times: int) -> Iterator[list[str]]:
    """A line per pattern, without and with computation before each call."""
    for pattern in ("pingpong", "stream", "exchange"):
        for compute_us in COMPUTATIONS_US:
            with tempfile.TemporaryDirectory() as folder:
                yield _line(mpi, times, pattern, compute_us, Path(folder))


def _line(mpi: Mpi, times: int, pattern: str, compute_us: int, folder: Path) -> list[str]:
    argv = [str(PAIR), pattern, str(MESSAGES), "--compute-us", str(compute_us)]
    trace = recorded(mpi, 2, argv, folder / "a.st", ["--stacks", "none"]).trace
    app = statistics.median(app_s(mpi, 2, argv, folder) for _ in range(times))
    compute = ["--compute", "spin" if compute_us else "none"]
    runs = [replayed(mpi, 2, trace, compute) for _ in range(times)]
    facts = sorted(runs, key=lambda f: f["wall_s"])[len(runs) // 2]
    events = sum(facts["calls"].values()) / 2
    rates = f"{events / app:,.0f}", f"{events / facts['wall_s']:,.0f}"
    in_mpi = sum(facts["mpi_s"].values()) / 2
    parts = [f"{spent / events * 1e6:.2f}" for spent in (facts["engine_s"], facts["late_s"], in_mpi)]
    return [pattern, str(compute_us), f"{events:,.0f}", *rates, *parts]


def verdicts(rows: list[list[str]]) -> list[str]:
    """Whether every pattern is fast enough, and the engine hidden."""
    rates = [float(row[4].replace(",", "")) for row in rows if row[1] == "0"]
    late = [float(row[6]) for row in rows if row[1] != "0"]
    result = []
    if rates:
        word = "yes" if min(rates) >= LIMIT else "NO"
        middle = statistics.median(rates)
        result.append(f"{word}: at least {LIMIT:,} events/s per rank (median pattern {middle:,.0f})")
    if late:
        word = "yes" if max(late) <= MOST_LATE_US else "NO"
        result.append(f"{word}: computation hides all of the engine but {MOST_LATE_US} us per event")
    return result
