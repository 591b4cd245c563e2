"""Split a value into its structure (equal in all traces) and its integers (fitted).

Vec(((4, 0, (3, 1, 7)),))    shape [[_ _ [_ _ _]]], slots 4 0 3 1 7
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from scalatrace.errors import FormatError
from scalatrace.trace.symbolic.field import Shape
from scalatrace.trace.values.compress import compress, vec_of
from scalatrace.trace.values.specials import separate_specials
from scalatrace.trace.values.vec import Vec

__all__ = ["Parts", "bracketed", "cycle", "is_vec", "join", "split", "vec_from", "vec_parts"]


@dataclass(frozen=True, slots=True)
class Parts:
    """A value's shape and its integers.

    Attributes:
        times: of a vec, how many of its values are used; 0: not known.
        width: how many of them belong to one execution of what is around, if that is always the same; else 0.
    """

    shape: Shape
    slots: tuple[int, ...]
    times: int = field(default=0, compare=False)
    width: int = field(default=0, compare=False)


def vec_parts(vec: Vec, times: int = 0, width: int = 0) -> Parts:
    """Return a value vector's parts; `times` of its values are used, `width` each time.

    Its integers are values, counts and strides between ordinary values: formulas hold for none other.
    """
    return replace(split(separate_specials(vec, times or None).terms), times=times, width=width)


def cycle(row: Sequence[int]) -> Vec:
    """Return the endless repetition of these values."""
    if len(set(row)) == 1:
        return vec_of(row)
    return Vec(((0, 0, *compress(row)),))


def vec_from(shape: Shape, slots: Iterator[int]) -> Vec:
    """Return a value vector from its parts; loops of at most one turn are written out."""
    if shape is None:
        return Vec(next(slots))
    terms = tuple(_flat(join(shape, slots), last=True))
    try:
        return Vec.decode(terms)
    except ValueError as error:
        raise FormatError(f"corrupt formulas: {error}") from None


@lru_cache(maxsize=1 << 12)
def is_vec(shape: Shape) -> bool:
    """Return whether a shape, such as that of a value vector, has integers only."""
    return shape is None or (isinstance(shape, tuple) and all(map(is_vec, shape)))


def split(terms: Any) -> Parts:
    """Split nested tuples of strings and integers (or formulas) into integers and shape, with the strings."""
    slots: list[int] = []

    def walk(term: Any) -> Shape:
        if type(term) is tuple:
            return tuple(map(walk, term))
        if type(term) is str:
            return term
        slots.append(term)
        return None

    return Parts(walk(terms), tuple(slots))


def join(shape: Shape, slots: Iterator[Any]) -> Any:
    """Join a shape and its integers, or what stands for them: the inverse of `split`."""
    if shape is None:
        return next(slots)
    return tuple(join(part, slots) for part in shape) if type(shape) is tuple else shape


def bracketed(terms: Any) -> str:
    """Return nested tuples of texts as one text: `[a [b c]]`."""
    return f"[{' '.join(map(bracketed, terms))}]" if type(terms) is tuple else str(terms)


def _flat(terms: tuple[Any, ...], last: bool = False) -> Iterator[Any]:
    """Terms without the loops that turned out to run once or not at all; the last may be endless."""
    for at, term in enumerate(terms, 1):
        if type(term) is not tuple:
            yield term
            continue
        if len(term) < 3:
            raise FormatError("corrupt formulas: a loop of a value vector has no content")
        turns, stride, *inner = term
        body = tuple(_flat(tuple(inner)))
        if turns == 1:
            yield from body
        elif turns > 1 or (turns == 0 and last and at == len(terms)):
            yield (turns, stride, *body)
