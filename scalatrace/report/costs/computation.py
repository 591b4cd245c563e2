"""Computation between two MPI calls: by the call before it and the call that ends it.

A trace knows computation as the time between a call and the next one of its rank.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from scalatrace.report.costs.rows import histogram_of
from scalatrace.trace.model.callsite import Stack, callers, short_frame, split_frame
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.query.load import COMPUTE

__all__ = ["FROM_START", "UNKNOWN", "SiteCall", "between", "computation_between", "computation_of_nodes"]

SiteCall = tuple[str, Stack]
"""Operation and stack."""

UNKNOWN = "lines not known"

FROM_START: SiteCall = ("the start", ())
"""Stands for the call before the first one."""


def computation_of_nodes(trace: Trace) -> Iterator[tuple[Event, dict[SiteCall, float]]]:
    """Yield each event node with the computation before it: call before that -> ns of all ranks."""
    if (at := trace.stat_index.get(COMPUTE)) is None:
        return
    unit = trace.stats[at].resolution
    for leaf in trace.leaves():
        before = dict[SiteCall, float]()
        for stats in leaf.stats:
            histogram = histogram_of(stats, at)
            if histogram is not None and histogram.total:
                first = _before(trace, stats.pred)
                before[first] = before.get(first, 0.0) + histogram.total * unit
        if before:
            yield leaf, before


def computation_between(trace: Trace) -> dict[tuple[SiteCall, SiteCall], float]:
    """Return the computation between each two calls that follow each other, in ns of all ranks."""
    times: dict[tuple[SiteCall, SiteCall], float] = defaultdict(float)
    for leaf, before in computation_of_nodes(trace):
        call = trace.ops[leaf.op].name, trace.stack(leaf.signature)
        for first, time in before.items():
            times[first, call] += time
    return dict(times)


def _before(trace: Trace, pred: int) -> SiteCall:
    entry = trace.preds[pred]
    return FROM_START if entry == START else (trace.ops[entry[0]].name, trace.stack(entry[1]))


def between(first: SiteCall, last: SiteCall) -> str:
    """Return the lines between two calls in the innermost function that leads to both.

    A line has the function that it calls. A later line may be that of an inlined function.
    """
    if first == FROM_START:
        outermost = callers(last[1], len(last[1]))[-1:]
        return f"the start of the program, before {short_frame(outermost[0])}" if outermost else "the start"
    ways = [callers(stack, len(stack))[::-1] for _, stack in (first, last)]
    place = UNKNOWN
    for i, (left, right) in enumerate(zip(*ways, strict=False)):
        a, b = split_frame(left), split_frame(right)
        if (a.file, a.name) != (b.file, b.name) or not a.line or not b.line:
            break
        name = a.file.rpartition("/")[2]
        if left != right:
            called, then = (_callee_of(way, i, op) for way, (op, _) in zip(ways, (first, last), strict=True))
            word = "to" if a.line < b.line else "then"
            return f"{name}:{a.line} ({called}) {word} {b.line} ({then}) in {a.name}"
        place = f"{name}:{a.line} in {a.name}"
    return f"{place}, until the next call there" if first == last and place != UNKNOWN else place


def _callee_of(way: Stack, at: int, op: str) -> str:
    """Return what a frame of a stack from the outermost one calls: a function, or the operation."""
    return split_frame(way[at + 1]).name.rpartition("::")[2] if at + 1 < len(way) else op
