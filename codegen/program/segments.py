"""Long lists of terms as tables of segments: the segment of an index is searched, not compared one by one.

A segment is a list of values that repeats: value = content[place % period] + stride * repetition.

    terms     9 x 7, 4 x 30, (5 x: 1 2 3), ...        ends     9  13  28  ...      of segments
    segment   0      1       2             ...        starts   0   9  13  ...
                                                      contents 7  30  1 2 3 ...    offsets 0 1 2 5 ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from scalatrace.formula import (
    Binary,
    Const,
    Expr,
    Item,
    Search,
    Special,
    Value,
    add,
    compare,
    mul,
    select,
    sub,
)
from scalatrace.trace.symbolic.special_values import constant
from scalatrace.trace.values.vec import Vec

__all__ = [
    "MAX_ALTERNATIVES", "ListSegment", "Terms", "one_of", "prefix_in_segments", "segment_of", "unroll_pieces",
    "value_in_segments",
]  # fmt: skip

MAX_ALTERNATIVES = 16
"""Alternatives that are compared one by one; more are searched."""

MAX_LISTED = 8
"""Values or terms per number of a loop that takes their place; longer loops are not written out."""

Terms = tuple[Any, ...]


@dataclass(frozen=True)
class ListSegment:
    """Values from an index on that repeat, each time grown by a stride.

    Attributes:
        nvalues: of all repetitions; None without end.
    """

    start: int
    nvalues: int | None
    stride: int
    values: tuple[int, ...]

    @property
    def total(self) -> int:
        """The sum of all values; 0 without end."""
        if self.nvalues is None:
            return 0
        count = self.nvalues // len(self.values)
        return count * sum(self.values) + self.stride * len(self.values) * (count * (count - 1) // 2)


def segment_of(piece: Terms, start: int, nvalues: int | None) -> ListSegment | None:
    """The segment of a piece of terms: integers, or one loop whose content is short to list; else None."""
    if isinstance(piece[0], int):
        return ListSegment(start, nvalues, 0, piece)
    _, stride, *inner = piece[0]
    content = Vec(tuple(inner))
    period = content.length
    if period is None or period > MAX_LISTED * _numbers(content.terms):
        return None
    return ListSegment(start, nvalues, stride, content.first(period))


def _numbers(terms: Any) -> int:
    return 1 if isinstance(terms, int) else sum(map(_numbers, terms))


def unroll_pieces(pieces: Iterable[Terms]) -> Iterator[Terms]:
    """The pieces, with the turns of a few loops of loops, whose content is too long to list, one by one."""
    for piece in pieces:
        turns, stride, *inner = piece[0] if not isinstance(piece[0], int) else (0, 0)
        if not 1 < turns * len(inner) <= MAX_LISTED * _numbers(inner) or segment_of(piece, 0, None):
            yield piece
            continue
        for turn in range(turns):
            for term in inner:
                yield (_shift(term, turn * stride),)


def _shift(term: Any, by: int) -> Any:
    if isinstance(term, int):
        return term + by
    return (*term[:2], *(_shift(inner, by) for inner in term[2:]))


def value_in_segments(segments: Sequence[ListSegment], index: Expr) -> Value:
    """The value at an index that one of the segments has."""
    number, local = _place(segments, index)
    repetition, within = _repetition_and_rest(segments, number, local)
    place = _content_place(segments, number, within)
    values = [constant(value) for segment in segments for value in segment.values]
    numbers = [value.value if isinstance(value, Const) else 0 for value in values]
    chosen: Value = _column(numbers, place)
    strides = [segment.stride for segment in segments]
    if any(strides):
        chosen = add(_column(numbers, place), mul(repetition, _column(strides, number)))
    for special in dict.fromkeys(value for value in values if isinstance(value, Special)):
        flags = _column([int(value == special) for value in values], place)
        chosen = select(compare("!=", flags, Const(0)), special, chosen)
    return chosen


def prefix_in_segments(segments: Sequence[ListSegment], totals: Sequence[int], n: Expr) -> Expr:
    """The sum of the values before index n, which is in one of the segments or at the end of the last one.

    Args:
        totals: sums of all values before each segment.
    """
    number, local = _place(segments, n)
    repetition, within = _repetition_and_rest(segments, number, local)
    sums = [total for segment in segments for total in list(accumulate(segment.values, initial=0))[:-1]]
    own_sums = [sum(segment.values) for segment in segments]
    prefix = add(_column(totals, number), mul(repetition, _column(own_sums, number)))
    if any(sums):
        prefix = add(prefix, _column(sums, _content_place(segments, number, within)))
    strides = [segment.stride for segment in segments]
    if any(strides):
        earlier = Binary("/", Binary("*", repetition, add(repetition, Const(-1))), Const(2))
        periods = _column([len(segment.values) for segment in segments], number)
        grown = add(mul(earlier, periods), mul(repetition, within))
        prefix = add(prefix, mul(grown, _column(strides, number)))
    return prefix


def _place(segments: Sequence[ListSegment], index: Expr) -> tuple[Expr, Expr]:
    """The number of the segment that an index is in, and the index from its start on."""
    starts = [segment.start for segment in segments]
    number = Search(tuple(starts[1:]), index) if len(segments) > 1 else Const(0)
    return number, sub(index, _column(starts, number))


def _repetition_and_rest(segments: Sequence[ListSegment], number: Expr, local: Expr) -> tuple[Expr, Expr]:
    """The number of the repetition within a segment, and the place in its values."""
    period = _column([len(segment.values) for segment in segments], number)
    if period == Const(1):
        return local, Const(0)
    repetition = Binary("/", local, period)
    return repetition, sub(local, mul(repetition, period))


def _content_place(segments: Sequence[ListSegment], number: Expr, within: Expr) -> Expr:
    """Where a value is in the values of all segments."""
    offsets = list(accumulate((len(segment.values) for segment in segments), initial=0))[:-1]
    if offsets[-1] == len(segments) - 1:
        return number
    return add(_column(offsets, number), within)


def _column(numbers: Sequence[int], index: Expr) -> Expr:
    """An entry of a table, or the number that all entries are."""
    return Const(numbers[0]) if len(set(numbers)) == 1 else Item(tuple(numbers), index)


def one_of(parts: Sequence[tuple[int, Value]], index: Expr) -> Value:
    """The value of the last part that does not start behind an index.

    Args:
        parts: their first index and value; the first part starts at 0.
    """
    if len(parts) > MAX_ALTERNATIVES:
        middle = len(parts) // 2
        low, high = one_of(parts[:middle], index), one_of(parts[middle:], index)
        return select(compare("<", index, Const(parts[middle][0])), low, high)
    *earlier, (end, result) = parts
    for start, before in reversed(earlier):
        result = select(compare("<", index, Const(end)), before, result)
        end = start
    return result
