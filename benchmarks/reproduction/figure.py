"""Types of a study, its figures, and the comparison of our numbers with the dissertation's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reproduction.settings import Settings
from support.mpis import Mpi

__all__ = ["Comparison", "Figure", "Row", "Rows", "Study", "number", "values"]

Row = Mapping[str, str]
"""Column -> value; numbers without separators and unit, empty where nothing was measured."""
Rows = Sequence[Row]


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
        number: as "5.7".
        source: page and section.
        differs: what differs between the two measurements, in sentences.
        compare: makes the comparisons from the rows of the figure.
        rows: selects the rows of the figure from those of the study.
        plot: draws the rows into a file.
    """

    number: str
    title: str
    source: str
    differs: str
    compare: Callable[[Rows], list[Comparison]]
    rows: Callable[[Rows], Rows] = lambda rows: rows
    plot: Callable[[Rows, Path], None] | None = None


@dataclass(frozen=True)
class Study:
    """A measurement with the figures that show it.

    Attributes:
        name: of its files.
        columns: of its CSV file.
        measure: yields rows of cells as a benchmark prints them.
    """

    name: str
    columns: Sequence[str]
    measure: Callable[[Mpi, Settings], Iterator[Sequence[str]]]
    figures: Sequence[Figure]

    def row(self, cells: Sequence[str]) -> dict[str, str]:
        """Return printed cells by column: "+1.5%" as "1.5", "1,024" as "1024", "-" as empty."""
        return dict(zip(self.columns, map(_plain, cells), strict=True))


def _plain(cell: str) -> str:
    if cell == "-":
        return ""
    if re.fullmatch(r"[+-]?\d[\d,]*(\.\d+)?%?", cell):
        return cell.replace(",", "").rstrip("%").removeprefix("+")
    return cell


def number(text: str) -> float | None:
    """Return the number of a cell; None where nothing was measured."""
    try:
        return float(text)
    except ValueError:
        return None


def values(rows: Iterable[Row], column: str) -> list[float]:
    """Return the numbers of a column that were measured."""
    return [x for row in rows if (x := number(row[column])) is not None]
