"""Events per second of replays without computation between two ranks, and the engine's part in it."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.replay.runs import app_s, recorded, replayed
from support.mpis import Mpi

COLUMNS = (
    "messages", "events per rank", "program, events/s", "replay, events/s", "engine, us", "in MPI, us",
)  # fmt: skip
LIMIT = 150_000
PAIR = Path(__file__).with_name("pair.py")


def lines(mpi: Mpi, times: int) -> Iterator[list[str]]:
    """A line per pattern."""
    for pattern in ("pingpong", "stream", "exchange"):
        with tempfile.TemporaryDirectory() as folder:
            argv = [str(PAIR), pattern, "50000"]
            trace = recorded(mpi, 2, argv, Path(folder, "a.st"), ["--stacks", "none"]).trace
            app = statistics.median(app_s(mpi, 2, argv, Path(folder)) for _ in range(times))
            runs = [replayed(mpi, 2, trace, ["--compute", "none"]) for _ in range(times)]
            facts = sorted(runs, key=lambda f: f["wall_s"])[len(runs) // 2]
            events = sum(facts["calls"].values()) / 2
            in_mpi = sum(facts["mpi_s"].values()) / 2 / events * 1e6
            own = facts["engine_s"] / events * 1e6
            rates = f"{events / app:,.0f}", f"{events / facts['wall_s']:,.0f}"
            yield [pattern, f"{events:,.0f}", *rates, f"{own:.2f}", f"{in_mpi:.2f}"]


def verdicts(rows: list[list[str]]) -> list[str]:
    """Whether every pattern is fast enough."""
    rates = [float(row[3].replace(",", "")) for row in rows]
    word = "yes" if min(rates) >= LIMIT else "NO"
    return [f"{word}: at least {LIMIT:,} events/s per rank (median pattern {statistics.median(rates):,.0f})"]
