"""Tables for scripts: `--csv` prints the columns that the help of a command lists.

A command states its tables once. The help and the output both follow from them, so neither lacks a column.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scalatrace.cli.output import add_json
from scalatrace.escapes import write_csv

__all__ = ["CALL_SITE", "Table", "add_formats", "flat", "print_csv"]


@dataclass(frozen=True)
class Table:
    """A table of a command.

    Attributes:
        row: meaning of a row.
        columns: name and meaning of each column; units are in the names. Unknown values are empty.
    """

    row: str
    columns: Mapping[str, str]

    def help(self) -> str:
        """Return the columns as text, a line each."""
        width = max(map(len, self.columns))
        lines = [f"  {name:<{width}}  {meaning}".rstrip() for name, meaning in self.columns.items()]
        return "\n".join([f"columns of --csv, a row per {self.row}:", *lines])


CALL_SITE = {
    "operation": "without MPI_",
    "call site": "innermost frame outside wrappers of MPI",
}


def add_formats(parser: argparse.ArgumentParser, *tables: Table) -> None:
    """Declare `--json` and `--csv`, and list the columns in the help."""
    group = parser.add_mutually_exclusive_group()
    add_json(group)
    group.add_argument("--csv", action="store_true", help="print the table as CSV; columns: see below")
    parser.epilog = "\n\n".join([*(table.help() for table in tables), parser.epilog or ""])


def print_csv(
    table: Table, rows: Iterable[Mapping[str, Any]], without: Collection[str] = (), head: bool = True
) -> None:
    """Print rows with the columns of a table, without some of them; `head`: their names first."""
    names = [name for name in table.columns if name not in without]
    cells = ([row.get(name) for name in names] for row in rows)
    write_csv(sys.stdout, itertools.chain([names] if head else [], cells))


def flat(row: Mapping[str, Any], *parts: str) -> dict[str, Any]:
    """Return a row whose parts, mappings by themselves, become columns `part_name`."""
    result = {name: value for name, value in row.items() if name not in parts}
    for part in parts:
        result |= {f"{part}_{name}": value for name, value in row[part].items()}
    return result
