"""Numbers in rows and columns of files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError, SourcePlace

__all__ = ["cell"]

Part = TypeVar("Part")


def cell(node: t.FileData, row: int, column: int) -> float:
    """Return the number in a row and a column of the file; both count from 1, or from the end.

    Raises:
        ProgramError: there is no such file or place, or no number there.
    """
    rows = _table(node.path, node.column_separators, node.row_separators, node.place)
    cells = _pick(rows, row, "row", node)
    text = _pick(cells, column, "column", node)
    try:
        return float(text)
    except ValueError:
        raise ProgramError(
            f"{node.path}: row {row}, column {column} is {text!r}, no number", node.place
        ) from None


def _pick(parts: Sequence[Part], number: int, what: str, node: t.FileData) -> Part:
    index = number - 1 if number > 0 else number + len(parts)
    if number == 0 or not 0 <= index < len(parts):
        reason = f"{node.path} has {len(parts)} {what}s there, but {what} {number} is wanted"
        raise ProgramError(reason, node.place)
    return parts[index]


@lru_cache
def _table(path: str, columns: str | None, rows: str | None, place: SourcePlace) -> list[list[str]]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise ProgramError(f"{path}: cannot read: {error.strerror}", place) from None
    lines = _split(text, "\n" if rows is None else rows)
    return [_split(line, " \t" if columns is None else columns) for line in lines]


def _split(text: str, separators: str) -> list[str]:
    """Parts between separators, any number of which may stand together."""
    for each in separators[1:]:
        text = text.replace(each, separators[0])
    return [part for part in (text.split(separators[0]) if separators else [text]) if part.strip()]
