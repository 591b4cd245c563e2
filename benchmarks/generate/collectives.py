"""Collectives against messages between each pair of ranks, in the same benchmark (Figure 4.13)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cases import cases
from benchmarks.generate.programs import NotMadeError, benchmark, command, traced
from benchmarks.generate.runs import seconds
from scalatrace.codegen.generate import Options
from scalatrace.report.curves import Curves, draw_curves
from support.mpis import Mpi
from support.workloads import Workload

COLUMNS = ("program", "ranks", "collectives, s", "messages, s", "longer")
WAYS = {"collectives": False, "messages": True}


def lines(
    mpi: Mpi, chosen: Sequence[Workload], ranks: Sequence[int], language: str, steps: int, times: int
) -> Iterator[list[str]]:
    """A row per workload and number of ranks: the recorded computation, both ways to communicate."""
    for workload, nprocs, folder in cases(chosen, ranks):
        yield _line(mpi, workload, nprocs, language, steps, times, folder)


def _line(
    mpi: Mpi, workload: Workload, nprocs: int, language: str, steps: int, times: int, folder: Path
) -> list[str]:
    head = [workload.title, str(nprocs)]
    try:
        argv = command(mpi, workload.of_steps(steps), folder)
        trace = traced(mpi, nprocs, argv, folder / "app.st")
        texts = (benchmark(trace, language, Options(by_messages=way)).text for way in WAYS.values())
        native, messages = (seconds(mpi, nprocs, text, language, folder, times) for text in texts)
    except NotMadeError as error:
        return [*head, str(error)[:60], "-", "-"]
    return [*head, f"{native:.4f}", f"{messages:.4f}", f"{messages / native - 1:+.1%}"]


def draw(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Write the plot: seconds over ranks, a curve per program and way. Raises UsageError."""
    curves: Curves = {}
    for row in rows:
        for name, column in zip(WAYS, (2, 3), strict=True):
            if row[4] != "-":
                spent = float(row[column])
                curves.setdefault(f"{row[0]}, {name}", {})[int(row[1])] = (spent, spent, spent)
    draw_curves(path, curves, "Collectives and messages in their place", "ranks")


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """How much longer messages take, at the most ranks."""
    result = []
    for title in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == title and row[4] != "-"]
        if mine:
            most = max(mine, key=lambda row: int(row[1]))
            mean = statistics.fmean(float(row[4].rstrip("%")) for row in mine)
            result.append(f"{title}: {most[4]} at {most[1]} ranks, {mean:+.1f}% in the mean")
    return result
