"""Parse call sites given by the user: end of a file's path (native: module name) and lines (offsets)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scalatrace.errors import UsageError
from scalatrace.trace.model.callsite import Stack, split_frame

__all__ = ["Range", "parse_ranges", "parse_site", "parse_sites", "passes", "spelled"]

Range = tuple[str, int, int]
"""What the file's path ends with, first line or offset, last."""
ALL = (0, (1 << 64) - 1)

_RANGE = re.compile(r"(?P<file>.+):(?P<low>\w+)-(?P<high>\w+)")


def parse_ranges(texts: Sequence[str]) -> list[Range]:
    """Parse ranges: `["solver.py:10-40", "libx.so:0x100-0x200"]`. Raises UsageError."""
    return [_range(text) for text in texts]


def parse_sites(texts: Sequence[str]) -> list[Range]:
    """Parse ranges or whole files. Raises UsageError."""
    return [_range(text) if ":" in text else (_file(text, text), *ALL) for text in texts]


def parse_site(text: str) -> Range:
    """Parse a range, a whole file, or a line: `solver.py:10`. Raises UsageError."""
    file, _, line = text.rpartition(":")
    return _range(f"{text}-{line}") if file and line.isdecimal() else parse_sites([text])[0]


def passes(stack: Stack, site: Range) -> bool:
    """Return whether any frame of a stack lies in a range."""
    file, low, high = site
    for text in stack:
        frame = split_frame(text)
        if frame.file.endswith(file) and low <= frame.number <= high:
            return True
    return False


def _range(text: str) -> Range:
    match = _RANGE.fullmatch(text)
    try:
        low, high = (int(match[end], 0) for end in ("low", "high")) if match else (1, 0)
    except ValueError:
        low, high = 1, 0
    if match is None or low > high:
        raise UsageError(f"{text!r} is not a range of lines; give FILE:FIRST-LAST such as solver.py:10-40")
    return _file(match["file"], text), low, high


def _file(name: str, text: str) -> str:
    if not name or "=" in name:
        raise UsageError(f"{text!r} is not a range of lines; give FILE:FIRST-LAST such as solver.py:10-40")
    return name


def spelled(site: Range) -> str:
    """Return the range as the user would write it."""
    file, *lines = site
    return file if tuple(lines) == ALL else f"{file}:{lines[0]}-{lines[1]}"
