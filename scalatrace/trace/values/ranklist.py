"""Ranklists (dissertation §2.2): sets of ranks, small when the ranks form a grid.

Inside, a set is the tuple of its maximal runs of consecutive ranks, so equal sets are equal objects.
Outside, it is a union of nests `<dimension start (length stride)...>`, outermost dimension first:

    6 7 8 / 11 12 13 / 16 17 18      <2 6 3 5 3 1>      in a file [[3, 5, [3, 1, 6]]]

The core has sets of ranks as boxes: RankSet in core/src/values/ranks.hpp.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import accumulate, chain
from typing import Any

from scalatrace.trace.values.nested_runs import fold_runs, shape_of, single_nests, start_of

__all__ = ["MAX_RANK", "RankList"]

MAX_RANK = 1 << 24
"""Ranks a reader accepts. Keeps a hostile `[2**60, 1, 0]` from becoming an allocation."""

MAX_DIMENSIONS = 32

MAX_REMEMBERED, MAX_REMEMBERED_RUNS = 1 << 12, 16
"""So many short ranklists are made once: a trace has the same few ones many thousand times."""

Run = tuple[int, int]  # first rank, one past the last rank

_NEST = re.compile(r"<\s*(\d+(?:\s+\d+)*)\s*>")


_REMEMBERED: dict[tuple[tuple[Any, ...], int], RankList] = {}
"""Ranklists by their form in files and their limit."""


class RankList:
    """An immutable, ordered set of ranks."""

    __slots__ = ("_hash", "_offsets", "_starts", "_terms", "runs")

    runs: tuple[Run, ...]

    def __init__(self, ranks: Iterable[int] = ()) -> None:
        self._set(tuple(_runs_of(sorted(set(ranks)))))

    def _set(self, runs: tuple[Run, ...]) -> None:
        self.runs = runs
        self._starts = [start for start, _ in runs]
        self._offsets = list(accumulate((stop - start for start, stop in runs), initial=0))
        self._hash = hash(runs)
        self._terms: tuple[Any, ...] | None = None

    @classmethod
    def from_runs(cls, runs: Iterable[Run]) -> RankList:
        """Return the set of half-open intervals in any order; they may touch and overlap."""
        self = cls.__new__(cls)
        self._set(tuple(_join(sorted(runs))))
        return self

    @classmethod
    def all(cls, nprocs: int) -> RankList:
        """Return ranks 0 .. nprocs - 1."""
        return cls.from_runs([(0, nprocs)] if nprocs > 0 else [])

    @classmethod
    def from_terms(cls, terms: object, limit: int = MAX_RANK) -> RankList:
        """Decode the file's form: an int or a tuple of terms, strictly increasing and below `limit`.

        Raises:
            ValueError: not a ranklist.
        """
        if type(terms) is int:
            terms = (terms,)
        if type(terms) is not tuple:
            raise ValueError("a ranklist is an integer or an array")
        first, last = _bounds(terms, 0) if terms else (0, -1)  # also checks the types
        remembered = _REMEMBERED.get((terms, limit))
        if remembered is not None:
            return remembered
        if first < 0 or last >= limit:
            raise ValueError(f"a ranklist reaches from {first} to {last}, outside 0..{limit - 1}")
        result = cls.from_runs(chain.from_iterable(_expand(term) for term in terms))
        if max(len(terms), len(result.runs)) <= MAX_REMEMBERED_RUNS and len(_REMEMBERED) < MAX_REMEMBERED:
            _REMEMBERED[terms, limit] = result
        return result

    @classmethod
    def parse(cls, text: str) -> RankList:
        """Parse `<2 6 3 5 3 1> | <0 3>`; `<>` alone is the empty set.

        Raises:
            ValueError: not in that notation.
        """
        if text.replace(" ", "") == "<>":
            return cls()
        terms = []
        for part in text.split("|"):
            match = _NEST.fullmatch(part.strip())
            if match is None:
                raise ValueError(f"not a ranklist: {part.strip()!r}")
            terms.append(_nest([int(word) for word in match[1].split()]))
        return reduce(RankList.__or__, (cls.from_terms((term,)) for term in terms))

    @property
    def terms(self) -> tuple[Any, ...]:
        """The file's form: nests `(count, stride, nest)` around an int, as few as a greedy fold finds."""
        if self._terms is None:
            runs = [start if stop - start == 1 else (stop - start, 1, start) for start, stop in self.runs]
            self._terms = fold_runs(runs)
        return self._terms

    def __str__(self) -> str:
        return " | ".join(_notation(nest) for term in self.terms for nest in single_nests(term)) or "<>"

    def __repr__(self) -> str:
        return f"RankList({self})"

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(range(start, stop) for start, stop in self.runs)

    def __len__(self) -> int:
        return self._offsets[-1]

    def __contains__(self, rank: object) -> bool:
        return isinstance(rank, int) and self._run_of(rank) is not None

    def _run_of(self, rank: int) -> int | None:
        at = bisect_right(self._starts, rank) - 1
        return at if at >= 0 and rank < self.runs[at][1] else None

    def index(self, rank: int) -> int:
        """Return the position of a rank in the set, from 0.

        Raises:
            ValueError: the rank is not in the set.
        """
        at = self._run_of(rank)
        if at is None:
            raise ValueError(f"rank {rank} is not in {self}")
        return self._offsets[at] + rank - self._starts[at]

    def __getitem__(self, position: int) -> int:
        if not 0 <= position < len(self):
            raise IndexError(position)
        at = bisect_right(self._offsets, position) - 1
        return self._starts[at] + position - self._offsets[at]

    @property
    def first(self) -> int:
        """The smallest rank. Raises IndexError when empty."""
        return self._starts[0]

    def __eq__(self, other: object) -> bool:
        return self.runs == other.runs if isinstance(other, RankList) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __or__(self, other: RankList) -> RankList:
        return RankList.from_runs(self.runs + other.runs)

    def __and__(self, other: RankList) -> RankList:
        common = tuple(_common(self.runs, other.runs))
        for operand in (self, other):  # mostly one is part of the other
            if common == operand.runs:
                return operand
        return RankList.from_runs(common)

    def __sub__(self, other: RankList) -> RankList:
        return RankList.from_runs(_common(self.runs, _holes(other.runs)))

    def __le__(self, other: RankList) -> bool:
        return len(self & other) == len(self)

    def isdisjoint(self, other: RankList) -> bool:
        """Return whether no rank is in both."""
        return not _common(self.runs, other.runs)


def _runs_of(ranks: list[int]) -> Iterator[Run]:
    start = 0
    for i in range(1, len(ranks) + 1):
        if i == len(ranks) or ranks[i] != ranks[i - 1] + 1:
            yield ranks[start], ranks[i - 1] + 1
            start = i


def _join(runs: list[Run]) -> Iterator[Run]:
    """Make sorted intervals maximal."""
    if not runs:
        return
    start, stop = runs[0]
    for next_start, next_stop in runs[1:]:
        if next_start > stop:
            yield start, stop
            start = next_start
        stop = max(stop, next_stop)
    yield start, stop


def _common(a: tuple[Run, ...], b: tuple[Run, ...]) -> list[Run]:
    terms, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, stop = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < stop:
            terms.append((start, stop))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return terms


def _holes(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Return the complement within 0..MAX_RANK."""
    edges = [0, *chain.from_iterable(runs), MAX_RANK + 1]
    return tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b)


def _bounds(terms: tuple[Any, ...], depth: int) -> tuple[int, int]:
    """First and last rank of terms; they must increase. Closed form: hostile counts cost nothing."""
    if depth > MAX_DIMENSIONS:
        raise ValueError("a ranklist is nested too deeply")
    first = last = None
    for term in terms:
        low, high = (term, term) if type(term) is int else _loop_bounds(term, depth)
        if last is not None and low <= last:
            raise ValueError("a ranklist does not increase")
        first, last = (low if first is None else first), high
    assert first is not None
    assert last is not None
    return first, last


def _loop_bounds(term: Any, depth: int) -> tuple[int, int]:
    if type(term) is not tuple or len(term) < 3 or type(term[0]) is not int or type(term[1]) is not int:
        raise ValueError("a term of a ranklist is neither an integer nor [count, stride, term, ...]")
    count, stride = term[:2]
    low, high = _bounds(term[2:], depth + 1)
    if count < 1 or (count > 1 and low + stride <= high):
        raise ValueError("a ranklist does not increase")
    return low, high + (count - 1) * stride


def _expand(term: Any) -> list[Run]:
    if type(term) is int:
        return [(term, term + 1)]
    count, stride, *inner = term
    if stride == 1 and len(inner) == 1 and type(inner[0]) is int:
        return [(inner[0], inner[0] + count)]
    base = [run for part in inner for run in _expand(part)]
    return [(a + shift, b + shift) for shift in range(0, count * stride or 1, stride or 1) for a, b in base]


def _notation(term: Any) -> str:
    dims, start = shape_of(term), start_of(term)
    return "<" + " ".join(str(n) for n in (len(dims) // 2, start, *dims)) + ">"


def _nest(numbers: list[int]) -> Any:
    dimension, *inner = numbers
    if len(inner) != 1 + 2 * dimension:
        raise ValueError(
            f"a ranklist of dimension {dimension} takes {1 + 2 * dimension} more numbers, not {len(inner)}"
        )
    nest: Any = inner[0]
    for i in range(dimension - 1, -1, -1):
        nest = (inner[1 + 2 * i], inner[2 + 2 * i], nest)
    return nest
