"""Names that a misspelt word may stand for."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean"]

LIKENESS = 0.6
"""Share of letters in common (of both names) from which on a name is suggested."""


def did_you_mean(word: str, words: Iterable[str], count: int = 1, likeness: float = LIKENESS) -> str:
    """Return "; did you mean ...?" with at most `count` known names that resemble a word, else ""."""
    spelled = {name.lower(): name for name in words}
    close = get_close_matches(word.lower(), spelled, count, likeness)
    return f"; did you mean {' or '.join(spelled[name] for name in close)}?" if close else ""
