"""Tables of commands: a declaration of columns, from which text, JSON, CSV and help follow.

A row is a mapping from names of columns to values. Text shows each value by the kind of its column, which
`scalatrace.report.style` formats; scripts get the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = ["CellKind", "CommandTable", "Row", "TableColumn"]

CellKind = Literal["text", "operation", "site", "place", "count", "bytes", "ns", "s", "ratio", "share"]
"""Texts, operations, call sites and places are at the left, numbers at the right.

A share is between 0 and 1, or a pair of part and whole.
"""

Row = Mapping[str, Any]
"""Name of a column -> value."""


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Attributes:
        name: in JSON and CSV, with the unit.
        heading: in text; None: the column is for scripts only.
        kind: content, which decides how text shows it.
        meaning: a line for the help.
        exact: whether text has all digits of a number; else those of an estimate.
        shown: text of a value where that of the kind does not fit.
        derived: whether scripts lack it, since other columns give it.
        page_heading: of the page, which has room for more words; "": that of the text.
        whole: whether scripts get whole numbers.
        min_width: characters of a terminal from which on it is shown.
    """

    name: str
    heading: str | None = None
    kind: CellKind = "text"
    meaning: str = ""
    exact: bool = True
    shown: Callable[[Any], str] | None = None
    derived: bool = False
    whole: bool = False
    min_width: int = 0
    page_heading: str = ""


@dataclass(frozen=True)
class CommandTable:
    """A table of a command.

    Attributes:
        row: meaning of a row.
    """

    row: str
    columns: tuple[TableColumn, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns for scripts."""
        return [column.name for column in self.columns if not column.derived]

    def only(self, *names: str) -> CommandTable:
        """Return the table with these columns, in this order."""
        by_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(by_name[name] for name in names))

    def without(self, *names: str) -> CommandTable:
        """Return the table without some columns."""
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))

    def estimated(self, *names: str) -> CommandTable:
        """Return the table with some columns as estimates."""
        columns = (replace(c, exact=c.exact and c.name not in names) for c in self.columns)
        return replace(self, columns=tuple(columns))

    def headed(self, **headings: str) -> CommandTable:
        """Return the table with other headings of some columns."""
        columns = (replace(c, heading=headings.get(c.name, c.heading)) for c in self.columns)
        return replace(self, columns=tuple(columns))

    def help(self) -> str:
        """Return names and meanings of the columns as text, a line each."""
        width = max(map(len, self.names))
        listed = [column for column in self.columns if not column.derived]
        lines = [f"  {column.name:<{width}}  {column.meaning}".rstrip() for column in listed]
        return "\n".join([f"columns of --csv, a row per {self.row}:", *lines])

    def plain(self, row: Row) -> dict[str, Any]:
        """Return a row for scripts."""
        return {
            column.name: round(row[column.name]) if _is_rounded(column, row) else row.get(column.name)
            for column in self.columns
            if not column.derived
        }

    def csv(self, rows: Iterable[Row]) -> Iterator[Iterable[Any]]:
        """Yield the names of the columns, then the cells of each row. What a row lacks is None."""
        yield self.names
        for row in rows:
            yield self.plain(row).values()


def _is_rounded(column: TableColumn, row: Row) -> bool:
    return column.whole and row.get(column.name) is not None
