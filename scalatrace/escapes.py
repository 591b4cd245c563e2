"""Texts from files on a terminal and in tables: control characters are shown, formulas do not run."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import IO, Any

__all__ = ["LINES", "clean", "is_number", "write_csv"]

LINES = "\n\t"
"""Control characters of messages with several lines."""


def clean(text: str, keep: str = "") -> str:
    """Return a text with its control characters escaped, but for those to keep."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else f"\\x{ord(c):02x}" for c in text)


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters from which spreadsheets take a cell for a formula."""


def write_csv(file: IO[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write rows of cells as CSV.

    None is an empty cell; the items of a list are separated by spaces. A text that a spreadsheet would run
    as a formula gets an apostrophe in front; numbers stay numbers. Control characters are escaped.
    """
    csv.writer(file, lineterminator="\n").writerows(_cells(row) for row in rows)


def _cells(row: Iterable[Any]) -> Iterator[Any]:
    for value in row:
        yield value if isinstance(value, int | float) else _cell("" if value is None else value)


def _cell(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return clean(f"'{text}" if text.startswith(_FORMULA_STARTS) and not is_number(text) else text)


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
