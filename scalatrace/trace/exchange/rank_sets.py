"""Sets of ranks that execute an event node with equal parameters, as arrays: one call stands for a set.

A set costs the same for four ranks and for a million. Where ranks differ too much, a random sample stands for
all of them if the budget allows that; results are then estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import LimitError, UsageError
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.rank_classes import class_numbers
from scalatrace.trace.query.counting import check_countable, check_visits, executions
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.values.from_arrays import distinct, ranks_in
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = [
    "Budget", "Number", "RankSet", "TooManySetsError", "check_size", "rank_sets", "sampled", "sets_of",
    "some_calls", "walked_ranks",
]  # fmt: skip

MAX_SETS = 1 << 12
"""Sets of ranks of one event node; if there are more, so many ranks are sampled."""

MAX_CALLS, MIN_CALLS = 1 << 12, 16
"""Different calls of one set that are counted, and that are counted when the budget is spent."""

MAX_RANKS = 1 << 22
"""Ranks of a trace whose sets are made: arrays over all of them take 32 MB each."""

MAX_WALKED_RANKS = 256
"""Ranks whose calls are followed one by one, for the requests they start; of more, these are a sample."""

SEED = 1

Number = int | Fraction
"""A count; a fraction where it is an estimate. Trip counts may be beyond floating-point numbers."""

Matters = Callable[[str, str], bool]
"""Whether a parameter of an operation, both by name, distinguishes calls."""


@dataclass(frozen=True)
class RankSet:
    """Ranks with equal calls of one event node.

    Attributes:
        ranks: world ranks, ascending.
        times: executions of each rank.
        weight: number of ranks that each of them stands for; 1 where nothing is sampled.
    """

    ranks: Ints
    times: int
    weight: Number = 1


@dataclass
class Budget:
    """Limit of the counts for one report.

    Attributes:
        calls: different calls that may still be counted.
        exact: becomes False where amounts are estimates.
        sampling: some ranks and calls may stand for all; else what takes too long is an error.
    """

    calls: int = 1 << 19
    exact: bool = True
    sampling: bool = True


def rank_sets(
    trace: Trace, matters: Matters, budget: Budget | None = None
) -> Iterator[tuple[Event, RankSet]]:
    """Yield each executed event node with its sets of ranks; `budget`: whether they may be sampled.

    Raises:
        LimitError, UsageError: too many ranks, or too many differ in their trip counts.
    """
    check_size(trace)
    check_countable(trace)
    for event, classes in executions(trace):
        try:
            sets = list(sets_of(trace, event, classes, matters, budget is None or budget.sampling))
        except TooManySetsError:
            check_visits(trace)  # each rank is a set of its own
            sets = [RankSet(np.array([rank]), times) for ranks, times in classes if times for rank in ranks]
        for rank_set in sets:
            yield event, rank_set


class TooManySetsError(Exception):
    """Error: there are more than MAX_SETS sets of ranks, and they may not be sampled."""


def check_size(trace: Trace) -> None:
    """Raise LimitError when arrays over all ranks would take too much memory."""
    if trace.nprocs > MAX_RANKS:
        raise LimitError(
            f"the trace has {trace.nprocs:,} ranks (limit {MAX_RANKS:,}); extrapolate to fewer ranks"
        )


def sets_of(
    trace: Trace,
    event: Event,
    classes: list[tuple[RankList, int]],
    matters: Matters,
    sampling: bool = True,
) -> Iterator[RankSet]:
    """Yield the sets of ranks of one event node; `classes`: its ranks by their number of executions.

    Raises:
        TooManySetsError: there are too many without `sampling`.
    """
    op = trace.ops[event.op]
    values = [
        param.value if isinstance(param, Peer) else param
        for (name, _), param in zip(op.params, event.params, strict=True)
        if matters(op.name, name)
    ]
    differing = [value for value in values if not isinstance(value, Vec | Summary)]
    for ranks, times in classes:
        where = ranks_in(ranks)
        if not times or not len(where):
            continue
        try:
            rows = [class_numbers(value, ranks, trace.nprocs, MAX_SETS)[0][where] for value in differing]
            yield from _divide_ranks(where, rows, times)
        except UsageError:
            if not sampling:
                raise TooManySetsError from None
            sample = sampled(where, MAX_SETS)
            for rank in sample.tolist():
                yield RankSet(np.array([rank]), times, Fraction(len(where), len(sample)))


def _divide_ranks(where: Ints, rows: list[Ints], times: int) -> Iterator[RankSet]:
    if not rows:
        yield RankSet(where, times)
        return
    first, like = distinct(np.array(rows))
    if len(first) > MAX_SETS:
        raise UsageError("too many sets of ranks")
    order = np.argsort(like, kind="stable")
    ends = np.searchsorted(like[order], np.arange(len(first) + 1))
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield RankSet(where[order[start:stop]], times)


def sampled(ranks: Ints, count: int) -> Ints:
    """Return at most `count` of the ranks at random (always the same ones), with the first and the last."""
    if len(ranks) <= count:
        return ranks
    inner = np.unique(np.random.default_rng(SEED).integers(1, len(ranks) - 1, count - 2))
    sample: Ints = ranks[np.concatenate([[0], inner, [len(ranks) - 1]])]
    return sample


def walked_ranks(trace: Trace, budget: Budget) -> tuple[Ints, Number]:
    """Return the ranks whose calls are followed one by one, and how many ranks each of them stands for.

    Raises:
        LimitError: all ranks have to be followed, and have too many calls.
    """
    every = ranks_in(trace.ranks)
    if not budget.sampling:
        check_visits(trace)
        return every, 1
    sample = sampled(every, MAX_WALKED_RANKS)
    weight: Number = Fraction(len(every), len(sample)) if len(sample) < len(every) else 1
    budget.exact = budget.exact and weight == 1
    return sample, weight


def some_calls(
    trace: Trace, event: Event, rank_set: RankSet, matters: Matters, budget: Budget
) -> Iterator[tuple[Call, Number]]:
    """Yield the different calls of the first rank of a set with their numbers per rank.

    Where there are more than the budget allows, the numbers of those counted are scaled up.

    Raises:
        LimitError: very many different calls, which may not be sampled.
    """
    if not budget.sampling:
        yield from counted_calls(trace, event, int(rank_set.ranks[0]), rank_set.times, matters)
        return
    limit = min(MAX_CALLS, max(MIN_CALLS, budget.calls))
    calls = counted_calls(trace, event, int(rank_set.ranks[0]), rank_set.times, matters)
    listed = list(islice(calls, limit))
    budget.calls -= len(listed)
    counted = sum(n for _, n in listed)
    if rank_set.weight != 1 or counted != rank_set.times:
        budget.exact = False
    for call, n in listed:
        yield call, n if counted == rank_set.times else Fraction(n * rank_set.times, counted)
