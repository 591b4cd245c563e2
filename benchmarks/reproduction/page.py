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

KINDS = {True: "real programs", False: "stand-ins"}
OVERVIEW = (
    "figure", "quantity", "ranks there", "dissertation", "ranks, real programs", "real programs",
    "ranks, stand-ins", "stand-ins", "left out, and why",
)  # fmt: skip

NOT_MEASURED = (
    ("3.13", "extrapolated benchmarks of Sweep3D", "144 to 400", "93.76 % accuracy",
     "Sweep3D has no public sources any more; its stand-in is in results/generate_scalable.md"),
    ("3.14", "Sweep3D: computation with the shortest run", "400",
     "10, 20, 40, 180 % with 1, 2, 4, 8 times the bytes",
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


Entry = tuple[Figure, FigureStudy, NamedRows, StudyRun]
"""A measured figure of real programs or of stand-ins."""


def _overview(studies: Sequence[FigureStudy], figures: Sequence[Entry]) -> Iterator[str]:
    """A row per figure: the dissertation's number, ours of both kinds of programs, and what is left out."""
    measured: dict[str, list[Entry]] = {}
    for entry in figures:
        measured.setdefault(entry[0].number, []).append(entry)
    rows = {number: _summary(number, entries) for number, entries in measured.items()}
    for number, quantity, ranks, theirs, why in NOT_MEASURED:
        rows[number] = (number, quantity, ranks, theirs, *[NO_VALUE] * 4, why)
    for figure in (figure for study in studies for figure in study.figures):
        rows.setdefault(figure.number, (figure.number, figure.title, *[NO_VALUE] * 6, "not measured yet"))
    yield "## All figures"
    yield ""
    yield from _markdown(OVERVIEW, [rows[number] for number in sorted(rows, key=_place)])
    yield ""


def _compare(figure: Figure, rows: NamedRows, run: StudyRun) -> list[Comparison]:
    """The comparisons of a figure, without our times of a busy machine."""
    lines = figure.compare(rows)
    if figure.timed and run.others >= BUSY:
        ours = f"busy: {run.others:.0%} by other processes"
        return [line if line.ours == NO_VALUE else replace(line, ours=ours) for line in lines]
    return lines


def _summary(number: str, entries: Sequence[Entry]) -> tuple[str, ...]:
    """The row of a figure: the lines of its headlines, joined by program and quantity."""
    lines: dict[tuple[str, str], dict[bool, Comparison]] = {}
    for figure, study, rows, run in entries:
        compared_lines = _compare(figure, rows, run)
        for i in figure.headline:
            if -len(compared_lines) <= i < len(compared_lines):
                line = compared_lines[i]
                lines.setdefault((line.program, line.quantity), {})[study.real] = line
    first = [next(iter(kinds.values())) for kinds in lines.values()]
    cells = ["; ".join(f"{line.program}: {line.quantity}" for line in first)]
    cells.append("; ".join(dict.fromkeys(line.their_ranks for line in first)))
    cells.append("; ".join(line.theirs for line in first))
    for real in KINDS:
        of_kind = [kinds.get(real) for kinds in lines.values()]
        measured = [line.our_ranks for line in of_kind if line and line.our_ranks != NO_VALUE]
        cells.append("; ".join(dict.fromkeys(measured)))
        cells.append("; ".join(line.ours if line else NO_VALUE for line in of_kind) if any(of_kind) else "")
    reasons: dict[str, list[str]] = {}
    for figure, study, *_ in entries:
        if figure.left_out:
            reasons.setdefault(figure.left_out, []).append(KINDS[study.real])
    why = [f"{why} ({kinds[0]})" if len(kinds) < len(entries) else why for why, kinds in reasons.items()]
    return number, *cells, "; ".join(why)


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
    yield f"### {figure.heading}, {KINDS[study.real]}"
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
