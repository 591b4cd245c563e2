"""Source lines of call sites, where the files are at hand.

The paths come from the trace. So only files with the suffix of a source file are read, and only
near the line.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path

from scalatrace.trace.model.callsite import split_frame

__all__ = ["SourceLines", "SourceReader"]

SUFFIXES = frozenset(
    (
        *(".py", ".pyx", ".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".cu"),
        *(".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".jl", ".rs"),
    )
)
AROUND = 2
"""Lines before and after."""

MAX_LINE_CHARS, MAX_FILE_BYTES = 160, 8 << 20


@dataclass(frozen=True)
class SourceLines:
    """Lines around a call.

    Attributes:
        first: number of the first line.
        changed: the file is newer than the trace.
    """

    file: str
    line: int
    first: int
    lines: tuple[str, ...]
    changed: bool


class SourceReader:
    """Reads source lines.

    Args:
        date: when the trace was recorded, in ISO format; "": not known.
        enabled: False: no file is read.
    """

    def __init__(self, date: str = "", enabled: bool = True) -> None:
        self._enabled = enabled
        try:
            self._recorded_s = datetime.fromisoformat(date).timestamp()
        except (ValueError, OverflowError, OSError):
            self._recorded_s = float("inf")

    def at(self, frame: str) -> SourceLines | None:
        """Return the lines around a frame; None where its file is not at hand."""
        place = split_frame(frame)
        path = Path(place.file)
        if (
            not self._enabled
            or not place.line
            or not path.is_absolute()
            or path.suffix.lower() not in SUFFIXES
        ):
            return None
        first = max(1, place.line - AROUND)
        text_and_time = _lines(str(path), first, place.line + AROUND)
        if text_and_time is None or len(text_and_time[0]) <= place.line - first:
            return None
        lines, changed_s = text_and_time
        return SourceLines(place.file, place.line, first, lines, changed_s > self._recorded_s)


@lru_cache(maxsize=1 << 12)
def _lines(path: str, first: int, last: int) -> tuple[tuple[str, ...], float] | None:
    """Return lines of a regular file, and when it was changed; None where it cannot be read."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = tuple(line.rstrip()[:MAX_LINE_CHARS] for line in islice(file, first - 1, last))
    except (OSError, ValueError):
        return None
    return lines, status.st_mtime
