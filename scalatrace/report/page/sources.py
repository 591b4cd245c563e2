"""Source lines of call sites, and loops around them, where the files are at hand.

The paths come from the trace. So only files with the suffix of a source file are read, and only
near the line.
"""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
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

MAX_LINE_CHARS, MAX_FILE_BYTES, MAX_PARSED_BYTES = 160, 8 << 20, 1 << 19


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

    def has_loop(self, first: str, last: str) -> bool | None:
        """Return whether a loop of a Python function holds the lines of two frames of it.

        None: the file is not at hand, is newer than the trace, or cannot be parsed.
        """
        a, b = split_frame(first), split_frame(last)
        if not self._enabled or a.file != b.file or not a.line or not b.line or not a.file.endswith(".py"):
            return None
        try:
            status = os.stat(a.file)
        except (OSError, ValueError):
            return None
        is_plain = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_PARSED_BYTES
        if not Path(a.file).is_absolute() or not is_plain or status.st_mtime > self._recorded_s:
            return None
        if not (functions := _functions(a.file, status.st_mtime_ns)):
            return None
        around = [
            each
            for each in functions
            if each.first <= min(a.line, b.line) <= max(a.line, b.line) <= each.last
        ]
        innermost = max(around, key=lambda each: each.first)
        return any(start <= a.line <= end and start <= b.line <= end for start, end in innermost.loops)


@dataclass(frozen=True)
class _SourceFunction:
    """First and last line of a function or module, and of each loop in it outside of further functions."""

    first: int
    last: int
    loops: tuple[tuple[int, int], ...]


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@lru_cache(maxsize=256)
def _functions(path: str, changed_ns: int) -> tuple[_SourceFunction, ...]:
    """Return the functions of a Python file, its own code first; (): it cannot be read.

    Args:
        changed_ns: when the file was changed, which makes another entry of the cache.
    """
    try:
        tree = ast.parse(Path(path).read_bytes())
        nodes = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
        functions = [_SourceFunction(0, 1 << 31, tuple(_loops(tree)))]
        functions += [
            _SourceFunction(each.lineno, each.end_lineno or each.lineno, tuple(_loops(each)))
            for each in nodes
        ]
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ()
    return tuple(functions)


def _loops(function: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.iter_child_nodes(function):
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, LOOPS):
            yield node.lineno, node.end_lineno or node.lineno
        yield from _loops(node)


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
