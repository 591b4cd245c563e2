"""Errors reported to the user, with the exit status of the command."""

from __future__ import annotations

from os import PathLike, fspath

__all__ = [
    "CoreError", "FormatError", "FormulaError", "LimitError", "ScalatraceError", "TextError", "UsageError",
]  # fmt: skip


class ScalatraceError(Exception):
    """An error that commands report as one line without a traceback."""

    exit_status = 1


class UsageError(ScalatraceError):
    """A wrong option or argument: a rank that is not in the trace, an unknown name."""

    exit_status = 2


class CoreError(ScalatraceError):
    """The native core is missing or rejects a call."""


class LimitError(ScalatraceError):
    """A result that needs more time or memory than a stated limit."""


class FormulaError(ScalatraceError):
    """A text that is not a formula, or a formula without value for these sizes."""


class FormatError(ScalatraceError):
    """A file that is missing, damaged or of another kind.

    Attributes:
        path: the file, "" when the bytes came from memory.
        offset: byte at which the reader stopped; None when unknown.
        where: unit of `offset`: "file" or "payload" (the inflated msgpack bytes).
    """

    def __init__(
        self, reason: str, path: str | PathLike[str] = "", offset: int | None = None, where: str = "file"
    ) -> None:
        self.reason, self.path, self.offset, self.where = reason, fspath(path), offset, where
        place = "" if offset is None else f" (byte {offset} of the {where})"
        super().__init__(f"{self.path or 'trace'}: {reason}{place}")


class TextError(ScalatraceError):
    """A syntax error in a text file.

    Attributes:
        path: the file, "" when the text came from memory.
        line, column: where, both from 1.
    """

    def __init__(self, reason: str, path: str | PathLike[str] = "", line: int = 0, column: int = 0) -> None:
        self.reason, self.path, self.line, self.column = reason, fspath(path), line, column
        super().__init__(f"{self.path or 'text'}:{line}:{column}: {reason}")
