"""Runs of ranks folded into nests, `(count, stride, nest, ...)` around integers: few, by a greedy fold.

    (3, 1, 6)  (3, 1, 11)  (3, 1, 16)        three ranks in each of three rows
    (3, 5, (3, 1, 6))                        folded

Where rows look different in turn (the borders of each plane of a grid), several nests are repeated together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["folded", "nests", "shape_of", "start_of"]

FEWEST = 4
"""Nests that are left as they are."""

WIDEST = 8
"""Nests that are repeated together, at most."""

MOST = 1 << 10
"""Nests left by the fold of single ones among which such are looked for."""


def folded(runs: Sequence[Any]) -> tuple[Any, ...]:
    """Nests of the same ranks as runs, which are integers or `(count, 1, start)`."""
    terms = _repeated(list(runs), 1)
    while FEWEST < len(terms) <= MOST:
        shorter = terms
        for width in range(2, WIDEST + 1):
            shorter = _repeated(shorter, width)
        shorter = _repeated(shorter, 1)
        if _integers(shorter) >= _integers(terms):
            break
        terms = shorter
    return tuple(terms)


def nests(term: Any) -> Iterator[Any]:
    """A nest around several as nests around one each: together they have the same ranks."""
    if type(term) is int:
        yield term
        return
    count, stride, *inner = term
    yield from ((count, stride, nest) for part in inner for nest in nests(part))


def start_of(term: Any) -> int:
    """The first rank of a nest."""
    while type(term) is tuple:
        term = term[2]
    return int(term)


def shape_of(term: Any) -> tuple[Any, ...]:
    """Counts and strides, the outermost first; of several nests in one also where each begins."""
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
    """How many a file has of them."""
    return sum(1 if type(term) is int else _integers(term) for term in terms)


def _repeated(terms: list[Any], width: int) -> list[Any]:
    """Nests with neighbours put together, so many at once, as long as there are any."""
    while len(shorter := _fold(terms, width)) < len(terms):
        terms = shorter
    return terms


def _fold(terms: list[Any], width: int) -> list[Any]:
    """Group neighbours of one shape at one distance, but no pair whose second begins a longer group."""
    starts, shapes = [start_of(t) for t in terms], [shape_of(t) for t in terms]
    found, i = [], 0
    while i < len(terms):
        n = _group(starts, shapes, i, width)
        if n == 2 and _group(starts, shapes, i + 1, width) > 2:
            n = 1
        if n == 1:
            found.append(terms[i])
            i += 1
        else:
            found.append((n, starts[i + width] - starts[i], *terms[i : i + width]))
            i += n * width
    return found


def _group(starts: list[int], shapes: list[tuple[Any, ...]], i: int, width: int) -> int:
    """How many times as many terms as `width`, from the i-th on, are alike and at one distance."""
    if i + 2 * width > len(starts):
        return 1
    stride = starts[i + width] - starts[i]
    j = i + width
    while j < len(starts) and shapes[j] == shapes[j - width] and starts[j] - starts[j - width] == stride:
        j += 1
    return (j - i) // width
