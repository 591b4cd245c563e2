"""The table of a study: measured row by row, printed, judged, and stored as Markdown in results/."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from os import cpu_count
from pathlib import Path
from platform import platform
from time import perf_counter

from rich.console import Console
from rich.table import Table

from support.workloads import WORKLOADS

RESULTS = Path(__file__).resolve().parent / "results"
NO_VALUE = "-"
_ORDER = [workload.title for workload in WORKLOADS]

Row = Sequence[str]
Judge = Callable[[Sequence[Row]], Sequence[str]]
"""Makes lines about all rows: "yes: ..." and "NO: ..." for required properties, or remarks."""


@dataclass
class ResultTable:
    """The table of results/<name>.md.

    Attributes:
        rows: measured while they are iterated.
        nkeys: number of columns, from the left, that identify a row: a program, then numbers. With keys, a
            measured row replaces the stored one at once, so an interrupted run keeps it. 0: the rows of a
            run replace all stored ones.
        notes: lines above the table.
        judge: makes the lines below it.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Iterable[Row]
    nkeys: int = 0
    notes: Sequence[str] = ()
    judge: Judge = lambda rows: ()

    def measure(self, keep: bool) -> int:
        """Measure, print and, with `keep`, store all rows; return 1 if a required property does not hold."""
        rows = {tuple(row[: self.nkeys]): row for row in self._stored()} if keep and self.nkeys else {}
        start_s, count = perf_counter(), 0
        for row in printed(self.rows):
            count += 1
            rows[tuple(row[: self.nkeys]) if self.nkeys else (str(len(rows)),)] = row
            if keep and self.nkeys:
                self._store(_sorted(rows), count, perf_counter() - start_s)
        took_s = perf_counter() - start_s
        listed = _sorted(rows) if self.nkeys else list(rows.values())
        show(self.title, self.columns, listed)
        verdicts = self.judge(listed)
        print(*verdicts, sep="\n")
        if keep:
            self._store(listed, count, took_s)
        return int(any(line.startswith("NO") for line in verdicts))

    def _store(self, rows: Sequence[Row], count: int, took_s: float) -> None:
        """Write results/<name>.md, with the date, the machine, and the seconds that `count` rows took."""
        origin = f"{date.today()}, {platform()}, {cpu_count()} cores."
        measured = "all rows" if count == len(rows) else f"{count} of {len(rows)} rows"
        heads = [f"# {self.title}", "", f"{origin} Measuring {measured} took {took_s:,.0f} s.", *self.notes]
        below = [f"- {line}" for line in self.judge(rows)]
        lines = [*heads, "", *markdown(self.columns, rows), *(["", *below] if below else [])]
        RESULTS.mkdir(exist_ok=True)
        new = RESULTS / f"{self.name}.md.new"
        new.write_text("\n".join(lines) + "\n")
        new.replace(RESULTS / f"{self.name}.md")

    def _stored(self) -> list[Row]:
        """Read the stored rows; none if there is no file, or it has other columns."""
        return stored_rows(self.name, self.columns)


def stored_rows(name: str, columns: Sequence[str]) -> list[Row]:
    """Return the rows of results/<name>.md; none if there is no such file, or it has other columns."""
    file = RESULTS / f"{name}.md"
    lines = file.read_text().splitlines() if file.exists() else []
    head = markdown(columns, [])[0]
    if head not in lines:
        return []
    return [line[2:-2].split(" | ") for line in lines[lines.index(head) + 2 :] if line.startswith("| ")]


def _sorted(rows: Mapping[tuple[str, ...], Row]) -> list[Row]:
    """The rows by program, in the order of the workloads, and by numbers."""

    def place(key: tuple[str, ...]) -> tuple[int, str, tuple[int, ...]]:
        program = _ORDER.index(key[0]) if key[0] in _ORDER else len(_ORDER)
        numbers = tuple(int(digits) if (digits := word.replace(",", "")).isdigit() else 0 for word in key)
        return program, "" if numbers[0] else key[0], numbers

    return [rows[key] for key in sorted(rows, key=place)]


def printed(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, each printed as soon as it is measured."""
    for row in rows:
        print(*row, sep="  ", flush=True)
        yield row


def show(title: str, columns: Row, rows: Iterable[Row]) -> None:
    """Print a table; the first column to the left, the others to the right."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=160).print(table)


def markdown(columns: Iterable[str], rows: Iterable[Row], numeric: str = "--:") -> list[str]:
    """The lines of a Markdown table. `numeric`: alignment of all columns but the first."""
    titles = list(columns)
    return [
        f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
        for cells in (titles, ["---", *[numeric] * (len(titles) - 1)], *rows)
    ]


def grouped(number: float) -> str:
    """An integer with commas between groups of three digits."""
    return f"{round(number):,}"


def number(cell: str) -> float | None:
    """The number that a cell begins with; None if nothing was measured."""
    try:
        return float(cell.split()[0].replace(",", "").rstrip("%"))
    except (ValueError, IndexError):
        return None


def compared(measured: float, reference: float) -> tuple[str, str]:
    """Two cells: seconds, and their error against the reference."""
    return f"{measured:.3f}", f"{measured / reference - 1:+.1%}"


def verdict(holds: bool, text: str) -> str:
    """The line of a required property."""
    return f"{'yes' if holds else 'NO'}: {text}"


def errors_in(rows: Sequence[Row], column: int) -> list[float]:
    """The measured absolute errors of a column as fractions: 0.05 for "-5.0%"."""
    return [abs(float(row[column].rstrip("%"))) / 100 for row in rows if row[column] != NO_VALUE]


def errors_within(limits: Mapping[str, float], rows: Sequence[Row], first: int) -> list[str]:
    """A verdict per kind: whether the mean of its absolute errors is within its limit.

    A kind is left out if its cells are dashes in all rows, and another kind was measured.

    Args:
        first: column of the first kind's errors; each next one's is two to the right. Left of each
            error are the seconds, or the reason why there are none.
    """
    columns = {kind: first + 2 * i for i, kind in enumerate(limits)}
    tried = [kind for kind, i in columns.items() if any(row[i - 1] != NO_VALUE for row in rows)]
    result = []
    for kind in tried or limits:
        errors = errors_in(rows, columns[kind])
        if not errors:
            result.append(verdict(False, f"{kind}: nothing measured"))
            continue
        mean, limit = statistics.fmean(errors), limits[kind]
        details = f"{mean:.1%}, at most {limit:.0%} (most {max(errors):.1%}, of {len(errors)} runs)"
        result.append(verdict(mean <= limit, f"{kind}: mean absolute error {details}"))
    return result
