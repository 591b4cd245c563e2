"""Separate special values (MPI_PROC_NULL, MPI_ANY_TAG, ...) from loops with a stride in value vectors.

The compressor treats all values as integers: it may store PROC_NULL, -1 as two iterations from PROC_NULL with
stride 1000000000. Expressions and formulas need special values as literals: arithmetic is invalid for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from scalatrace.trace.values.vec import SPECIAL, Vec

__all__ = ["separate_specials"]

MAX_EXPANDED_TERMS = 1 << 16
"""Terms of an expanded loop."""


@lru_cache(maxsize=1 << 14)
def separate_specials(vec: Vec, count: int | None = None) -> Vec:
    """Return a vec with the same values in which loops with a stride hold ordinary values only.

    Loops that would take more than `MAX_EXPANDED_TERMS` terms, and endless ones without a count, stay.

    Args:
        count: number of values that are used; None: not known.
    """
    if isinstance(vec.terms, int) or not any(_steps_to_special(term) for term in vec.terms):
        return vec
    parts = _limit_parts(part for term in vec.terms for part in _separate_term(term, count))
    return vec if parts is None else Vec(parts)


def _limit_parts(parts: Iterator[Any]) -> tuple[Any, ...] | None:
    """Return parts as a tuple; None when there are more than MAX_EXPANDED_TERMS."""
    terms = tuple(islice(parts, MAX_EXPANDED_TERMS + 1))
    return terms if len(terms) <= MAX_EXPANDED_TERMS else None


def _steps_to_special(term: Any) -> bool:
    """Return whether a loop with a stride, at any depth, has a special value."""
    if type(term) is int:
        return False
    trip_count, stride, *inner = term
    if stride and trip_count != 1:
        return any(Vec((term,)).find(value) is not None for value in SPECIAL.values())
    return any(map(_steps_to_special, inner))


def _separate_term(term: Any, count: int | None) -> Iterator[Any]:
    if not _steps_to_special(term):
        yield term
        return
    trip_count, stride, *inner = term
    if not stride or trip_count == 1:
        parts = _limit_parts(part for t in inner for part in _separate_term(t, count))
        yield term if parts is None else (trip_count, stride, *parts)
        return
    if trip_count == 0 and count is not None:
        trip_count = -(-count // (Vec(tuple(inner)).length or 1))
    if trip_count == 0 or trip_count * len(inner) > MAX_EXPANDED_TERMS:
        yield term
        return
    for iteration in range(trip_count):
        for t in inner:
            yield from _separate_term(_shift_term(t, iteration * stride), count)


def _shift_term(term: Any, by: int) -> Any:
    """Return a term with a number added to each of its values."""
    if type(term) is int:
        return term + by
    trip_count, stride, *inner = term
    return (trip_count, stride, *(_shift_term(t, by) for t in inner))
