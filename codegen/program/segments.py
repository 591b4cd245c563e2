"""Long lists of pieces as tables: the piece that an index is in is searched, not compared one by one.

A piece is a list of values that repeats: from its start on, value = content[place % period] + stride * turn.

    terms     9 x 7, 4 x 30, (5 x: 1 2 3), ...        ends     9  13  28  ...      where the next piece begins
    piece     0      1       2             ...        starts   0   9  13  ...
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
    "MAX_ALTERNATIVES", "SearchedRun", "Terms", "one_of", "prefix_in_runs", "run_of", "unroll_pieces",
    "value_in_runs",
]  # fmt: skip

MAX_ALTERNATIVES = 16
"""Alternatives that are compared one by one; more are searched."""

MAX_LISTED = 8
"""Values or terms per number of a loop that takes their place; longer loops are not written out."""

Terms = tuple[Any, ...]


@dataclass(frozen=True)
class SearchedRun:
    """A piece from an index on: values that repeat, each time grown by a stride.

    Attributes:
        nvalues: of the piece; None without end.
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
        turns = self.nvalues // len(self.values)
        return turns * sum(self.values) + self.stride * len(self.values) * (turns * (turns - 1) // 2)


def run_of(piece: Terms, start: int, nvalues: int | None) -> SearchedRun | None:
    """The run of a piece: integers, or one loop whose content is short enough to list; else None."""
    if isinstance(piece[0], int):
        return SearchedRun(start, nvalues, 0, piece)
    _, stride, *inner = piece[0]
    content = Vec(tuple(inner))
    period = content.length
    if period is None or period > MAX_LISTED * _numbers(content.terms):
        return None
    return SearchedRun(start, nvalues, stride, content.first(period))


def _numbers(terms: Any) -> int:
    return 1 if isinstance(terms, int) else sum(map(_numbers, terms))


def unroll_pieces(pieces: Iterable[Terms]) -> Iterator[Terms]:
    """The pieces, with the turns of a few loops of loops, whose content is too long to list, one by one."""
    for piece in pieces:
        turns, stride, *inner = piece[0] if not isinstance(piece[0], int) else (0, 0)
        if not 1 < turns * len(inner) <= MAX_LISTED * _numbers(inner) or run_of(piece, 0, None):
            yield piece
            continue
        for turn in range(turns):
            for term in inner:
                yield (_shift(term, turn * stride),)


def _shift(term: Any, by: int) -> Any:
    if isinstance(term, int):
        return term + by
    return (*term[:2], *(_shift(inner, by) for inner in term[2:]))


def value_in_runs(runs: Sequence[SearchedRun], index: Expr) -> Value:
    """The value at an index that one of the runs has."""
    piece, local = _place(runs, index)
    turn, within = _turn_and_rest(runs, piece, local)
    place = _content_place(runs, piece, within)
    values = [constant(value) for run in runs for value in run.values]
    numbers = [value.value if isinstance(value, Const) else 0 for value in values]
    chosen: Value = _column(numbers, place)
    if any(run.stride for run in runs):
        chosen = add(_column(numbers, place), mul(turn, _column([run.stride for run in runs], piece)))
    for special in dict.fromkeys(value for value in values if isinstance(value, Special)):
        flags = _column([int(value == special) for value in values], place)
        chosen = select(compare("!=", flags, Const(0)), special, chosen)
    return chosen


def prefix_in_runs(runs: Sequence[SearchedRun], totals: Sequence[int], n: Expr) -> Expr:
    """The sum of the values before index n, which is in one of the runs or at the end of the last one.

    Args:
        totals: sums of all values before each run.
    """
    piece, local = _place(runs, n)
    turn, within = _turn_and_rest(runs, piece, local)
    sums = [total for run in runs for total in list(accumulate(run.values, initial=0))[:-1]]
    prefix = add(_column(totals, piece), mul(turn, _column([sum(run.values) for run in runs], piece)))
    if any(sums):
        prefix = add(prefix, _column(sums, _content_place(runs, piece, within)))
    if any(run.stride for run in runs):
        earlier = Binary("/", Binary("*", turn, add(turn, Const(-1))), Const(2))
        grown = add(mul(earlier, _column([len(run.values) for run in runs], piece)), mul(turn, within))
        prefix = add(prefix, mul(grown, _column([run.stride for run in runs], piece)))
    return prefix


def _place(runs: Sequence[SearchedRun], index: Expr) -> tuple[Expr, Expr]:
    """The number of the run that an index is in, and the index from its start on."""
    starts = [run.start for run in runs]
    piece = Search(tuple(starts[1:]), index) if len(runs) > 1 else Const(0)
    return piece, sub(index, _column(starts, piece))


def _turn_and_rest(runs: Sequence[SearchedRun], piece: Expr, local: Expr) -> tuple[Expr, Expr]:
    """How often a run was repeated, and the place in its values."""
    period = _column([len(run.values) for run in runs], piece)
    if period == Const(1):
        return local, Const(0)
    turn = Binary("/", local, period)
    return turn, sub(local, mul(turn, period))


def _content_place(runs: Sequence[SearchedRun], piece: Expr, within: Expr) -> Expr:
    """Where a value is in the values of all runs."""
    offsets = list(accumulate((len(run.values) for run in runs), initial=0))[:-1]
    if offsets[-1] == len(runs) - 1:
        return piece
    return add(_column(offsets, piece), within)


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
