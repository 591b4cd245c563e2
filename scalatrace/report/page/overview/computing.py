"""Where a program computes most: the computation between two MPI calls, by the line where it begins.

Ranks that go different ways from there share a row, so one piece of code that is followed by several calls of
a function is one row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scalatrace.report.costs.computation import (
    Place,
    PlacedComputation,
    Repeats,
    SiteCall,
    computation_of_nodes,
    computation_place,
    computations,
    place_of,
)
from scalatrace.report.costs.rows import distinct_sites, site_of
from scalatrace.trace.model.callsite import Stack
from scalatrace.trace.model.trace import Trace

__all__ = ["Computing", "computing_of"]

MAX_NAMED, MAX_NEXT = 40, 4
"""Pieces of computation that are named with callers, and calls that are listed before and after each."""


@dataclass(frozen=True)
class Computing:
    """The computation that begins at one place.

    Attributes:
        after: operation and call site of the calls before it, those with most of the time first.
        more_after: further calls before it.
        before: those of the next calls, likewise.
        more: further calls that come next.
        place: lines and called functions of the two calls in their innermost common function, or a text.
        compute_ns: time of all ranks.
        count: how often it runs on all ranks together, as `PlacedComputation.count`.
        nodes: numbers of the calls in the tree before which most of the computation begins at this place.
    """

    after: tuple[tuple[str, str], ...]
    more_after: int
    before: tuple[tuple[str, str], ...]
    more: int
    place: str
    compute_ns: float
    count: int
    nodes: tuple[int, ...]


def computing_of(
    trace: Trace, numbers: Mapping[int, int], repeats: Repeats | None = None
) -> tuple[Computing, ...]:
    """Return the computation of all ranks, the longest first; none if the trace has no times.

    Args:
        numbers: id of a node -> number in the tree.
        repeats: as in `computation_place`.
    """
    nodes: dict[Place, list[int]] = defaultdict(list)
    for leaf, before in computation_of_nodes(trace):
        last = trace.ops[leaf.op].name, trace.stack(leaf.signature)
        times = defaultdict[Place, float](float)
        for first, taken in before.items():
            times[place_of(first, last)] += taken.total_ns
        nodes[max(times, key=lambda where: times[where])].append(numbers[id(leaf)])
    rows = computations(trace)
    sites = distinct_sites([row.longest[0] for row in rows[:MAX_NAMED]])
    sites += [site_of(row.longest[0][1]) for row in rows[MAX_NAMED:]]
    return tuple(
        _row(row, site, tuple(nodes[row.where]), repeats) for row, site in zip(rows, sites, strict=True)
    )


def _row(row: PlacedComputation, site: str, nodes: tuple[int, ...], repeats: Repeats | None) -> Computing:
    """Return the row of a computation; `site`: of the call before it, for most of its time."""
    after = _named_calls([first for first, _ in row.times_ns], {row.longest[0][1]: site})
    before = _named_calls([last for _, last in row.times_ns], {})
    return Computing(
        after[:MAX_NEXT],
        max(0, len(after) - MAX_NEXT),
        before[:MAX_NEXT],
        max(0, len(before) - MAX_NEXT),
        computation_place(*row.longest, repeats),
        row.total_ns,
        row.count,
        nodes,
    )


def _named_calls(calls: Sequence[SiteCall], sites: Mapping[Stack, str]) -> tuple[tuple[str, str], ...]:
    """Return operations and call sites, each once; `sites`: names of some stacks."""
    names = ((op, (sites.get(stack) or site_of(stack)) if stack else "") for op, stack in calls)
    return tuple(dict.fromkeys(names))
