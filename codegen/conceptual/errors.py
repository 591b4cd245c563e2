"""What can be wrong with a coNCePTuaL program, each with its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from scalatrace.errors import ScalatraceError

__all__ = ["ErrorStage", "Note", "ProgramError", "SourcePlace"]


class SourcePlace(NamedTuple):
    """Where something stands in a program's text: line and column, both from 1; line 0 is nowhere."""

    line: int = 0
    column: int = 0


class ErrorStage(StrEnum):
    """What of the program is wrong: its form, its meaning, or what it would do when run."""

    SYNTAX = "syntax"
    MEANING = "meaning"
    EXECUTION = "execution"


@dataclass(frozen=True)
class Note:
    """A warning: the program is accepted, but a person should look at this place."""

    text: str
    place: SourcePlace

    def show(self, path: str) -> str:
        """Return the warning as one line."""
        return f"{path or 'program'}:{self.place.line}:{self.place.column}: warning: {self.text}"


class ProgramError(ScalatraceError):
    """A program is wrong.

    Attributes:
        reason: what is wrong, and what was expected.
        place: where in the text.
        stage: which of its form, meaning and execution is wrong.
        path: the file, "" when not known yet.
    """

    def __init__(
        self, reason: str, place: SourcePlace, stage: ErrorStage = ErrorStage.EXECUTION, path: str = ""
    ) -> None:
        self.reason, self.place, self.stage, self.path = reason, place, stage, path
        super().__init__(reason)

    def __str__(self) -> str:
        where = f":{self.place.line}:{self.place.column}" if self.place.line else ""
        return f"{self.path or 'program'}{where}: {self.reason}"
