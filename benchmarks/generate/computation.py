"""Time of a generated benchmark while its computation shrinks, communication unchanged (Figure 4.10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.generate.programs import NotMadeError, benchmark
from benchmarks.generate.runs import seconds
from benchmarks.replay.runs import arguments, paced, recorded
from scalatrace import Trace, load
from scalatrace.codegen.generate import Options
from support.mpis import Mpi
from support.workloads import Workload

COLUMNS = ("program", "ranks", "computation, %", "s", "of the original")
SCALES = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
"""Factors on the time of all computations; the first one is the original."""


def lines(
    mpi: Mpi,
    chosen: Sequence[Workload],
    ranks: Sequence[int],
    scales: Sequence[float],
    language: str,
    sleep_us: int,
    times: int,
    most_s: float,
) -> Iterator[list[str]]:
    """A row per workload, number of ranks and factor.

    Args:
        scales: factors on the time of all computations; the first one is the original.
        sleep_us: shortest sleep in place of a computation.
        most_s: run time of the application.
    """
    for workload, nprocs, folder in cases(chosen, ranks):
        head = [workload.title, str(nprocs)]
        try:
            pace = paced(mpi, workload.of_steps, nprocs, sleep_us, folder, most_s)
            argv = arguments(workload.of_steps(pace.steps), pace.sleep_us)
            trace = load(recorded(mpi, nprocs, argv, folder / "app.st").trace)
            yield from _lines(mpi, trace, head, scales, language, times, folder)
        except (AssertionError, TimeoutError, NotMadeError) as error:
            yield [*head, "-", f"not run: {str(error).splitlines()[0]}", "-"]


def _lines(
    mpi: Mpi, trace: Trace, head: list[str], scales: Sequence[float], language: str, times: int, folder: Path
) -> Iterator[list[str]]:
    original = 0.0
    for scale in scales:
        text = benchmark(trace, language, Options(compute_scale=scale)).text
        spent = seconds(mpi, trace.nprocs, text, language, folder, times)
        original = original or spent
        yield [*head, f"{100 * scale:g}", f"{spent:.3f}", f"{spent / original:.1%}"]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """The shortest time of each program and number of ranks, and its computation."""
    result = []
    for program, ranks in dict.fromkeys((row[0], row[1]) for row in rows):
        mine = [row for row in rows if row[:2] == [program, ranks] and row[4] != "-"]
        if mine:
            least = min(mine, key=lambda row: float(row[3]))
            result.append(
                f"{program}, {ranks} ranks: shortest with {least[2]} % computation: {least[4]} of the time"
            )
    return result
