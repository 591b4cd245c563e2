"""Value vectors in which no loop counts from a special value (MPI_PROC_NULL, MPI_ANY_TAG, ...) to others.

The compressor treats all values as integers: it may store PROC_NULL, -1 as two turns from PROC_NULL by
1000000000. Expressions and formulas need the special values as they are: no arithmetic holds for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from scalatrace.trace.values.vec import SPECIAL, Vec

__all__ = ["separate_specials"]

MAX_WRITTEN_OUT = 1 << 16
"""Terms that loops are written out to at most."""


@lru_cache(maxsize=1 << 14)
def separate_specials(vec: Vec, count: int | None = None) -> Vec:
    """Return a vec with the same values in which loops with a stride hold ordinary values only.

    Loops that would take more than `MAX_WRITTEN_OUT` terms, and endless ones without a count, stay.

    Args:
        count: number of values that are used; None: not known.
    """
    if isinstance(vec.terms, int) or not any(_steps_to_special(term) for term in vec.terms):
        return vec
    parts = _limited(part for term in vec.terms for part in _separated(term, count))
    return vec if parts is None else Vec(parts)


def _limited(parts: Iterator[Any]) -> tuple[Any, ...] | None:
    """Parts as a tuple; None when there are more than MAX_WRITTEN_OUT."""
    found = tuple(islice(parts, MAX_WRITTEN_OUT + 1))
    return found if len(found) <= MAX_WRITTEN_OUT else None


def _steps_to_special(term: Any) -> bool:
    """Whether a loop with a stride, at any depth, has a special value."""
    if type(term) is int:
        return False
    turns, stride, *inner = term
    if stride and turns != 1:
        return any(Vec((term,)).find(value) is not None for value in SPECIAL.values())
    return any(map(_steps_to_special, inner))


def _separated(term: Any, count: int | None) -> Iterator[Any]:
    if not _steps_to_special(term):
        yield term
        return
    turns, stride, *inner = term
    if not stride or turns == 1:
        parts = _limited(part for t in inner for part in _separated(t, count))
        yield term if parts is None else (turns, stride, *parts)
        return
    if turns == 0 and count is not None:
        turns = -(-count // (Vec(tuple(inner)).length or 1))
    if turns == 0 or turns * len(inner) > MAX_WRITTEN_OUT:
        yield term
        return
    for turn in range(turns):
        for t in inner:
            yield from _separated(_shifted(t, turn * stride), count)


def _shifted(term: Any, by: int) -> Any:
    """A term with a number added to each of its values."""
    if type(term) is int:
        return term + by
    turns, stride, *inner = term
    return (turns, stride, *(_shifted(t, by) for t in inner))
