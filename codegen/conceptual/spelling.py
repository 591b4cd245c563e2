"""Names as a program spells them, and names that may be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from scalatrace.codegen.conceptual.errors import SourcePlace
from scalatrace.spelling import did_you_mean

__all__ = ["find_spelling", "meant"]

LIKENESS = 0.7
"""Share of letters in common (of both names) from which on a name may be meant."""
MAX_LINES = 20
"""Behind the place of a statement, in which a name of it is looked for."""


@lru_cache(maxsize=1)
def _lines(text: str) -> list[str]:
    return text.split("\n")


def find_spelling(name: str, text: str, place: SourcePlace) -> str:
    """Return a name as it is spelled in a text at a place, or at the first place behind it."""
    lines = _lines(text)[place.line - 1 : place.line + MAX_LINES] if place.line else ()
    tail = "\n".join(lines)[place.column - 1 :]
    match = re.search(rf"\b{re.escape(name)}\b", tail, re.IGNORECASE)
    return match.group() if match else name


def meant(name: str, words: Iterable[str]) -> str:
    """Return "; did you mean ...?" if one of the known names is like a name, else ""."""
    return did_you_mean(name, words, likeness=LIKENESS)
