"""The page of all figures: the dissertation's numbers beside ours, as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRows
from benchmarks.reproduction.store import Results, StudyRun
from benchmarks.table import Row, markdown
from scalatrace.files import write_file

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


def page(results: Results) -> str:
    """Return the page of all studies that were measured. Links are relative to its folder."""
    measured = [(study, *stored) for study in results.studies if (stored := results.load(study))]
    lines = [INTRODUCTION, *_runs([(study, run) for study, _, run in measured])]
    figures = [
        (figure, study, rows) for study, all_rows, _ in measured for figure in study.figures
        if (rows := figure.rows(all_rows))
    ]  # fmt: skip
    for figure, study, rows in sorted(figures, key=lambda found: _place(found[0])):
        lines += _figure(figure, study, rows, results)
    return "\n".join(lines).rstrip() + "\n"


def compared(figure: Figure, rows: NamedRows) -> list[tuple[str, ...]]:
    """Return the comparison of a figure as rows under COMPARED."""
    return [_cells(line) for line in figure.compare(rows)]


def _cells(line: Comparison) -> tuple[str, ...]:
    return line.program, line.quantity, line.their_ranks, line.theirs, line.our_ranks, line.ours


def _place(figure: Figure) -> tuple[int, ...]:
    return tuple(map(int, figure.number.split(".")))


def _runs(runs: Sequence[tuple[FigureStudy, StudyRun]]) -> Iterator[str]:
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
    yield from _markdown(columns, rows)
    yield ""
    if busy := [study.name for study, run in runs if run.others > IDLE]:
        yield (
            f"The machine was not idle during {', '.join(busy)}. Other processes delay a program and "
            "its replay differently, so errors of times are too large. Sizes and calls are not affected."
        )
        yield ""


def _machine(run: StudyRun) -> str:
    return ", ".join(f"{name}: {value}" for name, value in run.machine.items())


def _figure(figure: Figure, study: FigureStudy, rows: NamedRows, results: Results) -> Iterator[str]:
    yield f"## Figure {figure.number}: {figure.title}"
    yield ""
    yield f"Dissertation: {figure.source}. {figure.differs}"
    yield ""
    yield from _markdown(COMPARED, compared(figure, rows))
    yield ""
    plot = results.plot(figure.number)
    if plot.exists():
        yield f"![Figure {figure.number}]({_link(plot, results.folder)})"
        yield ""
    yield f"All rows ([CSV]({_link(results.csv(study), results.folder)})):"
    yield ""
    shown = [column for column in study.columns if any(row[column] for row in rows)]
    yield from _markdown(map(_title, shown), [[row[c] for c in shown] for row in rows])
    yield ""


def _title(column: str) -> str:
    """A column's name as text: "app, s" for "app_s"."""
    name, _, unit = column.rpartition("_")
    if name and unit in _UNITS:
        return f"{name.replace('_', ' ')}, {_UNITS[unit]}"
    return column.replace("_", " ")


def _link(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _markdown(columns: Iterable[str], rows: Iterable[Row]) -> list[str]:
    return markdown(columns, ([cell or "-" for cell in row] for row in rows), numeric="---")


def render(results: Results, chosen: Sequence[FigureStudy]) -> None:
    """Draw the plots of studies, and write the page, from stored rows."""
    for study in chosen:
        rows, _ = results.load(study) or ([], None)
        for figure in study.figures:
            if figure.plot and (mine := figure.rows(rows)):
                figure.plot(mine, results.plot(figure.number))
    write_file(results.folder / "RESULTS.md", page(results).encode())
