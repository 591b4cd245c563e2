"""Compare two traces event by event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from scalatrace.errors import LimitError, UsageError
from scalatrace.spelling import did_you_mean
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import untimed
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import check_visits
from scalatrace.trace.query.matching import CommMatcher
from scalatrace.trace.query.verify import MAX_CACHED_PAIRS, describe, render
from scalatrace.trace.values.ranks_text import ranks
from scalatrace.trace.values.vec import SPECIAL_MAX, UNDEFINED

__all__ = ["ASPECTS", "Difference", "Statistic", "diff"]

ASPECTS = ("callsites", "times", "comms")
"""What can be ignored, besides parameters by name: stacks; statistics; which communicator a call is on."""

CALLS_TRIED, MAX_COMPARED = 1 << 20, 1 << 32
"""Calls of a rank that are compared in any case, and that are compared at all if these are equal. Where times
differ already, the first number limits the calls of all ranks in which another difference is sought."""


COMPLETE_ONE, REQUESTS, INDEX = ("Waitany", "Testany"), "requests", "index"
"""Operations that complete one of several requests, and their parameters."""


class Statistic(NamedTuple):
    """A statistic of equal calls, such as the time before them.

    Attributes:
        mean: in the unit that its name ends in.
    """

    name: str
    calls: int
    mean: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of a rank, or of the traces as a whole (rank and event None).

    Attributes:
        rank: world rank.
        event: number of the event, from 1.
        left, right: both sides; "" where a walk had already ended.
        left_stats, right_stats: statistics of both sides, if times are compared.
    """

    rank: int | None
    event: int | None
    left: str
    right: str
    left_stats: tuple[Statistic, ...] = ()
    right_stats: tuple[Statistic, ...] = ()

    def __str__(self) -> str:
        place = "the traces" if self.rank is None else f"rank {self.rank}, event {self.event}"
        return f"{place}:\n  - {self.left or 'no more events'}\n  + {self.right or 'no more events'}"


def diff(left: Trace, right: Trace, ignore: Collection[str] = ()) -> list[Difference]:
    """Return the first difference of each rank; empty if the traces are equal but for what is ignored.

    Differences of calls come before those of times alone, which are in all runs.

    Args:
        ignore: words of ASPECTS and names of parameters.

    Raises:
        UsageError: a word that is neither an aspect nor a parameter of either trace.
        LimitError: very many ranks; or a rank makes more than MAX_COMPARED calls and the first CALLS_TRIED
            are equal.
    """
    _check_words(left, right, ignore)
    if (left.nprocs, left.ranks) != (right.nprocs, right.ranks):
        a, b = (f"ranks {ranks(t.ranks)} of {t.nprocs}" for t in (left, right))
        return [Difference(None, None, a, b)]
    if _equal_as_stored(left, right, "times" in ignore):
        return []
    for trace in (left, right):
        check_visits(trace)
    equal_calls = _equal_as_stored(left, right, untimely=True)
    of_calls, of_times = list[Difference](), list[Difference]()
    for rank in left.ranks:
        for result, is_of_times in _find_first(left, right, rank, frozenset(ignore), equal_calls):
            (of_times if is_of_times else of_calls).append(result)
    return of_calls or of_times


def _check_words(left: Trace, right: Trace, ignore: Collection[str]) -> None:
    parameters = {name for trace in (left, right) for op in trace.ops for name, _ in op.params}
    for word in ignore:
        if word not in ASPECTS and word not in parameters:
            hint = did_you_mean(word, (*ASPECTS, *sorted(parameters)))
            raise UsageError(f"--ignore {word}: give {', '.join(ASPECTS)} or the name of a parameter{hint}")


def _equal_as_stored(left: Trace, right: Trace, untimely: bool) -> bool:
    """Return whether the compressed forms are equal: sufficient, and quick."""
    tables = ("ops", "frames", "signatures", "comms", "types", "strings", "arrays")
    if any(getattr(left, table) != getattr(right, table) for table in tables):
        return False
    if untimely:
        return list(map(untimed, left.nodes)) == list(map(untimed, right.nodes))
    return left.nodes == right.nodes and (left.stats, left.preds) == (right.stats, right.preds)


def _find_first(
    left: Trace, right: Trace, rank: int, ignore: frozenset[str], equal_calls: bool
) -> Iterator[tuple[Difference, bool]]:
    """Yield the first difference of a rank, if there is one, and whether it is one of times alone.

    Args:
        equal_calls: whether the calls are known to be equal.
    """
    are_equal, timed = _CallComparison(left, right, rank, ignore), "times" not in ignore
    first_of_times: Difference | None = None
    most = 0 if equal_calls else CALLS_TRIED // len(left.ranks)
    for n, (a, b) in enumerate(_pairs(left, right, rank), 1):
        if first_of_times is not None and n > most:
            break
        if n == CALLS_TRIED and (calls := max(left.nevents(rank), right.nevents(rank))) > MAX_COMPARED:
            raise LimitError(
                f"rank {rank}: the first {n - 1} calls are equal, but the "
                f"loops of the traces differ and {calls} calls "
                "are too many to compare one by one; record fewer steps"
            )
        if a is None or b is None or not are_equal(a, b):
            yield _difference(rank, n, a, b, timed), False
            return
        if timed and first_of_times is None and not are_equal.times(a, b):
            first_of_times = _difference(rank, n, a, b, timed)
    if first_of_times is not None:
        yield first_of_times, True


def _pairs(left: Trace, right: Trace, rank: int) -> Iterator[tuple[Call | None, Call | None]]:
    """Yield the calls of a rank side by side, those of each thread in order."""
    for thread in sorted({*left.threads, *right.threads}):
        yield from zip_longest(left.walk(rank, thread), right.walk(rank, thread))


def _difference(rank: int, event: int, a: Call | None, b: Call | None, timed: bool) -> Difference:
    left, right = ("" if call is None else render(call) for call in (a, b))
    return Difference(rank, event, left, right, *(_statistics(call) if timed else () for call in (a, b)))


def _statistics(call: Call | None) -> tuple[Statistic, ...]:
    if call is None:
        return ()
    values = ((stat.name, call.stat(stat.name)) for stat in call.place.trace.stats)
    return tuple(Statistic(name, h.count, h.mean) for name, h in values if h is not None)


class _CallComparison:
    """Comparison of calls without their times, and of times, with a cache of equal pairs."""

    def __init__(self, left: Trace, right: Trace, rank: int, ignore: frozenset[str]) -> None:
        self.left, self.right, self.ignore = left, right, ignore
        self.known: set[Any] = set()
        self.comms = CommMatcher(lambda n: describe(left, n, rank), lambda n: describe(right, n, rank))

    def __call__(self, a: Call, b: Call) -> bool:
        return self._is_known_or_equal((a.place, a.values, b.place, b.values), lambda: self.compare(a, b))

    def times(self, a: Call, b: Call) -> bool:
        """Return whether calls have the same statistics."""
        return self._is_known_or_equal((a.place, a.pred, b.place, b.pred), lambda: self.same_times(a, b))

    def _is_known_or_equal(self, pair: Any, compare: Callable[[], bool]) -> bool:
        """Return whether a pair is in the cache, or is equal and then added to it."""
        if pair in self.known:
            return True
        if not compare():
            return False
        if len(self.known) > MAX_CACHED_PAIRS:
            self.known.clear()
        self.known.add(pair)
        return True

    def compare(self, a: Call, b: Call) -> bool:
        if a.op != b.op or ("callsites" not in self.ignore and a.stack != b.stack):
            return False
        return a.place.op.params == b.place.op.params and all(
            self.parameter(a, b, name, kind, x, y)
            for (name, kind), x, y in zip(a.place.op.params, a.values, b.values, strict=True)
            if name not in self.ignore
        )

    def same_times(self, a: Call, b: Call) -> bool:
        names = {stat.name for trace in (self.left, self.right) for stat in trace.stats}
        return all(a.stat(name) == b.stat(name) for name in names)

    def parameter(self, a: Call, b: Call, name: str, kind: Kind, x: int, y: int) -> bool:
        if kind is not Kind.ARRAY:
            return self.value(kind, x, y)
        return self.array(a, b, x, y) or (
            name == REQUESTS and a.op in COMPLETE_ONE and _complete_the_same(a, b)
        )

    def value(self, kind: Kind, x: int, y: int) -> bool:
        if kind is Kind.INT or kind is Kind.PEER or x < SPECIAL_MAX or y < SPECIAL_MAX:
            return x == y
        if kind is Kind.COMM:
            return "comms" in self.ignore or self.comms.match(x, y)
        table = {Kind.TYPE: Trace.datatype, Kind.STRING: Trace.string}[kind]
        return bool(table(self.left, x) == table(self.right, y))

    def array(self, a: Call, b: Call, x: int, y: int) -> bool:
        if x < SPECIAL_MAX or y < SPECIAL_MAX:
            return x == y
        return self.left.array(x, a.place.own(a.values)) == self.right.array(y, b.place.own(b.values))


def _complete_the_same(a: Call, b: Call) -> bool:
    """Whether two calls complete the same request of the same ones, of which others may be null on one side.

    A request that a call does not complete has no part in it, and a replay keeps those out that are complete
    too early.
    """
    left, right = a[REQUESTS], b[REQUESTS]
    return len(left) == len(right) and all(
        x == y or (UNDEFINED in (x, y) and i != a[INDEX])
        for i, (x, y) in enumerate(zip(left, right, strict=True))
    )
