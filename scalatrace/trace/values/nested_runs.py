"""Fold runs of ranks greedily into nested terms `(count, stride, nest, ...)` around integers.

    (3, 1, 6)  (3, 1, 11)  (3, 1, 16)        three ranks in each of three rows
    (3, 5, (3, 1, 6))                        folded

Where different rows alternate (the borders of each plane of a grid), several nests repeat together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["fold_runs", "shape_of", "single_nests", "start_of"]

MIN_FOLDED_NESTS = 4
"""Up to this number of nests, no groups of nests are folded."""

MAX_GROUP_NESTS = 8
"""Nests that repeat together."""

MAX_SEARCHED_NESTS = 1 << 10
"""Nests among which repeating groups are searched."""


def fold_runs(runs: Sequence[Any]) -> tuple[Any, ...]:
    """Return nests with the same ranks as runs, which are integers or `(count, 1, start)`."""
    terms = _fold_repeats(list(runs), 1)
    while MIN_FOLDED_NESTS < len(terms) <= MAX_SEARCHED_NESTS:
        shorter = terms
        for width in range(2, MAX_GROUP_NESTS + 1):
            shorter = _fold_repeats(shorter, width)
        shorter = _fold_repeats(shorter, 1)
        if _integers(shorter) >= _integers(terms):
            break
        terms = shorter
    return tuple(terms)


def single_nests(term: Any) -> Iterator[Any]:
    """Yield nests around one nest each, which together have the ranks of a nest around several."""
    if type(term) is int:
        yield term
        return
    count, stride, *inner = term
    yield from ((count, stride, nest) for part in inner for nest in single_nests(part))


def start_of(term: Any) -> int:
    """Return the first rank of a nest."""
    while type(term) is tuple:
        term = term[2]
    return int(term)


def shape_of(term: Any) -> tuple[Any, ...]:
    """Return counts and strides, outermost first; where a nest holds several, also the start of each."""
    dims: list[Any] = []
    while type(term) is tuple:
        dims += term[:2]
        if len(term) > 3:
            first = start_of(term)
            dims.append(tuple((start_of(part) - first, shape_of(part)) for part in term[2:]))
            break
        term = term[2]
    return tuple(dims)


def _integers(terms: Sequence[Any]) -> int:
    """Return the number of integers that the terms take in a file."""
    return sum(1 if type(term) is int else _integers(term) for term in terms)


def _fold_repeats(terms: list[Any], width: int) -> list[Any]:
    """Fold groups of `width` neighbours until none is left to fold."""
    while len(shorter := _fold(terms, width)) < len(terms):
        terms = shorter
    return terms


def _fold(terms: list[Any], width: int) -> list[Any]:
    """Group neighbours of one shape at one distance, but no pair whose second begins a longer group."""
    starts, shapes = [start_of(t) for t in terms], [shape_of(t) for t in terms]
    terms_out, i = [], 0
    while i < len(terms):
        n = _group(starts, shapes, i, width)
        if n == 2 and _group(starts, shapes, i + 1, width) > 2:
            n = 1
        if n == 1:
            terms_out.append(terms[i])
            i += 1
        else:
            terms_out.append((n, starts[i + width] - starts[i], *terms[i : i + width]))
            i += n * width
    return terms_out


def _group(starts: list[int], shapes: list[tuple[Any, ...]], i: int, width: int) -> int:
    """Return how many groups of `width` terms, from the i-th on, have equal shapes and one distance."""
    if i + 2 * width > len(starts):
        return 1
    stride = starts[i + width] - starts[i]
    j = i + width
    while j < len(starts) and shapes[j] == shapes[j - width] and starts[j] - starts[j - width] == stride:
        j += 1
    return (j - i) // width
