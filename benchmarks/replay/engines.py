"""Time of C programs with many small messages and of the workloads, and of their replays by both engines."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.replay.runs import app_s, arguments, recorded, replayed
from support.mpis import Mpi
from support.programs import SAMPLES
from support.running import mpirun, record, run
from support.workloads import WORKLOADS, Workload

COLUMNS = (
    "program", "ranks", "calls per rank", "program, s", "Python, s", "compiled, s", "compiled / program",
    "compiled, calls/s", "calls and bytes",
)  # fmt: skip
HERE = Path(__file__).parent
MAX_RATIO = 1.05
CORES = 2
"""Ranks that have cores of their own on the machine of the stored results."""


WORKLOAD_RANKS = (2, 4)
WORKLOAD_STEPS = 10


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
    for workload in WORKLOADS:
        if only and workload.title not in only:
            continue
        for ranks in WORKLOAD_RANKS:
            if workload.accepts(ranks):
                with tempfile.TemporaryDirectory() as folder:
                    yield _workload_line(mpi, times, workload, ranks, Path(folder))


def _line(mpi: Mpi, times: int, case: Case, ranks: int, folder: Path) -> list[str]:
    """The line of a C program, recorded anew in each turn, since the machine's speed changes.

    The timer is preloaded, since the machine code of another binary may have another speed.
    """
    program, timer, trace = folder / "program", folder / "timer.so", folder / "a.st"
    for command in (
        [mpi.mpicc, "-O2", "-o", program, case.source, "-lm"],
        [mpi.mpicc, "-O2", "-fPIC", "-shared", "-o", timer, HERE / "timed.c"],
    ):
        run(command, env=mpi.environment(), cwd=folder).check()

    def record_again() -> Path:
        record(mpi, ranks, [program, *case.arguments], trace, timeout=300).check()
        return trace

    def program_s() -> float:
        command = ["env", f"LD_PRELOAD={timer}", program, *case.arguments]
        done = mpirun(mpi, ranks, command, cwd=folder, timeout=300).check()
        return float(done.stdout.rpartition("seconds ")[2])

    return _compared(mpi, times, case.source.name, ranks, record_again, program_s)


def _workload_line(mpi: Mpi, times: int, workload: Workload, ranks: int, folder: Path) -> list[str]:
    """A workload in Python, with a problem so small that the calls are what takes time."""
    argv = arguments(workload.of_steps(WORKLOAD_STEPS), 0)
    trace = recorded(mpi, ranks, argv, folder / "a.st").trace
    return _compared(
        mpi, times, workload.title, ranks, lambda: trace, lambda: app_s(mpi, ranks, argv, folder)
    )


def _compared(
    mpi: Mpi,
    times: int,
    title: str,
    ranks: int,
    recorded_in: Callable[[], Path],
    program_s: Callable[[], float],
) -> list[str]:
    """The line of a program, `recorded_in` making its trace and `program_s` being the seconds of a run."""
    engines = {name: ["--verify", "--engine", name] for name in ("python", "compiled")}
    seconds: dict[str, list[float]] = {"program": [], "python": [], "compiled": []}
    unequal, ncalls = [], 0.0
    for _ in range(times):
        trace = recorded_in()
        try:
            replayed(mpi, ranks, trace, engines["compiled"])  # compiles
        except AssertionError as error:
            if "use --engine python" not in str(error):
                raise
            return [title, str(ranks), *["-"] * 6, "Python engine only"]
        seconds["program"].append(program_s())
        for name, options in engines.items():
            facts = replayed(mpi, ranks, trace, options)
            seconds[name].append(facts["wall_s"])
            unequal += facts["unequal"]
            ncalls = sum(facts["calls"].values()) / ranks
    program, python, compiled = (statistics.median(seconds[name]) for name in seconds)
    return [
        title, str(ranks), f"{ncalls:,.0f}", f"{program:.3f}", f"{python:.3f}", f"{compiled:.3f}",
        f"{compiled / program:.2f}", f"{ncalls / compiled:,.0f}", "differ" if unequal else "equal",
    ]  # fmt: skip


def verdicts(rows: list[list[str]]) -> list[str]:
    """Whether compiled replays take as long as their programs, and make the same calls."""
    result = []
    rows = [row for row in rows if row[6] != "-"]
    own_cores = [float(row[6]) for row in rows if int(row[1]) <= CORES and row[0].endswith(".c")]
    if own_cores:
        word = "yes" if max(own_cores) <= MAX_RATIO else "NO"
        worst = f"at most {max(own_cores):.2f} times the program"
        result.append(f"{word}: C programs within 5 % where ranks have cores of their own ({worst})")
    word = "yes" if all(row[8] == "equal" for row in rows) else "NO"
    return [*result, f"{word}: calls and bytes of both engines are the trace's"]
