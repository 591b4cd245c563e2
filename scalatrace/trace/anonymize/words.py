"""Words in texts: those of MPI, and those that reveal names of the application."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

__all__ = ["MIN_WORD_LENGTH", "WORD", "is_text_of_mpi", "leaked", "words"]

MIN_WORD_LENGTH = 3
"""Shorter words tell nothing, and are found everywhere."""

WORD = re.compile(r"[^\W\d]\w*")

_REPRESENTATIONS = ("native", "internal", "external32")
_FLAG = re.compile(r"MPI_\w+|\d+")


def words(text: str) -> set[str]:
    """Return the words of a text."""
    return {word for word in WORD.findall(text) if len(word) >= MIN_WORD_LENGTH}


def is_text_of_mpi(text: str) -> bool:
    """Return whether a text is empty, a data representation, or constants of MPI and numbers joined by |."""
    return text in ("", *_REPRESENTATIONS) or all(map(_FLAG.fullmatch, text.removesuffix("|").split("|")))


def leaked(text: str, secrets: Iterable[str], is_own: Callable[[str], bool]) -> set[str]:
    """Return the secrets that a text holds: whole ones that are no words, and words of all of them.

    Args:
        secrets: texts that must not be found.
        is_own: whether a word of the text may stand there although a secret has it, too.
    """
    strings = [s for s in secrets if words(s)]
    leaked_strings = {s for s in strings if len(s) > MIN_WORD_LENGTH and not WORD.fullmatch(s) and s in text}
    secret_words = {word for s in strings for word in words(s)}
    return leaked_strings | {word for word in words(text) & secret_words if not is_own(word)}
