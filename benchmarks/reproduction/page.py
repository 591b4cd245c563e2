"""The page of all figures: the dissertation's numbers beside ours, as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRows
from benchmarks.reproduction.store import Results, StudyRun
from benchmarks.table import NO_VALUE, Row, markdown
from scalatrace.files import write_file

COMPARED = ("program", "quantity", "ranks there", "dissertation", "ranks here", "ours")
IDLE = 0.05
"""CPU time of other processes up to which the machine counts as idle."""

BUSY = 0.3
"""CPU time of other processes from which on times are not compared."""

_UNITS = {"s": "s", "ms": "ms", "pct": "%", "bytes": "bytes"}

INTRODUCTION = """\
# The dissertation's figures, measured here

`make bench` writes this page. The dissertation is X. Wu, *Scalable Communication Tracing for Performance
Analysis of Parallel Applications*, North Carolina State University, 2013. All its numbers here are from its
text, with the figure's page and the section. None is read from a chart. A dash stands for no number.

Its programs are NPB 3.3, Sweep3D and POP, on clusters and on Blue Gene. Real programs are NPB 3.4 and LULESH
2.0, of the classes S and W, on one machine. `make bench-npb NPB=DIR` builds and measures them from sources
that you have. Stand-ins are the programs of `samples/` with the same communication, in Python. Calls, sizes
and errors of times can be compared with the dissertation's, times cannot.
"""

KINDS = {True: "real", False: "stand-ins"}
OVERVIEW = ("figure", "programs", "quantity", *COMPARED[2:], "left out, and why")

NOT_MEASURED = (
    ("3.13", "extrapolated benchmarks of Sweep3D", "144 to 400", "93.76 % accuracy",
     "Sweep3D has no public sources any more; its stand-in is in results/generate_scalable.md"),
    ("3.14", "Sweep3D with shorter computation", "400", "shortest with 10 to 180 % of it",
     "Ethernet between nodes: there is one machine"),
    ("4.14", "predicted times of MG and CG elsewhere", "not in the text", "97.72 and 96.81 % accuracy",
     "a second machine; predictions for the same machine are in results/predictions_real.md"),
)  # fmt: skip
"""Figures without a study: number, quantity, ranks, the dissertation's number, reason."""


def page(results: Results) -> str:
    """Return the page of all studies that were measured. Links are relative to its folder."""
    measured = [(study, *stored) for study in results.studies if (stored := results.load(study))]
    lines = [INTRODUCTION, *_runs([(study, run) for study, _, run in measured])]
    figures = [
        (figure, study, rows, run) for study, all_rows, run in measured for figure in study.figures
        if (rows := figure.rows(all_rows))
    ]  # fmt: skip
    figures.sort(key=lambda found: (_place(found[0].number), not found[1].real))
    lines += _overview(results.studies, figures)
    previous = ""
    for figure, study, rows, run in figures:
        if figure.heading != previous:
            previous = figure.heading
            lines += [f"## {figure.heading}: {figure.title}", ""]
        lines += _figure(figure, study, rows, run, results)
    return "\n".join(lines).rstrip() + "\n"


def _overview(
    studies: Sequence[FigureStudy], figures: Sequence[tuple[Figure, FigureStudy, NamedRows, StudyRun]]
) -> Iterator[str]:
    """A row per figure and kind of programs: the dissertation's number, ours, and what is left out."""
    rows = [
        (_place(figure.number), not study.real, _summary(figure, study, rows, run))
        for figure, study, rows, run in figures
    ]
    rows += [
        (_place(number), True, (number, "none", quantity, ranks, theirs, "-", "-", why))
        for number, quantity, ranks, theirs, why in NOT_MEASURED
    ]
    shown = {figure.number for figure, *_ in figures}
    rows += [
        (_place(figure.number), True, (figure.number, "none", figure.title, *"----", "not measured yet"))
        for study in studies
        for figure in study.figures
        if figure.number not in shown
    ]
    yield "## All figures"
    yield ""
    yield from _markdown(OVERVIEW, [cells for *_, cells in sorted(rows)])
    yield ""


def _compare(figure: Figure, rows: NamedRows, run: StudyRun) -> list[Comparison]:
    """The comparisons of a figure, without our times of a busy machine."""
    lines = figure.compare(rows)
    if figure.timed and run.others >= BUSY:
        ours = f"busy: {run.others:.0%} by other processes"
        return [line if line.ours == NO_VALUE else replace(line, ours=ours) for line in lines]
    return lines


def _summary(figure: Figure, study: FigureStudy, rows: NamedRows, run: StudyRun) -> tuple[str, ...]:
    lines = _compare(figure, rows, run)
    chosen = [lines[i] for i in figure.headline if -len(lines) <= i < len(lines)]
    columns = [
        [f"{line.program}: {line.quantity}" for line in chosen],
        *(
            [getattr(line, name) for line in chosen]
            for name in ("their_ranks", "theirs", "our_ranks", "ours")
        ),
    ]
    cells = ("; ".join(dict.fromkeys(column) if i in (1, 3) else column) for i, column in enumerate(columns))
    return figure.number, KINDS[study.real], *cells, figure.left_out


def compared(figure: Figure, rows: NamedRows) -> list[tuple[str, ...]]:
    """Return the comparison of a figure as rows under COMPARED."""
    return [_cells(line) for line in figure.compare(rows)]


def _cells(line: Comparison) -> tuple[str, ...]:
    return line.program, line.quantity, line.their_ranks, line.theirs, line.our_ranks, line.ours


def _place(number: str) -> tuple[float, ...]:
    """The order of figures; those with a name come last."""
    return tuple(map(int, number.split("."))) if number[0].isdecimal() else (float("inf"),)


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


def _figure(
    figure: Figure, study: FigureStudy, rows: NamedRows, run: StudyRun, results: Results
) -> Iterator[str]:
    yield f"### {figure.heading}, {'real programs' if study.real else 'stand-ins'}"
    yield ""
    yield f"Dissertation: {figure.source}. {figure.differs}"
    yield ""
    yield from _markdown(COMPARED, map(_cells, _compare(figure, rows, run)))
    yield ""
    plot = results.plot(study, figure)
    if plot.exists():
        yield f"![{figure.heading}]({_link(plot, results.folder)})"
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
    """Draw the plots of studies, but not of times on a busy machine, and write the page, from stored rows."""
    for study in chosen:
        rows, run = results.load(study) or ([], None)
        for figure in study.figures:
            busy = run is not None and figure.timed and run.others >= BUSY
            if figure.plot and not busy and (mine := figure.rows(rows)):
                figure.plot(mine, results.plot(study, figure))
    write_file(results.folder / "RESULTS.md", page(results).encode())
