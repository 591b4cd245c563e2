"""Causes of refused extrapolations and next steps: for messages, `--json`, and programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from scalatrace.trace.symbolic.grid import Grid

__all__ = ["Action", "Cause", "NextStep", "Recording", "Refused"]


class Cause(Enum):
    """Reason why the traces do not give a result."""

    DATA = "the values depend on data"
    TIMING = "the values depend on timing"
    FEW_SIZES = "too few sizes"
    TWO_RULES = "two rules fit"
    UNKNOWN_RULE = "no known rule fits"


class Action(Enum):
    """The kind of a next step."""

    RECORD = "record"
    GIVE_SIZE = "give the size of the problem"
    LEAVE_OUT = "leave out a trace"
    OPTION = "use an option"
    CHANGE_PROGRAM = "change the program"


@dataclass(frozen=True, slots=True)
class Recording:
    """A run to record.

    Attributes:
        inputs: the parameters of the program.
        named: those of them that a message has to name: they are not the same in all traces.
    """

    grid: Grid
    inputs: Mapping[str, int] = field(default_factory=dict)
    named: tuple[str, ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {self.inputs[name]}" for name in self.named)
        ranks = f"{self.grid.nprocs} ranks ({self.grid})"
        return f"{ranks} with {given}" if given else ranks

    def plain(self) -> dict[str, Any]:
        """Return plain data."""
        return {"ranks": self.grid.nprocs, "grid": str(self.grid), "inputs": dict(self.inputs)}


@dataclass(frozen=True, slots=True)
class NextStep:
    """Step that leads to a result.

    Attributes:
        text: an imperative, without a full stop.
        recordings: runs of which any one is enough, the smallest first.
        leave_out: the traces to leave out, by their place in order of their size.
    """

    action: Action
    text: str
    recordings: tuple[Recording, ...] = ()
    leave_out: tuple[int, ...] = ()

    @classmethod
    def record(cls, *recordings: Recording) -> NextStep:
        """Return the step of adding a trace of one of these runs."""
        text = ", or of ".join(map(str, recordings))
        return cls(Action.RECORD, f"add a trace of {text}", recordings)

    def plain(self) -> dict[str, Any]:
        """Return plain data."""
        step: dict[str, Any] = {"action": self.action.value, "text": self.text}
        if self.recordings:
            step["any_of"] = [one.plain() for one in self.recordings]
        if self.leave_out:
            step["leave_out"] = list(self.leave_out)
        return step


class Refused(Exception):  # noqa: N818 - it is a part of errors
    """Mixin of errors that refuse an extrapolation: the fact, its cause, and the next step.

    Attributes:
        fact: what is wrong, where, and with which values.
        notes: further lines on how the fact was found.
        cause, step: None until they were looked for.
    """

    def __init__(self, fact: str, cause: Cause | None = None, step: NextStep | None = None) -> None:
        super().__init__(fact)
        self.fact, self.cause, self.step = fact, cause, step
        self.notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.fact, *self.notes]
        if self.cause is not None:
            lines.append(f"cause: {self.cause.value}")
        if self.step is not None:
            lines.append(f"next: {self.step.text}")
        return "\n".join(lines)

    def rename(self, text: Callable[[str], str]) -> None:
        """Change the texts of the fact, such as names of call sites."""
        self.fact, self.notes = text(self.fact), tuple(map(text, self.notes))

    def plain(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "message": "\n".join([self.fact, *self.notes]),
            "cause": None if self.cause is None else self.cause.name.lower().replace("_", " "),
            "next": None if self.step is None else self.step.plain(),
        }
