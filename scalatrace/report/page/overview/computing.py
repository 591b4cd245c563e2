"""Where a program computes most: the computation between two MPI calls, by the call before it.

A trace knows computation as the time between a call and the next one. Ranks that go different ways after the
same call share a row, so one piece of code that is followed by several calls is one row.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from scalatrace.report.costs.comm_layer import callers
from scalatrace.report.costs.rows import distinct_sites, site_of
from scalatrace.trace.model.callsite import Stack, split_frame
from scalatrace.trace.model.trace import START, Trace
from scalatrace.trace.query.load import COMPUTE

__all__ = ["Computing", "computing_of"]

MAX_ROWS, MAX_NEXT = 6, 4
"""Pieces of computation that are listed, and calls after each."""


@dataclass(frozen=True)
class Computing:
    """The computation after a call.

    Attributes:
        after: operation and call site of the call before it.
        before: those of the next calls, those with most of the time first.
        place: lines of the two calls in their innermost common function, and that; "": not known.
        compute_ns: time of all ranks.
    """

    after: tuple[str, str]
    before: tuple[tuple[str, str], ...]
    place: str
    compute_ns: float


Call = tuple[str, Stack]
"""Operation and stack."""


def computing_of(trace: Trace) -> tuple[Computing, ...]:
    """Return the computation of all ranks, the longest first; none if the trace has no times."""
    if (at := trace.stat_index.get(COMPUTE)) is None:
        return ()
    unit = trace.stats[at].resolution
    totals: dict[Call, dict[Call, float]] = defaultdict(lambda: defaultdict(float))
    for leaf in trace.leaves():
        call = trace.ops[leaf.op].name, trace.stack(leaf.signature)
        for stats in leaf.stats:
            histogram = stats.histograms[at] if at < len(stats.histograms) else None
            if histogram is not None and histogram.total:
                totals[_before(trace, stats.pred)][call] += histogram.total * unit
    rows = sorted(totals.items(), key=lambda row: -sum(row[1].values()))[:MAX_ROWS]
    sites = distinct_sites([after for after, _ in rows])
    return tuple(_row(after, site, following) for (after, following), site in zip(rows, sites, strict=True))


def _before(trace: Trace, pred: int) -> Call:
    entry = trace.preds[pred]
    return ("the start", ()) if entry == START else (trace.ops[entry[0]].name, trace.stack(entry[1]))


def _row(after: Call, site: str, following: dict[Call, float]) -> Computing:
    ordered = sorted(following, key=lambda call: -following[call])
    before = dict.fromkeys((op, site_of(stack)) for op, stack in ordered)
    return Computing(
        (after[0], site if after[1] else ""),
        tuple(before)[:MAX_NEXT],
        _place(after[1], ordered[0][1]),
        sum(following.values()),
    )


def _place(first: Stack, last: Stack) -> str:
    """Return the lines between two calls in the innermost function that leads to both."""
    ways = [callers(stack, len(stack))[::-1] for stack in (first, last)]
    place = ""
    for one, other in zip(*ways, strict=False):
        a, b = split_frame(one), split_frame(other)
        if (a.file, a.name) != (b.file, b.name) or not a.line or not b.line:
            break
        # A later line may be that of an inlined function, so it is not always that of a loop's end.
        until = f" to {b.line}" if a.line < b.line else f", then {b.line}" if a.line > b.line else ""
        place = f"{a.file.rpartition('/')[2]}:{a.line}{until} in {a.name}"
        if one != other:
            return place
    return f"loop around {place}" if place and first == last else place
