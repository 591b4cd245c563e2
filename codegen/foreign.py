"""Texts from a file, which may not become code: no `str`, so that no emitter can put one into a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from scalatrace.trace.model.callsite import short_frame

__all__ = ["NO_TEXT", "Foreign"]


@dataclass(frozen=True, slots=True)
class Foreign:
    """A name, path or call site as the file has it.

    It cannot be formatted or joined; `scalatrace.codegen.emit.text` has a function for each place of a
    program where a text may stand, which takes it.

    Attributes:
        raw: the text, for comparisons and messages.
    """

    raw: str = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __str__(self) -> NoReturn:
        raise TypeError("a text from a file is made safe for its language before it is written")

    def __format__(self, spec: str) -> NoReturn:
        self.__str__()

    def short_frame(self) -> Foreign:
        """A call site without its directories."""
        return Foreign(short_frame(self.raw))


NO_TEXT = Foreign("")
