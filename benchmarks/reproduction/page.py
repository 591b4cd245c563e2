"""The page of all figures: the dissertation's numbers beside ours, as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.reproduction.figure import Comparison, Figure, Rows, Study
from benchmarks.reproduction.store import Run, Store

__all__ = ["COMPARED", "compared", "page"]

COMPARED = ("program", "quantity", "ranks there", "dissertation", "ranks here", "ours")
IDLE = 0.05
"""CPU time of other processes up to which the machine counts as idle."""

_UNITS = {"s": "s", "ms": "ms", "pct": "%", "bytes": "bytes"}

INTRODUCTION = """\
# The dissertation's figures, measured here

`make bench` writes this page. The dissertation is X. Wu, *Scalable Communication Tracing for Performance
Analysis of Parallel Applications*, North Carolina State University, 2013. All its numbers here are from its
text, with the figure's page and the section. None is read from a chart. A dash stands for no number.

Its programs are NPB 3.3, Sweep3D and POP, on clusters and on Blue Gene. Ours are those of `samples/` with the
same communication, in Python, on one machine. Calls, sizes and errors of times can be compared, times cannot.
"""


def page(studies: Sequence[Study], store: Store, folder: Path) -> str:
    """Return the page of all studies that were measured. Links are relative to `folder`."""
    measured = [(study, *found) for study in studies if (found := store.load(study))]
    lines = [INTRODUCTION, *_runs([(study, run) for study, _, run in measured])]
    figures = [
        (figure, study, rows) for study, all_rows, _ in measured for figure in study.figures
        if (rows := figure.rows(all_rows))
    ]  # fmt: skip
    for figure, study, rows in sorted(figures, key=lambda found: _place(found[0])):
        lines += _figure(figure, study, rows, store, folder)
    return "\n".join(lines).rstrip() + "\n"


def compared(figure: Figure, rows: Rows) -> list[tuple[str, ...]]:
    """Return the comparison of a figure as rows under COMPARED."""
    return [_cells(line) for line in figure.compare(rows)]


def _cells(line: Comparison) -> tuple[str, ...]:
    return line.program, line.quantity, line.their_ranks, line.theirs, line.our_ranks, line.ours


def _place(figure: Figure) -> tuple[int, ...]:
    return tuple(map(int, figure.number.split(".")))


def _runs(runs: Sequence[tuple[Study, Run]]) -> Iterator[str]:
    """The machines, and when and how each study was measured."""
    for text in dict.fromkeys(_machine(run) for _, run in runs):
        yield f"Machine: {text}."
    yield ""
    columns = ("study", "figures", "date", "settings", "seconds", "CPU time of other processes")
    rows = [
        (
            study.name, ", ".join(figure.number for figure in study.figures), run.date, run.settings,
            f"{run.seconds:.0f}", f"{run.others:.0%}",
        )
        for study, run in runs
    ]  # fmt: skip
    yield from _table(columns, rows)
    yield ""
    if busy := [study.name for study, run in runs if run.others > IDLE]:
        yield (
            f"The machine was not idle during {', '.join(busy)}. Other processes delay a program and "
            "its replay differently, so errors of times are too large. Sizes and calls are not affected."
        )
        yield ""


def _machine(run: Run) -> str:
    return ", ".join(f"{name}: {value}" for name, value in run.machine.items())


def _figure(figure: Figure, study: Study, rows: Rows, store: Store, folder: Path) -> Iterator[str]:
    yield f"## Figure {figure.number}: {figure.title}"
    yield ""
    yield f"Dissertation: {figure.source}. {figure.differs}"
    yield ""
    yield from _table(COMPARED, compared(figure, rows))
    yield ""
    plot = store.plot(figure.number)
    if plot.exists():
        yield f"![Figure {figure.number}]({_link(plot, folder)})"
        yield ""
    yield f"All rows ([CSV]({_link(store.csv(study), folder)})):"
    yield ""
    shown = [column for column in study.columns if any(row[column] for row in rows)]
    yield from _table(map(_title, shown), [[row[c] for c in shown] for row in rows])
    yield ""


def _title(column: str) -> str:
    """A column's name as text: "app, s" for "app_s"."""
    name, _, unit = column.rpartition("_")
    if name and unit in _UNITS:
        return f"{name.replace('_', ' ')}, {_UNITS[unit]}"
    return column.replace("_", " ")


def _link(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _table(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> list[str]:
    titles = list(columns)
    lines = [_row([cell or "-" for cell in row]) for row in rows]
    return [_row(titles), _row(["---"] * len(titles)), *lines]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
