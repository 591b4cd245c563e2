"""Find loops in sequences of symbols: a repeated part is a loop, wherever it stands, in any sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.alignment.rank_tree import Key

MAX_PERIOD = 1 << 13
"""Calls and loops in the body of a loop that is sought."""

__all__ = ["Line", "LineToken", "Symbols", "complete_trips", "fold_all"]


class LineToken(NamedTuple):
    """A call, or a loop, in the sequence of one rank.

    Attributes:
        symbol: equal for calls of one operation and call site, and for loops around equal symbols.
        call: of a call: its position in the sequence; -1: it is not made.
        trips: of a loop: its iterations.
    """

    symbol: int
    call: int = -1
    trips: tuple[tuple[LineToken, ...], ...] = ()


Line = list[LineToken]


class Symbols:
    """Numbers for calls and bodies of loops.

    Attributes:
        bodies: of each loop.
        stages: loops over stages.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self.bodies: dict[int, tuple[int, ...]] = {}
        self.stages: set[int] = set()

    def of_call(self, key: Key) -> int:
        """Return the symbol of a call."""
        return self._numbers.setdefault(key, len(self._numbers))

    def of_loop(self, body: tuple[int, ...], stages: tuple[int, ...] | None = None) -> int:
        """Return the symbol of a loop around these symbols, or of a block of these stages."""
        number = self._numbers.setdefault(("loop", body, stages), len(self._numbers))
        self.bodies[number] = body
        return number

    def of_stages(self, body: tuple[int, ...]) -> int:
        """Return the symbol of a loop over stages, which is never merged with other loops."""
        number = self.of_loop(body)
        self.stages.add(number)
        return number


def fold_all(lines: dict[int, Line], symbols: Symbols) -> None:
    """Fold all sequences, short bodies first; what is a loop in one is a loop in all.

    Loops of a period are made in all sequences before longer periods are tried. So calls that some ranks
    repeat are loops on all of them, also within longer loops.
    """
    unrepeated = dict.fromkeys(lines, 0)  # no part of up to this period repeats
    period = 1
    while True:
        folded = False
        for point, line in lines.items():
            if unrepeated[point] < period:
                lines[point] = _fold(line, period, symbols)
                unrepeated[point] = 0 if lines[point] is not line else period
                folded |= lines[point] is not line
        period += 1
        is_last = period > MAX_PERIOD or 2 * period > max(map(len, lines.values()), default=0)
        if not folded and not is_last:
            continue
        for point, line in lines.items():
            lines[point] = _wrap_bodies(line, symbols)
            if lines[point] is not line:
                folded, unrepeated[point] = True, 0
        if not folded:
            return
        period = 1


def complete_trips(tokens: Sequence[LineToken], symbols: Symbols) -> tuple[LineToken, ...]:
    """Return folded tokens with the start of a loop's body after the loop as its last trip."""
    result: list[LineToken] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.trips and token.symbol not in symbols.stages:
            trips = [complete_trips(trip, symbols) for trip in token.trips]
            body = symbols.bodies[token.symbol]
            count = _common_start(body, tokens[at:])
            if 0 < count < len(body):
                partial = complete_trips(tokens[at : at + count], symbols)
                missing = (LineToken(full.symbol) for full in trips[0][len(partial) :])
                trips.append((*partial, *missing))
                at += count
            token = token._replace(trips=tuple(trips))
        result.append(token)
    return tuple(result)


def _common_start(body: Sequence[int], tokens: Sequence[LineToken]) -> int:
    """Return how many tokens are those of a body, from its start on."""
    different = (
        k for k, (symbol, token) in enumerate(zip(body, tokens, strict=False)) if token.symbol != symbol
    )
    return next(different, min(len(body), len(tokens)))


def _fold(line: Line, period: int, symbols: Symbols) -> Line:
    """Return the sequence with repetitions of a period as loops: the same object if there are none."""
    result, at = [], 0
    for start, stop in _repetitions(_numbers(line), period):
        result += line[at:start]
        trips = tuple(tuple(line[k : k + period]) for k in range(start, stop, period))
        result.append(_loop(trips, symbols))
        at = stop
    return [*result, *line[at:]] if at else line


def _numbers(line: Line) -> Ints:
    return np.array([token.symbol for token in line], dtype=np.int64)


def _repetitions(numbers: Ints, period: int) -> Iterator[tuple[int, int]]:
    """Start and end of the parts that repeat a body of `period` symbols, from left to right."""
    equal = numbers[period:] == numbers[:-period]
    if not equal.any():
        return
    equal = np.concatenate([[False], equal, [False]])
    edges = np.flatnonzero(equal[1:] != equal[:-1])
    end = 0
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        first = max(start, end)
        trips = 1 + (stop - first) // period
        if trips > 1:
            end = first + trips * period
            yield first, end


def _loop(trips: tuple[tuple[LineToken, ...], ...], symbols: Symbols) -> LineToken:
    """Return a loop of these iterations; iterations that are a loop each are one loop."""
    body = tuple(token.symbol for token in trips[0])
    if len(body) == 1 and body[0] in symbols.bodies and body[0] not in symbols.stages:
        return LineToken(body[0], trips=tuple(chain.from_iterable(trip[0].trips for trip in trips)))
    return LineToken(symbols.of_loop(body), trips=trips)


def _wrap_bodies(line: Line, symbols: Symbols) -> Line:
    """The sequence with loops of one trip around the bodies that are loops elsewhere, long ones first."""
    numbers = [token.symbol for token in line]
    for loop, body in sorted(symbols.bodies.items(), key=lambda item: (-len(item[1]), item[0])):
        starts = _occurrences(numbers, body)
        if not starts:
            continue
        result, at = [], 0
        for start in starts:
            stop = start + len(body)
            result += [*line[at:start], LineToken(loop, trips=(tuple(line[start:stop]),))]
            at = stop
        line = [*result, *line[at:]]
        numbers = [token.symbol for token in line]
    return line


def _occurrences(numbers: list[int], body: tuple[int, ...]) -> list[int]:
    """Return the positions of a body from left to right; the parts do not overlap."""
    result, at = [], 0
    for _ in range(numbers.count(body[0])):
        try:
            at = numbers.index(body[0], at)
        except ValueError:
            break  # the others were within a body
        is_equal = tuple(numbers[at : at + len(body)]) == body
        if is_equal:
            result.append(at)
        at += len(body) if is_equal else 1
    return result
