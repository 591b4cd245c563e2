"""Where a program computes most: the computation between two MPI calls, by the call before it.

A trace knows computation as the time between a call and the next one. Ranks that go different ways after the
same call share a row, so one piece of code that is followed by several calls is one row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from scalatrace.report.costs.rows import distinct_sites, histogram_of, site_of
from scalatrace.trace.model.callsite import Stack, callers, short_frame, split_frame
from scalatrace.trace.model.trace import START, Trace
from scalatrace.trace.query.load import COMPUTE

__all__ = ["FROM_START", "Computing", "computing_of"]

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


Call = tuple[str, Stack]
"""Operation and stack."""

UNKNOWN = "lines not known"

FROM_START: Call = ("the start", ())
"""Stands for the call before the first one."""


def computing_of(trace: Trace, numbers: Mapping[int, int]) -> tuple[Computing, ...]:
    """Return the computation of all ranks, the longest first; none if the trace has no times.

    Args:
        numbers: id of a node -> number in the tree.
    """
    if (at := trace.stat_index.get(COMPUTE)) is None:
        return ()
    unit = trace.stats[at].resolution
    totals: dict[Call, dict[Call, float]] = defaultdict(lambda: defaultdict(float))
    nodes: dict[Call, list[int]] = defaultdict(list)
    for leaf in trace.leaves():
        call = trace.ops[leaf.op].name, trace.stack(leaf.signature)
        before = dict[Call, float]()
        for stats in leaf.stats:
            histogram = histogram_of(stats, at)
            if histogram is not None and histogram.total:
                first = _before(trace, stats.pred)
                before[first] = before.get(first, 0.0) + histogram.total * unit
        for first, time in before.items():
            totals[first][call] += time
        if before:
            nodes[max(before, key=lambda first: before[first])].append(numbers[id(leaf)])
    rows = sorted(totals.items(), key=lambda row: -sum(row[1].values()))
    sites = distinct_sites([after for after, _ in rows[:MAX_NAMED]])
    sites += [site_of(after[1]) for after, _ in rows[MAX_NAMED:]]
    return tuple(
        _row(after, site, following, tuple(nodes[after]))
        for (after, following), site in zip(rows, sites, strict=True)
    )


def _before(trace: Trace, pred: int) -> Call:
    entry = trace.preds[pred]
    return FROM_START if entry == START else (trace.ops[entry[0]].name, trace.stack(entry[1]))


def _row(after: Call, site: str, following: dict[Call, float], nodes: tuple[int, ...]) -> Computing:
    ordered = sorted(following, key=lambda call: -following[call])
    before = tuple(dict.fromkeys((op, site_of(stack)) for op, stack in ordered))
    return Computing(
        (after[0], site if after[1] else ""),
        before[:MAX_NEXT],
        max(0, len(before) - MAX_NEXT),
        _place(after, ordered[0]),
        sum(following.values()),
        nodes,
    )


def _place(first: Call, last: Call) -> str:
    """Return the lines between two calls in the innermost function that leads to both.

    A line has the function that it calls. A later line may be that of an inlined function.
    """
    if first == FROM_START:
        outermost = callers(last[1], len(last[1]))[-1:]
        return f"the start of the program, before {short_frame(outermost[0])}" if outermost else "the start"
    ways = [callers(stack, len(stack))[::-1] for _, stack in (first, last)]
    place = UNKNOWN
    for i, (one, other) in enumerate(zip(*ways, strict=False)):
        a, b = split_frame(one), split_frame(other)
        if (a.file, a.name) != (b.file, b.name) or not a.line or not b.line:
            break
        name = a.file.rpartition("/")[2]
        if one != other:
            called, then = (_called(way, i, op) for way, (op, _) in zip(ways, (first, last), strict=True))
            word = "to" if a.line < b.line else "then"
            return f"{name}:{a.line} ({called}) {word} {b.line} ({then}) in {a.name}"
        place = f"{name}:{a.line} in {a.name}"
    return f"{place}, until the next call there" if first == last and place != UNKNOWN else place


def _called(way: Stack, at: int, op: str) -> str:
    """Return what a frame of a stack from the outermost one calls: a function, or the operation."""
    return split_frame(way[at + 1]).name.rpartition("::")[2] if at + 1 < len(way) else op
