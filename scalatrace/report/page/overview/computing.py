"""Where a program computes most: the computation between two MPI calls, by the call before it.

A trace knows computation as the time between a call and the next one. Ranks that go different ways after the
same call share a row, so one piece of code that is followed by several calls is one row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from scalatrace.report.costs.computation import (
    SiteCall,
    computation_after,
    computation_of_nodes,
    computation_place,
)
from scalatrace.report.costs.rows import distinct_sites, site_of
from scalatrace.trace.model.trace import Trace

__all__ = ["Computing", "computing_of"]

MAX_NAMED, MAX_NEXT = 40, 4
"""Pieces of computation that are named with callers, and calls that are listed after each."""


@dataclass(frozen=True)
class Computing:
    """The computation after a call.

    Attributes:
        after: operation and call site of the call before it.
        before: those of the next calls, those with most of the time first.
        more: further calls that come next.
        place: lines and called functions of the two calls in their innermost common function, or a text.
        compute_ns: time of all ranks.
        nodes: numbers of the calls in the tree before which most of the computation is after this call.
    """

    after: tuple[str, str]
    before: tuple[tuple[str, str], ...]
    more: int
    place: str
    compute_ns: float
    nodes: tuple[int, ...]


def computing_of(trace: Trace, numbers: Mapping[int, int]) -> tuple[Computing, ...]:
    """Return the computation of all ranks, the longest first; none if the trace has no times.

    Args:
        numbers: id of a node -> number in the tree.
    """
    nodes: dict[SiteCall, list[int]] = defaultdict(list)
    for leaf, before in computation_of_nodes(trace):
        nodes[max(before, key=lambda first: before[first])].append(numbers[id(leaf)])
    rows = sorted(computation_after(trace).items(), key=lambda row: -sum(row[1].values()))
    sites = distinct_sites([after for after, _ in rows[:MAX_NAMED]])
    sites += [site_of(after[1]) for after, _ in rows[MAX_NAMED:]]
    return tuple(
        _row(after, site, following, tuple(nodes[after]))
        for (after, following), site in zip(rows, sites, strict=True)
    )


def _row(after: SiteCall, site: str, following: dict[SiteCall, float], nodes: tuple[int, ...]) -> Computing:
    ordered = sorted(following, key=lambda call: -following[call])
    before = tuple(dict.fromkeys((op, site_of(stack)) for op, stack in ordered))
    return Computing(
        (after[0], site if after[1] else ""),
        before[:MAX_NEXT],
        max(0, len(before) - MAX_NEXT),
        computation_place(after, ordered[0]),
        sum(following.values()),
        nodes,
    )
