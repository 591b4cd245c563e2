"""Time of C programs with many small messages, and of their replays by both engines."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.replay.runs import replayed
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun, record, run

COLUMNS = (
    "program", "ranks", "calls per rank", "program, s", "Python, s", "compiled, s", "compiled / program",
    "compiled, calls/s", "calls and bytes",
)  # fmt: skip
HERE = Path(__file__).parent
MAX_RATIO = 1.05
CORES = 2
"""Ranks that have cores of their own on the machine of the stored results."""


@dataclass(frozen=True)
class Case:
    """A program, and its arguments for a run of some tenths of a second."""

    source: Path
    arguments: tuple[str, ...]
    ranks: tuple[int, ...] = (2, 4)


CASES = (
    Case(HERE / "pair.c", ("200000",), (2,)),
    Case(SAMPLES / "wavefront.c", ("2000", "64", "8")),
    Case(SAMPLES / "conjgrad.c", ("1000", "64")),
    Case(SAMPLES / "heat.c", ("100000", "32")),
)


def lines(mpi: Mpi, times: int, only: Sequence[str] | None) -> Iterator[list[str]]:
    """A line per program and number of ranks; times are medians of so many runs, which take turns."""
    for case in CASES:
        if only and case.source.stem not in only:
            continue
        for ranks in case.ranks:
            with tempfile.TemporaryDirectory() as folder:
                yield _line(mpi, times, case, ranks, Path(folder))


def _line(mpi: Mpi, times: int, case: Case, ranks: int, folder: Path) -> list[str]:
    plain, timed, trace = folder / "plain", folder / "timed", folder / "a.st"
    for binary, more in ((plain, []), (timed, [HERE / "timed.c"])):
        command = [mpi.mpicc, "-O2", "-o", binary, case.source, *more, "-lm"]
        run(command, env=mpi.environment(), cwd=folder).check()
    record(mpi, ranks, [plain, *case.arguments], trace, timeout=300).check()
    engines = {name: ["--verify", "--engine", name] for name in ("python", "compiled")}
    seconds: dict[str, list[float]] = {"program": [], "python": [], "compiled": []}
    unequal, ncalls = [], 0.0
    replayed(mpi, ranks, trace, engines["compiled"])  # compiles
    for _ in range(times):
        done = mpirun(mpi, ranks, [timed, *case.arguments], cwd=folder, timeout=300).check()
        seconds["program"].append(float(done.stdout.rpartition("seconds ")[2]))
        for name, options in engines.items():
            facts = replayed(mpi, ranks, trace, options)
            seconds[name].append(facts["wall_s"])
            unequal += facts["unequal"]
            ncalls = sum(facts["calls"].values()) / ranks
    program, python, compiled = (statistics.median(seconds[name]) for name in seconds)
    return [
        case.source.name, str(ranks), f"{ncalls:,.0f}", f"{program:.3f}", f"{python:.3f}", f"{compiled:.3f}",
        f"{compiled / program:.2f}", f"{ncalls / compiled:,.0f}", "differ" if unequal else "equal",
    ]  # fmt: skip


def verdicts(rows: list[list[str]]) -> list[str]:
    """Whether compiled replays take as long as their programs, and make the same calls."""
    result = []
    own_cores = [float(row[6]) for row in rows if int(row[1]) <= CORES]
    if own_cores:
        word = "yes" if max(own_cores) <= MAX_RATIO else "NO"
        worst = f"at most {max(own_cores):.2f} times the program"
        result.append(f"{word}: compiled within 5 % where ranks have cores of their own ({worst})")
    word = "yes" if all(row[8] == "equal" for row in rows) else "NO"
    return [*result, f"{word}: calls and bytes of both engines are the trace's"]
