"""Count the executions of nodes and find their participants, in time that depends on nodes, not on events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as AnySequence
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormatError, LimitError, UsageError
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas
from scalatrace.trace.model.nodes import Event, Node, named_ranks
from scalatrace.trace.model.rank_classes import (
    check_trip_counts,
    formula_totals,
    multiply_counts,
    rank_classes,
)
from scalatrace.trace.values.from_arrays import MAX_INT64, distinct, first_values, ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = [
    "MAX_VISITS",
    "Classes",
    "calls_by_rank",
    "check_countable",
    "check_visits",
    "entries",
    "executions",
    "executions_of",
    "least_and_most",
    "nevents",
    "participants",
    "runs",
    "runs_after",
    "takes_long",
    "total_calls",
    "total_of",
    "trip_counts",
    "union_of",
]

Classes = list[tuple[RankList, int]]
"""Disjoint sets of ranks and how often each runs a node."""

MAX_FORMULA_PLACES = 1 << 13
"""Grid places at which a repeat by formulas is evaluated to count the calls of all ranks."""

MAX_SUMMAND = 1 << 32
"""Numbers up to which a sum over all ranks fits into 64 bits."""

MAX_COUNTED_RUNS = 1 << 16
"""Runs of consecutive ranks with different numbers of calls."""

MAX_VISITS = 1 << 22
"""Event nodes times the ranks that execute them, examined one by one; more would take minutes."""

MAX_PLACE_COMPARISONS = 1 << 26
"""Places times ranks: each place is searched among all ranks."""


def runs(repeat: Elastic, rank: int, entry_count: int) -> int:
    """Return how often the content of a node runs in all when a rank enters the node `entry_count` times.

    Raises:
        FormatError: the repeat has fewer values than that, or is negative.
    """
    vec = elastic.at(repeat, rank)
    if vec is None:
        return 0
    if isinstance(repeat, Formulas):
        check_trip_counts(vec)
    return total_of(vec, entry_count)


def total_of(vec: Vec, entry_count: int) -> int:
    """Return how often a node with this repeat runs in so many entries. Raises FormatError."""
    try:
        return vec.total(entry_count)
    except ValueError as error:
        raise FormatError(f"corrupt trace: the repeat of a node has too few values: {error}") from None


def executions_of(trace: Trace, rank: int) -> Iterator[tuple[Event, int]]:
    """Yield each event node that a rank executes, with its number of executions, in order."""
    return _below(trace.nodes, rank, 1)


def _below(nodes: AnySequence[Node], rank: int, entry_count: int) -> Iterator[tuple[Event, int]]:
    for node in nodes:
        n = runs(node.repeat, rank, entry_count)
        if n and isinstance(node, Event):
            yield node, n
        elif n:
            yield from _below(node.nodes, rank, n)  # type: ignore[union-attr]


def executions(trace: Trace) -> Iterator[tuple[Event, Classes]]:
    """Yield each event node with the sets of ranks that execute it equally often."""
    return _spread(trace.nodes, [(trace.ranks, 1)])


def entries(trace: Trace) -> Iterator[tuple[Node, Classes]]:
    """Yield each node, in preorder, with the sets of ranks that enter it equally often."""
    return _walk_entered(trace.nodes, [(trace.ranks, 1)])


def _walk_entered(nodes: AnySequence[Node], entries: Classes) -> Iterator[tuple[Node, Classes]]:
    for node in nodes:
        yield node, entries
        if not isinstance(node, Event):
            yield from _walk_entered(node.nodes, runs_after(node.repeat, entries))


def _spread(nodes: AnySequence[Node], entries: Classes) -> Iterator[tuple[Event, Classes]]:
    for node in nodes:
        classes = runs_after(node.repeat, entries)
        if isinstance(node, Event):
            yield node, classes
        elif classes:
            yield from _spread(node.nodes, classes)


def runs_after(repeat: Elastic, entries: Classes) -> Classes:
    """Return the sets of ranks that run the content of a node equally often, from those that enter it.

    Raises:
        UsageError: formulas give more than MAX_COUNTED_RUNS runs of ranks.
        FormatError: the repeat has too few values, or negative ones.
    """
    members_of: dict[int, list[RankList]] = {}
    nruns = 0
    for ranks, entry_count in entries:
        for members, n in _classes(repeat, ranks, entry_count):
            if n:
                members_of.setdefault(n, []).append(members)
                nruns += len(members.runs) if isinstance(repeat, Formulas) else 0
        _check_runs(nruns)
    return [(union_of(members), n) for n, members in members_of.items()]


def union_of(sets: AnySequence[RankList]) -> RankList:
    """Return the union of disjoint sets of ranks."""
    return (
        sets[0] if len(sets) == 1 else RankList.from_runs(chain.from_iterable(ranks.runs for ranks in sets))
    )


def _classes(repeat: Elastic, ranks: RankList, entry_count: int) -> Iterator[tuple[RankList, int]]:
    if isinstance(repeat, Vec):
        yield ranks, total_of(repeat, entry_count)
    elif isinstance(repeat, Columns | Formulas):
        where = ranks_in(ranks & repeat.ranks)
        if entry_count > MAX_INT64:
            raise FormatError("corrupt trace: a node runs too often")
        totals = _totals(repeat, where, np.full_like(where, entry_count))
        by_total = np.argsort(totals, kind="stable")
        by_total = by_total[np.searchsorted(totals[by_total], 1) :]  # those that run it
        new_total = np.diff(totals[by_total]) != 0
        if isinstance(repeat, Formulas):
            _check_runs(int(np.count_nonzero(new_total | (np.diff(where[by_total]) != 1))))
        for places in np.split(by_total, np.flatnonzero(new_total) + 1) if len(by_total) else ():
            yield ranks_of(where[places]), int(totals[places[0]])
    else:
        for group, vec in repeat.groups:
            if common := ranks & group:
                yield common, total_of(vec, entry_count)


def _check_runs(nruns: int) -> None:
    if nruns > MAX_COUNTED_RUNS:
        raise UsageError(
            f"cannot count calls: more than {MAX_COUNTED_RUNS} runs of ranks differ in their calls; "
            "extrapolate to fewer ranks"
        )


def _totals(repeat: Columns | Formulas, ranks: Ints, counts: Ints) -> Ints:
    """Return how often each of some participants runs the content of a node, which it enters so often."""
    if isinstance(repeat, Formulas):
        return formula_totals(repeat, ranks, counts, MAX_FORMULA_PLACES)
    values = first_values(repeat.vec, len(repeat.ranks))
    return multiply_counts(values[np.searchsorted(ranks_in(repeat.ranks), ranks)], counts)


def _divide_ranks(repeat: Elastic, ranks: RankList) -> Iterator[tuple[RankList, Vec]]:
    places = min(MAX_FORMULA_PLACES, MAX_PLACE_COMPARISONS // max(1, len(ranks)))
    return rank_classes(repeat, ranks, places)


def trip_counts(repeat: Elastic, entries: Classes) -> tuple[int, ...]:
    """Return the least and the most executions of a node at one entry; () if no rank enters it.

    Args:
        entries: the sets of ranks that enter the node equally often, and how often.
    """
    counts: list[int] = []
    for ranks, entry_count in entries:
        if isinstance(repeat, Columns):
            counts += repeat.vec.ends(len(repeat.ranks))
        else:
            for _, vec in _divide_ranks(repeat, ranks):
                counts += vec.ends(entry_count)
    return (min(counts), max(counts)) if counts else ()


def calls_by_rank(trace: Trace) -> Iterator[tuple[Event, Classes | Ints]]:
    """Yield each event node with how often ranks execute it.

    Where that follows formulas, nearly each rank may differ from its neighbours: then it is an array with a
    number for each rank, else sets of ranks with equal numbers.
    """
    return _count_below(trace.nodes, [(trace.ranks, 1)], trace.nprocs)


def _count_below(
    nodes: AnySequence[Node], entered: Classes | Ints, nprocs: int
) -> Iterator[tuple[Event, Classes | Ints]]:
    for node in nodes:
        if isinstance(node.repeat, Formulas) or isinstance(entered, np.ndarray):
            counts: Classes | Ints = _after_by_rank(node.repeat, _by_rank(entered, nprocs))
        else:
            counts = runs_after(node.repeat, entered)
        if isinstance(node, Event):
            yield node, counts
        elif len(counts):
            yield from _count_below(node.nodes, counts, nprocs)


def _by_rank(entered: Classes | Ints, nprocs: int) -> Ints:
    if isinstance(entered, np.ndarray):
        return entered
    counts = np.zeros(nprocs, dtype=np.int64)
    for ranks, n in entered:
        for start, stop in ranks.runs:
            counts[start:stop] = n
    return counts


def _after_by_rank(repeat: Elastic, entered: Ints) -> Ints:
    """Return how often each rank runs the content of a node, which it enters so often."""
    counts = np.zeros_like(entered)
    if isinstance(repeat, Columns | Formulas):
        where = ranks_in(repeat.ranks)
        where = where[entered[where] > 0]
        counts[where] = _totals(repeat, where, entered[where])
        return counts
    groups = [(None, repeat)] if isinstance(repeat, Vec) else repeat.groups
    for ranks, vec in groups:
        where = np.arange(len(entered)) if ranks is None else ranks_in(ranks)
        first, like = distinct(entered[None, where])
        totals = [total_of(vec, n) for n in entered[where][first].tolist()]
        if max(totals, default=0) > MAX_INT64:
            raise FormatError("corrupt trace: a node runs too often")
        counts[where] = np.array(totals, dtype=np.int64)[like]
    return counts


def total_calls(counts: Classes | Ints) -> int:
    """Return how often all ranks together execute a node."""
    if isinstance(counts, np.ndarray):
        return int(counts.sum(dtype=object)) if counts.max(initial=0) > MAX_SUMMAND else int(counts.sum())
    return sum(len(ranks) * n for ranks, n in counts)


def nevents(trace: Trace) -> int:
    """Return the number of calls of all ranks. Raises UsageError when too many ranks differ."""
    return sum(total_calls(counts) for _, counts in calls_by_rank(trace))


def check_countable(trace: Trace) -> None:
    """Raise LimitError when counting the calls of all ranks would take long."""
    if takes_long(trace.nodes):
        raise LimitError(
            f"cannot count calls: more than {MAX_COUNTED_RUNS} ranks have a trip count of their own; "
            "extrapolate to fewer ranks"
        )


def check_visits(trace: Trace, max_visits: int = MAX_VISITS) -> None:
    """Check that the nodes of each rank can be visited one by one.

    Raises:
        LimitError: ranks times the nodes that they execute exceed the limit.
    """
    check_countable(trace)
    visits = sum(len(ranks) for _, classes in executions(trace) for ranks, _ in classes)
    if visits > max_visits:
        raise LimitError(
            f"{len(trace.ranks)} ranks execute {visits} event nodes in all, "
            f"more than the limit of {max_visits}; record or extrapolate to fewer ranks"
        )


def takes_long(nodes: AnySequence[Node]) -> bool:
    """Return whether a node has more than MAX_COUNTED_RUNS trip counts, one per rank."""
    return any(
        (isinstance(node.repeat, Columns) and len(node.repeat.ranks) > MAX_COUNTED_RUNS)
        or (not isinstance(node, Event) and takes_long(node.nodes))
        for node in nodes
    )


def least_and_most(trace: Trace) -> tuple[int, int]:
    """Return the smallest and the largest number of calls of a rank."""
    changes: dict[int, int] = {}
    by_rank = np.zeros(trace.nprocs, dtype=np.int64)
    for _, counts in [(None, [(trace.ranks, 0)]), *calls_by_rank(trace)]:
        if isinstance(counts, np.ndarray):
            by_rank += counts
            continue
        for ranks, n in counts:
            for start, stop in ranks.runs:
                changes[start] = changes.get(start, 0) + n
                changes[stop] = changes.get(stop, 0) - n
    ends: list[tuple[int, int]] = []
    calls, starts = 0, sorted(changes)
    for start, stop in pairwise(starts):
        calls += changes[start]
        if start in trace.ranks:
            ends.append((calls + int(by_rank[start:stop].min()), calls + int(by_rank[start:stop].max())))
    return min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)


def participants(trace: Trace) -> dict[int, RankList]:
    """Return id(node) -> the ranks that take part in it."""
    table: dict[int, RankList] = {}
    _mark(trace.nodes, trace.ranks, table, cache(RankList.__and__))  # of few different sets
    return table


def _mark(
    nodes: AnySequence[Node],
    ranks: RankList,
    table: dict[int, RankList],
    intersect: Callable[[RankList, RankList], RankList],
) -> None:
    for node in nodes:
        named = named_ranks(node.repeat)
        table[id(node)] = members = ranks if named is None else intersect(ranks, named)
        if not isinstance(node, Event):
            _mark(node.nodes, members, table, intersect)
