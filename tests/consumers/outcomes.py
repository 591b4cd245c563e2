"""What a consumer did with a recording: agreed, refused with one line, or disagreed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from consumers.recording import Recording


class Verdict(StrEnum):
    """Outcomes, as the table names them."""

    EQUAL = "equal"
    REFUSED = "refused"
    DIFFERENT = "disagreements"


@dataclass(frozen=True)
class Outcome:
    """A verdict and its reason; "" where all is equal."""

    verdict: Verdict
    reason: str = ""


EQUAL = Outcome(Verdict.EQUAL)
Consumer = Callable[[Recording], Outcome]


def refused(reason: str) -> Outcome:
    """Return a refusal; one that takes several lines is a disagreement."""
    text = reason.strip()
    return Outcome(Verdict.REFUSED if "\n" not in text else Verdict.DIFFERENT, text)


def different(reason: str) -> Outcome:
    """Return a disagreement."""
    return Outcome(Verdict.DIFFERENT, reason.strip())
