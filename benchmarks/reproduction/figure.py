"""Figures of the dissertation: their studies, comparisons of our numbers with its numbers, and plots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from benchmarks.reproduction.settings import Settings
from benchmarks.table import number
from scalatrace.files import write_file
from scalatrace.report.curves import Curves, check_plot, draw_curves
from support.mpis import Mpi

NamedRow = Mapping[str, str]
"""Column -> value; numbers without separators and unit, empty where nothing was measured."""
NamedRows = Sequence[NamedRow]


@dataclass(frozen=True)
class Comparison:
    """One number of the dissertation beside ours.

    Attributes:
        quantity: with its unit.
        their_ranks, our_ranks: numbers of ranks.
        theirs: of the dissertation's text.
        ours: "-" if it was not measured.
    """

    program: str
    quantity: str
    their_ranks: str
    theirs: str
    our_ranks: str
    ours: str


@dataclass(frozen=True)
class Figure:
    """A figure of the dissertation.

    Attributes:
        number: as "5.7"; a name, if the dissertation has no such figure.
        source: page and section.
        differs: what differs between the two measurements, in sentences.
        compare: makes the comparisons from the rows of the figure.
        rows: selects the rows of the figure from those of the study.
        plot: draws the rows into a file.
        left_out: what is not measured, and why.
        timed: whether times are compared, which mean nothing on a busy machine.
        headline: indices of the comparisons that stand for the figure in the table of all figures. Those of
            real programs and of stand-ins with the same program and quantity are one entry there.
    """

    number: str
    title: str
    source: str
    differs: str
    compare: Callable[[NamedRows], list[Comparison]]
    rows: Callable[[NamedRows], NamedRows] = lambda rows: rows
    plot: Callable[[NamedRows, Path], None] | None = None
    left_out: str = ""
    timed: bool = False
    headline: Sequence[int] = (0,)

    @property
    def heading(self) -> str:
        """Return "Figure 5.7", or the name."""
        return f"Figure {self.number}" if self.number[0].isdecimal() else self.number


@dataclass(frozen=True)
class FigureStudy:
    """A measurement with the figures that show it.

    Attributes:
        name: of its files.
        columns: of its CSV file.
        measure: yields rows of cells as a benchmark prints them.
        real: whether the programs are real ones, built from sources that the user gives; else those of
            samples/ stand in for them.
        nkeys: number of columns, from the left, that identify a row. With real programs, and where programs
            are chosen, a measured row replaces the stored one at once. A complete run of all programs
            replaces all rows.
    """

    name: str
    columns: Sequence[str]
    measure: Callable[[Mpi, Settings], Iterator[Sequence[str]]]
    figures: Sequence[Figure]
    real: bool = False
    nkeys: int = 0

    def key(self, row: NamedRow) -> tuple[str, ...]:
        """Return the cells that identify a row."""
        return tuple(row[column] for column in self.columns[: self.nkeys])

    def row(self, cells: Sequence[str]) -> dict[str, str]:
        """Return printed cells by column: "+1.5%" as "1.5", "1,024" as "1024", "-" as empty."""
        return dict(zip(self.columns, map(_plain, cells), strict=True))


def _plain(cell: str) -> str:
    if cell == "-":
        return ""
    if re.fullmatch(r"[+-]?\d[\d,]*(\.\d+)?%?", cell):
        return cell.replace(",", "").rstrip("%").removeprefix("+")
    return cell


def values(rows: Iterable[NamedRow], column: str) -> list[float]:
    """Return the numbers of a column that were measured."""
    return [x for row in rows if (x := number(row[column])) is not None]


def bars(
    path: Path,
    rows: NamedRows,
    columns: Mapping[str, str],
    title: str,
    unit: str,
    *,
    log: bool = False,
    labels: Sequence[str] = ("program", "ranks"),
) -> None:
    """Draw a group of bars per row.

    Args:
        columns: column -> name in the legend.
        labels: columns whose values stand below the group.

    Raises:
        UsageError: matplotlib is missing.
    """
    check_plot(path)
    import matplotlib  # type: ignore[import-not-found,unused-ignore]

    matplotlib.use("Agg")
    from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]

    matplotlib.rcParams["svg.fonttype"] = "none"  # text as text: a tenth of the bytes
    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    width = 0.8 / len(columns)
    for i, (column, name) in enumerate(columns.items()):
        heights = [number(row[column]) or 0.0 for row in rows]
        axes.bar([x + i * width for x in range(len(rows))], heights, width, label=name)
    middle = width * (len(columns) - 1) / 2
    texts = ["\n".join(row[label] for label in labels) for row in rows]
    axes.set_xticks([x + middle for x in range(len(rows))], texts, fontsize="small")
    if log:
        axes.set_yscale("log")
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.legend(fontsize="small", loc="upper left")
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], metadata={"Date": None})
    pyplot.close(figure)
    write_file(path, drawn.getvalue())


def curve(path: Path, rows: NamedRows, x: str, columns: Mapping[str, str], title: str) -> None:
    """Draw a curve of seconds per column over the numbers of column `x`. Raises UsageError."""
    curves: Curves = {}
    for row in rows:
        for column, name in columns.items():
            at, spent = number(row[x]), number(row[column])
            if at is not None and spent is not None:
                curves.setdefault(name, {})[at] = (spent, spent, spent)
    draw_curves(path, curves, title, x.replace("_pct", ", %"))
