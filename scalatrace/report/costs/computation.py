"""Computation between two MPI calls: by the call before it and the call that ends it.

A trace knows computation as the time between a call and the next one of its rank.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from scalatrace.report.costs.rows import histogram_of
from scalatrace.trace.model.callsite import Frame, Stack, callers, short_frame, split_frame
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.query.load import COMPUTE

__all__ = [
    "FROM_START", "UNKNOWN", "SiteCall", "computation_after", "computation_of_nodes", "computation_place",
]  # fmt: skip

SiteCall = tuple[str, Stack]
"""Operation and stack."""

_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")

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


def computation_after(trace: Trace) -> dict[SiteCall, dict[SiteCall, float]]:
    """Return the computation after each call, by the call that ends it, in ns of all ranks.

    Ranks may go different ways after a call, and do so in different iterations: the code after a call is one
    piece of computation, whatever calls come next.
    """
    times: dict[SiteCall, dict[SiteCall, float]] = defaultdict(lambda: defaultdict(float))
    for leaf, before in computation_of_nodes(trace):
        call = trace.ops[leaf.op].name, trace.stack(leaf.signature)
        for first, time in before.items():
            times[first][call] += time
    return {first: dict(following) for first, following in times.items()}


def _before(trace: Trace, pred: int) -> SiteCall:
    entry = trace.preds[pred]
    return FROM_START if entry == START else (trace.ops[entry[0]].name, trace.stack(entry[1]))


def computation_place(first: SiteCall, last: SiteCall) -> str:
    """Name the computation between two calls by the innermost function that leads to both, and its lines.

        in main() between a.py:61 (halo) and :68 (residual)
        in halo() or its caller main(), from a.py:39 (Waitall) to the next :30 (Irecv)

    A line has the function that it calls. Where the second line is no later one, a trace does not know
    whether the function repeats or is called again: then its caller may compute, too.
    """
    if first == FROM_START:
        outermost = callers(last[1], len(last[1]))[-1:]
        return (
            f"from the start of the program to {short_frame(outermost[0])}" if outermost else "from the start"
        )
    ways = [callers(stack, len(stack))[::-1] for _, stack in (first, last)]
    depth = -1
    for i, (left, right) in enumerate(zip(*ways, strict=False)):
        a, b = split_frame(left), split_frame(right)
        if (a.file, a.name) != (b.file, b.name) or not a.line or not b.line:
            break
        depth = i
        if left != right:
            break
    if depth < 0:
        return UNKNOWN
    a, b = (split_frame(way[depth]) for way in ways)
    file = a.file.rpartition("/")[2]
    called, then = (_callee_of(way, depth, op) for way, (op, _) in zip(ways, (first, last), strict=True))
    if a.line < b.line:
        return f"in {_function(a)} between {file}:{a.line} ({called}) and :{b.line} ({then})"
    if a.line == b.line and first != last:  # calls of one line
        return f"in {_function(a)} at {file}:{a.line}, between {called} and {then}"
    where = f"in {_function(a)}"
    if depth:
        caller = split_frame(ways[0][depth - 1])
        where += (
            f" or its caller {_function(caller)},"
            if _function(caller) != _function(a)
            else " or its callers,"
        )
    if first == last:
        return f"{where} from {file}:{a.line} ({called}) to the next call there"
    return f"{where} from {file}:{a.line} ({called}) to the next :{b.line} ({then})"


def _function(frame: Frame) -> str:
    """Return the function of a frame as text: `main()`; of a module's own code, its name."""
    name = _short_name(frame.name)
    return name if name.startswith("<") else f"{name}()"


def _short_name(function: str) -> str:
    """Return a function without namespaces, classes and the arguments of templates and calls."""
    if function.startswith("<"):  # a module, a lambda
        return function
    name, is_nested = function, True
    while is_nested:
        name, count = _TEMPLATE_ARGUMENTS.subn("", name)
        is_nested = count > 0
    return name.partition("(")[0].rpartition("::")[2] or function


def _callee_of(way: Stack, at: int, op: str) -> str:
    """Return what a frame of a stack from the outermost one calls: a function, or the operation."""
    return _short_name(split_frame(way[at + 1]).name) if at + 1 < len(way) else op
