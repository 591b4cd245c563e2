"""Result tables that are measured line by line: new lines replace or extend stored ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.table import keep, kept, printed, show
from support.workloads import WORKLOADS

NO_VALUE = "-"
_ORDER = [workload.title for workload in WORKLOADS]


@dataclass(frozen=True)
class Line:
    """One line as text, so that one read back from the kept table is a line like any other.

    Attributes:
        cells: the text under each column.
    """

    columns: Sequence[str]
    cells: tuple[str, ...]

    def __getitem__(self, column: str) -> str:
        return self.cells[self.columns.index(column)]

    def number(self, column: str) -> float | None:
        """A number; None where nothing could be measured."""
        try:
            return float(self[column].split()[0].replace(",", ""))
        except ValueError:
            return None


Summary = Callable[[list[Line]], list[str]]


@dataclass
class ResultTable:
    """The table of results/<name>.md.

    Attributes:
        nkeys: how many of the columns, from the left, name a line: a program, then whole numbers or "-".
        keeps: write the file after every line, so that what was measured outlives an interruption.
        notes: lines for above the table.
        summary: makes the lines below it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    nkeys: int
    keeps: bool
    notes: tuple[str, ...] = ()
    summary: Summary = field(default=lambda _: [])

    def __post_init__(self) -> None:
        old = kept(self.name, self.columns) if self.keeps else []
        self._lines = {tuple(cells[: self.nkeys]): tuple(cells) for cells in old}

    def add(self, cells: Sequence[str]) -> None:
        """Take a line, in place of the one with the same key if there was one."""
        self._lines[tuple(cells[: self.nkeys])] = tuple(cells)
        if self.keeps:
            rows = [line.cells for line in self.lines]
            below = [f"- {text}" for text in self.summary(self.lines)]
            keep(self.name, self.title, self.columns, rows, *self.notes, below=below)

    def measure(self, rows: Iterable[Sequence[str]]) -> int:
        """Add lines, each printed as soon as it is made, and show all; 1 when something does not hold."""
        for cells in printed(rows):
            self.add(cells)
        self.show()
        return int(any(text.startswith("NO") for text in self.summary(self.lines)))

    @property
    def lines(self) -> list[Line]:
        """All lines, by program and numbers."""
        return [Line(self.columns, self._lines[key]) for key in sorted(self._lines, key=_place)]

    def show(self) -> None:
        """Print table and summary."""
        show(self.title, self.columns, [line.cells for line in self.lines])
        print("\n".join(self.summary(self.lines)))


def table_of(name: str, title: str, module: Any, nkeys: int, keeps: bool) -> ResultTable:
    """The table of a module that has COLUMNS, and `verdicts` on the texts under them."""
    return ResultTable(
        name,
        title,
        module.COLUMNS,
        nkeys,
        keeps,
        summary=lambda lines: module.verdicts([line.cells for line in lines]),
    )


def _place(key: tuple[str, ...]) -> tuple[int, str, tuple[int, ...]]:
    program = _ORDER.index(key[0]) if key[0] in _ORDER else len(_ORDER)
    return program, key[0], tuple(int(word) if word.isdigit() else 0 for word in key[1:])
