"""Call sites: the frames of a call stack as the recorder named them."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Frame", "Stack", "short_frame", "split_frame"]

Stack = tuple[str, ...]
"""Frames, innermost first."""

_PYTHON = re.compile(r"(?P<file>.*):(?P<line>\d+):(?P<function>.*)", re.DOTALL)


class Frame(NamedTuple):
    """One frame taken apart.

    Attributes:
        file: source file, or the module of a native frame.
        line: line number; 0 for a native frame.
        function: function name, or the offset `0x...` within the module.
    """

    file: str
    line: int
    function: str


def split_frame(text: str) -> Frame:
    """Take `file:line:function` or `module+0xoffset` apart; anything else is all file."""
    if match := _PYTHON.fullmatch(text):
        return Frame(match["file"], int(match["line"]), match["function"])
    module, plus, offset = text.rpartition("+")
    return Frame(module, 0, offset) if plus and offset.startswith("0x") else Frame(text, 0, "")


def short_frame(text: str) -> str:
    """The frame without its directories, for tables: `app.py:12:main`."""
    frame = split_frame(text)
    name = frame.file.rpartition("/")[2] or frame.file
    if frame.line:
        return f"{name}:{frame.line}:{frame.function}"
    return f"{name}+{frame.function}" if frame.function else name
