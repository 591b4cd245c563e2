"""Errors a user can cause or meet. Each carries the exit status of the command that meets it."""

from __future__ import annotations

from os import PathLike, fspath

__all__ = [
    "CoreError", "FormatError", "FormulaError", "LimitError", "ScalatraceError", "TextError", "UsageError",
]  # fmt: skip


class ScalatraceError(Exception):
    """Something that the user should read as one line, without a traceback."""

    exit_status = 1


class UsageError(ScalatraceError):
    """The request itself makes no sense: a rank that is not there, an unknown name."""

    exit_status = 2


class CoreError(ScalatraceError):
    """The native core is missing, or refused a call."""


class LimitError(ScalatraceError):
    """The answer would take more time or memory than a stated limit allows."""


class FormulaError(ScalatraceError):
    """A text is no formula, or the formula has no value for these sizes."""


class FormatError(ScalatraceError):
    """A file is not what it should be.

    Attributes:
        path: the file, "" when the bytes came from memory.
        offset: byte at which the reader stopped; None when no single byte is to blame.
        where: what `offset` counts in: "file" or "payload" (the inflated msgpack bytes).
    """

    def __init__(
        self, reason: str, path: str | PathLike[str] = "", offset: int | None = None, where: str = "file"
    ) -> None:
        self.reason, self.path, self.offset, self.where = reason, fspath(path), offset, where
        place = "" if offset is None else f" at byte {offset} of the {where}"
        super().__init__(f"{self.path or 'trace'}: {reason}{place}")


class TextError(ScalatraceError):
    """The text form of a trace does not parse.

    Attributes:
        path: the file, "" when the text came from memory.
        line, column: where, both from 1.
    """

    def __init__(self, reason: str, path: str | PathLike[str] = "", line: int = 0, column: int = 0) -> None:
        self.reason, self.path, self.line, self.column = reason, fspath(path), line, column
        super().__init__(f"{self.path or 'text'}:{line}:{column}: {reason}")
