"""How often nodes run and who takes part, from the compressed form: time depends on nodes, not on events."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from typing import TYPE_CHECKING

from scalatrace.errors import FormatError, LimitError, UsageError
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas
from scalatrace.trace.model.nodes import Event, Node, named_ranks
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = [
    "MAX_VISITS",
    "check_countable",
    "check_visits",
    "executions",
    "executions_of",
    "least_and_most",
    "nevents",
    "participants",
    "runs",
    "takes_long",
]

Classes = list[tuple[RankList, int]]
"""Disjoint sets of ranks and how often each runs a node."""

MOST_PLACES, MOST_RUNS = 1 << 13, 1 << 16
"""Places at which a repeat by formulas is worked out to count all ranks' calls, and runs of ranks alike."""

MAX_VISITS = 1 << 22
"""Event nodes that are examined, each for each rank that executes it; more would take minutes."""

MOST_LOOKED_AT = 1 << 26
"""Places times ranks: each place is sought among all."""


def runs(repeat: Elastic, rank: int, met: int) -> int:
    """How often the content runs in all when a rank meets the node `met` times.

    Raises:
        FormatError: the repeat has fewer values than that, or is negative.
    """
    vec = elastic.at(repeat, rank)
    if vec is None:
        return 0
    if isinstance(repeat, Formulas):
        _not_negative(vec)
    return _total(vec, met)


def _not_negative(vec: Vec) -> None:
    """A file's own repeats are looked at when it is read; those by formulas when they are worked out."""
    low = vec.smallest()
    if vec.terms != () and (low is None or low < 0):
        raise FormatError("a repeat by formulas is negative")


def _total(vec: Vec, met: int) -> int:
    try:
        return vec.total(met)
    except ValueError as error:
        raise FormatError(f"the repeat of a node is too short: {error}") from None


def executions_of(trace: Trace, rank: int) -> Iterator[tuple[Event, int]]:
    """Each event node and how often a rank runs it, in order; nodes it never runs are left out."""
    return _below(trace.nodes, rank, 1)


def _below(nodes: AnySequence[Node], rank: int, met: int) -> Iterator[tuple[Event, int]]:
    for node in nodes:
        n = runs(node.repeat, rank, met)
        if n and isinstance(node, Event):
            yield node, n
        elif n:
            yield from _below(node.nodes, rank, n)  # type: ignore[union-attr]


def executions(trace: Trace) -> Iterator[tuple[Event, Classes]]:
    """Each event node, and the sets of ranks that run it equally often."""
    return _spread(trace.nodes, [(trace.ranks, 1)])


def _spread(nodes: AnySequence[Node], met: Classes) -> Iterator[tuple[Event, Classes]]:
    for node in nodes:
        classes = _after(node.repeat, met)
        if isinstance(node, Event):
            yield node, classes
        elif classes:
            yield from _spread(node.nodes, classes)


def _after(repeat: Elastic, met: Classes) -> Classes:
    found: dict[int, list[tuple[int, int]]] = {}
    for ranks, times in met:
        for some, n in _classes(repeat, ranks, times):
            if n:
                found.setdefault(n, []).extend(some.runs)
        if isinstance(repeat, Formulas) and sum(map(len, found.values())) > MOST_RUNS:
            raise UsageError("very many ranks call in very many different numbers: too many to count")
    return [(RankList.from_runs(intervals), n) for n, intervals in found.items()]


def _classes(repeat: Elastic, ranks: RankList, met: int) -> Iterator[tuple[RankList, int]]:
    if isinstance(repeat, Vec):
        yield ranks, _total(repeat, met)
    elif isinstance(repeat, Columns):
        alike: dict[int, list[tuple[int, int]]] = {}
        for rank in ranks & repeat.ranks:
            alike.setdefault(repeat.value(rank) or 0, []).append((rank, rank + 1))
        for n, intervals in alike.items():
            yield RankList.from_runs(intervals), n * met
    elif isinstance(repeat, Formulas):
        from scalatrace.trace.model.rank_classes import groups_of

        for group, vec in groups_of(repeat, ranks, min(MOST_PLACES, MOST_LOOKED_AT // max(1, len(ranks)))):
            _not_negative(vec)
            yield group, _total(vec, met)
    else:
        for group, vec in repeat.groups:
            if some := ranks & group:
                yield some, _total(vec, met)


def nevents(trace: Trace) -> int:
    """Number of calls of all ranks together. Raises UsageError for very many ranks, each with its own."""
    return sum(len(ranks) * n for _, classes in executions(trace) for ranks, n in classes)


def check_countable(trace: Trace) -> None:
    """Make sure that counting the calls of all ranks takes no long. Raises LimitError."""
    if takes_long(trace.nodes):
        raise LimitError(
            f"more than {MOST_RUNS} ranks have a trip count each of their own: too many to count one by one"
        )


def check_visits(trace: Trace) -> None:
    """Make sure that the nodes of each rank can be visited one by one.

    Raises:
        LimitError: ranks times the nodes that they execute exceed MAX_VISITS.
    """
    check_countable(trace)
    visits = sum(len(ranks) for _, classes in executions(trace) for ranks, _ in classes)
    if visits > MAX_VISITS:
        raise LimitError(
            f"{len(trace.ranks)} ranks execute {visits} event nodes in all, "
            f"more than the {MAX_VISITS} that are examined rank by rank"
        )


def takes_long(nodes: AnySequence[Node]) -> bool:
    """Whether very many ranks each have a number of their own, which are counted one by one."""
    return any(
        (isinstance(node.repeat, Columns) and len(node.repeat.ranks) > MOST_RUNS)
        or (not isinstance(node, Event) and takes_long(node.nodes))
        for node in nodes
    )


def least_and_most(trace: Trace) -> tuple[int, int]:
    """The fewest and the most calls that a rank makes."""
    changes: dict[int, int] = {}
    for _, classes in [(None, [(trace.ranks, 0)]), *executions(trace)]:
        for ranks, n in classes:
            for start, stop in ranks.runs:
                changes[start] = changes.get(start, 0) + n
                changes[stop] = changes.get(stop, 0) - n
    found, calls = [], 0
    for rank, change in sorted(changes.items()):
        calls += change
        if rank in trace.ranks:
            found.append(calls)
    return min(found, default=0), max(found, default=0)


def participants(trace: Trace) -> dict[int, RankList]:
    """id(node) -> the ranks that take part in it."""
    table: dict[int, RankList] = {}
    _mark(trace.nodes, trace.ranks, table)
    return table


def _mark(nodes: AnySequence[Node], ranks: RankList, table: dict[int, RankList]) -> None:
    for node in nodes:
        named = named_ranks(node.repeat)
        table[id(node)] = here = ranks if named is None else ranks & named
        if not isinstance(node, Event):
            _mark(node.nodes, here, table)
