"""Compress an integer sequence into the terms of a value vector, for traces written from Python.

The method is that of the event queue: after each value, the tail is matched with the terms before it. Equal
or evenly growing neighbours become a loop; a matching iteration extends a loop. A loop is created only where
it takes fewer bytes than its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from scalatrace.trace.values.vec import INT64, Vec, is_symbol

__all__ = ["compress", "fold_terms", "vec_of"]

WINDOW = 12
"""Maximum length of a loop body, in terms."""

MAX_FOLDED = 1 << 9
"""Maximum number of terms that later folds into one term: iterations of WINDOW terms, and loops of those."""

MAX_REMEMBERED_VALUES, REMEMBERED = 1 << 12, 1 << 12
"""Length of sequences whose terms are kept, and how many: many call sites have the same ones."""


def vec_of(values: Iterable[int]) -> Vec:
    """Return a vec that begins with these values; equal values become a constant, endless vec."""
    listed = list(values)
    if listed and listed.count(listed[0]) == len(listed):
        return Vec(listed[0])
    return Vec(_compress_cached(tuple(listed)) if len(listed) <= MAX_REMEMBERED_VALUES else compress(listed))


@lru_cache(maxsize=REMEMBERED)
def _compress_cached(values: tuple[int, ...]) -> tuple[Any, ...]:
    return compress(values)


def compress(values: Iterable[int]) -> tuple[Any, ...]:
    """Return terms with exactly these values."""
    return fold_terms(values)


def fold_terms(parts: Iterable[Any], max_terms: int | None = None) -> tuple[Any, ...]:
    """Return fewer terms with the same values as these integers or loops.

    Args:
        max_terms: the caller uses no result with more terms, so folding stops early; None: no limit.
    """
    terms: list[Any] = []
    loops = False  # whether there are loops to extend
    remaining = iter(parts)
    for part in remaining:
        terms.append(part)
        if max_terms is not None and len(terms) > max_terms + MAX_FOLDED:
            return (*terms, *remaining)
        loops = loops or type(part) is tuple
        while (loops and _extend(terms)) or _fold(terms):
            loops = True
    return tuple(terms)


def _extend(terms: list[Any]) -> bool:
    """Extend a loop by the terms after it when they are its next iteration."""
    for width, loop in enumerate(terms[-2 : -WINDOW - 2 : -1], 1):
        if type(loop) is tuple and len(loop) == width + 2:
            trip_count, stride = loop[:2]
            if _distance(loop[2], terms[-width]) != trip_count * stride:
                continue  # cheap test first
            if _step(loop[2:], terms[-width:]) == trip_count * stride:
                terms[-width - 1 :] = [(trip_count + 1, *loop[1:])]
                return True
    return False


def _fold(terms: list[Any]) -> bool:
    """Replace the last equal or evenly growing groups of terms by a loop, if that is smaller."""
    last = terms[-1]
    single = type(last) is int
    for width in range(1, min(WINDOW, len(terms) // 2) + 1):
        before, a, b = terms[-width - 1], terms[-2 * width], terms[-width]
        if type(before) is not type(last) or type(a) is not type(b):
            continue  # cheap test first: compare the ends
        if single:
            if type(a) is int and b - a != last - before:
                continue
            if width == 1 and (
                len(terms) < 3 or type(terms[-3]) is not int or terms[-3] + last != 2 * before
            ):
                continue  # no progression of three
        elif before[:2] != last[:2]:
            continue
        body = terms[-width:]
        stride = _step(terms[-2 * width : -width], body)
        if stride is None or stride not in INT64:
            continue  # the file cannot store this stride
        cost = sum(map(_cost, body))
        trip_count = 2 + (2 + _cost(stride)) // cost  # the smallest that saves bytes
        if width == 1 and type(body[0]) is int:
            trip_count = max(
                trip_count, 3
            )  # any two integers are a progression, which would prevent longer loops
        if trip_count * width <= len(terms) and _even(terms, width, stride, trip_count):
            first = terms[-trip_count * width : len(terms) - (trip_count - 1) * width]
            terms[-trip_count * width :] = [(trip_count, stride, *first)]
            return True
    return False


def _even(terms: list[Any], width: int, stride: int, trip_count: int) -> bool:
    end = len(terms)
    return all(
        _step(terms[end - (i + 1) * width : end - i * width], terms[end - i * width : end - (i - 1) * width])
        == stride
        for i in range(1, trip_count)
    )


def _step(a: Sequence[Any], b: Sequence[Any]) -> int | None:
    """Return the d for which b is a with d added to every value; None when there is none."""
    step = _distance(a[0], b[0])
    if step is None:
        return None
    for x, y in zip(a, b, strict=True):
        if _distance(x, y) != step:
            return None
    return step


def _distance(a: Any, b: Any) -> int | None:
    if type(a) is int and type(b) is int:
        return b - a if a == b or not (is_symbol(a) or is_symbol(b)) else None
    if type(a) is int or type(b) is int or len(a) != len(b) or a[:2] != b[:2]:
        return None
    return _step(a[2:], b[2:])


def _cost(term: Any) -> int:
    """Return the bytes of a term in the file."""
    if type(term) is tuple:
        return 1 + sum(map(_cost, term))
    if -32 <= term < 128:
        return 1
    size = abs(term)
    return 2 if size < 1 << 8 else 3 if size < 1 << 16 else 5 if size < 1 << 32 else 9
