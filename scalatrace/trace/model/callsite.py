"""Call sites: frames of a call stack in the recorder's notation, and which of them are wrappers of MPI."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from scalatrace.escapes import clean

__all__ = [
    "Frame",
    "Stack",
    "call_site",
    "callers",
    "is_offset",
    "is_wrapper",
    "native_frames",
    "same_stack",
    "short_frame",
    "split_frame",
]

Stack = tuple[str, ...]
"""Frames, innermost first."""

_PYTHON = re.compile(r"(?P<file>.*):(?P<line>\d{1,18}):(?P<function>.*)", re.DOTALL)
_OFFSET = re.compile(r"0x[0-9a-fA-F]{1,16}")
_NATIVE = re.compile(r"(?P<module>.*?)\+(?P<rest>0x[0-9a-fA-F]{1,16}(:.*)?)", re.DOTALL)

_FUNCTIONS = re.compile(
    r"P?MPI_\w+|p?mpi_\w+|ompi_\w+|MPI::.*|mpi::.*|boost::mpi::.*|"
    r"Foam::(U|I|O|UI|UO)?Pstream(Buffers)?::.*|Foam::UPstream.*"
)
"""Names of functions: bindings and the classes of libraries that only pass messages."""

_MODULES = re.compile(r"lib(p?mpi|boost_mpi|Pstream|mpicxx|mpifort)\b.*|MPI\.[\w.-]*so")
"""Names of libraries that only pass messages."""

_FOLDERS = ("/mpi4py/", "/boost/mpi/")


class Frame(NamedTuple):
    """The parts of a frame.

    Attributes:
        file: source file, or the module of a native frame.
        line: line number; 0 for a native frame.
        function: function name, or the offset within the module: `0x...`, or `0x...:name`.
    """

    file: str
    line: int
    function: str

    @property
    def file_name(self) -> str:
        """The file or module without its directories."""
        return self.file.rpartition("/")[2]

    @property
    def place(self) -> str:
        """The file without directories, and the line; "" where no line is known."""
        return f"{self.file_name}:{self.line}" if self.line else ""

    @property
    def number(self) -> int:
        """The line, or the offset of a native frame; 0: neither is known."""
        offset = self.function.partition(":")[0]
        return self.line or (int(offset, 16) if is_offset(offset) else 0)

    @property
    def name(self) -> str:
        """The function; "" where only an offset is known."""
        offset, _, name = self.function.partition(":")
        return name if not self.line and is_offset(offset) else self.function


@cache
def split_frame(text: str) -> Frame:
    """Take `file:line:function` or `module+0xoffset[:function]` apart; anything else is all file."""
    if match := _PYTHON.fullmatch(text):
        return Frame(match["file"], int(match["line"]), match["function"])
    if match := _NATIVE.fullmatch(text):
        return Frame(match["module"], 0, match["rest"])
    module, plus, offset = text.rpartition("+")
    return Frame(module, 0, offset) if plus and offset.startswith("0x") else Frame(text, 0, "")


def is_offset(text: str) -> bool:
    """Return whether a text is an offset in a module, `0x...`."""
    return _OFFSET.fullmatch(text) is not None


def native_frames(frames: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the frames that are offsets into a program or library: module -> text of a frame -> offset."""
    offsets: dict[str, dict[str, int]] = {}
    for text in frames:
        frame = split_frame(text)
        offset = frame.function.partition(":")[0]
        if not frame.line and is_offset(offset):
            offsets.setdefault(frame.file, {})[text] = int(offset, 16)
    return offsets


@cache
def short_frame(text: str) -> str:
    """Return the frame without directories and control characters, for output: `app.py:12:main`."""
    frame = split_frame(clean(text))
    name = frame.file_name or frame.file
    if frame.line:
        return f"{name}:{frame.line}:{frame.function}"
    return f"{name}+{frame.function}" if frame.function else name


def same_stack(left: Stack, right: Stack, tolerance: int = 0) -> bool:
    """Return whether stacks are equal, but for lines (native: bytes) at most `tolerance` apart (§5.2.3)."""
    if left == right or not tolerance:
        return left == right
    return len(left) == len(right) and all(
        _close(split_frame(a), split_frame(b), tolerance) for a, b in zip(left, right, strict=True)
    )


def _close(a: Frame, b: Frame, tolerance: int) -> bool:
    if a.file != b.file:
        return False
    if a.line or b.line:
        return a.function == b.function and abs(a.line - b.line) <= tolerance
    if a.number and b.number and a.name == b.name:
        return abs(a.number - b.number) <= tolerance
    return a == b


@cache
def is_wrapper(frame: str) -> bool:
    """Return whether a frame lies in a wrapper of MPI."""
    parts = split_frame(frame)
    return (
        _FUNCTIONS.fullmatch(parts.name) is not None
        or _MODULES.fullmatch(parts.file_name) is not None
        or any(folder in parts.file for folder in _FOLDERS)
    )


def call_site(stack: Stack) -> str:
    """Return the frame that all outputs name as the call site: see `callers`; "" without a stack."""
    return next(iter(callers(stack)), "")


def callers(stack: Stack, count: int = 1) -> Stack:
    """Return the innermost frames outside wrappers of MPI; of a stack of wrappers only, the outermost.

    Args:
        count: so many frames at most.
    """
    first = next((i for i, frame in enumerate(stack) if not is_wrapper(frame)), len(stack) - 1)
    return stack[max(first, 0) :][:count]
