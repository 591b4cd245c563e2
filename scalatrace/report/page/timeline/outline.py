"""How the time of a row is divided, in bins, for the calls that do not fit into a page.

Recorded rows are divided from the tree alone: an iteration of a loop takes the mean time of its nodes, and
one that is shorter than a bin is not entered. So the work depends on nodes and bins, not on the number of
calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.operations import operation
from scalatrace.report.costs.durations import CallTimes, Line
from scalatrace.report.page.timeline.rows import TimelineOutline
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import runs

__all__ = ["outline_of_calls", "outline_of_tree"]

NBINS = 240
"""Bins of a row: about as many as can be told apart on a screen."""

MIN_SEGMENT = 0.25
"""Part of a bin below which consecutive segments are joined, and iterations are not drawn apart."""

MAX_RUNS = 10**18
"""Executions of a node, at most: more than a run can have."""

COMPUTING = "compute"


class _OutlinedNode(NamedTuple):
    """A node of one rank, or the computation before a call, or the time in it.

    Attributes:
        runs: how often its content runs at each entry, the mean of all entries.
        times: [categories] ns of one run.
        parts: of a sequence, in order; computation and call of an event.
    """

    runs: float
    times: Floats
    parts: tuple[_OutlinedNode, ...]


def outline_of_tree(
    trace: Trace, line: Line, mean_times: Callable[[Event], tuple[float, float]], start_ns: float
) -> TimelineOutline | None:
    """Divide the recorded time of a line; None: it has none.

    Args:
        mean_times: gives the computation before a call of a node, and the time in it, ns.
        start_ns: when the first computation begins.
    """
    rank, thread = line
    categories = _categories(trace.ops[leaf.op].name for leaf in trace.leaves())
    numbers = {name: number for number, name in enumerate(categories)}

    def part_of(node: Node, nentries: int) -> _OutlinedNode | None:
        nruns = min(runs(node.repeat, rank, nentries), MAX_RUNS)
        if nruns <= 0:
            return None
        if isinstance(node, Event):
            numbers_of = 0, numbers[_category(trace.ops[node.op].name)]
            parts = tuple(
                _OutlinedNode(1.0, ns * np.eye(len(categories))[number], ())
                for number, ns in zip(numbers_of, mean_times(node), strict=True)
            )
        else:
            parts = _present(part_of(child, nruns) for child in node.nodes)
        times = sum((part.runs * part.times for part in parts), np.zeros(len(categories)))
        return _OutlinedNode(nruns / nentries, times, parts)

    parts = _present(part_of(node, 1) for node in trace.stream(thread))
    total_ns = sum(float(part.runs * part.times.sum()) for part in parts)
    if not 0 < total_ns < np.inf:
        return None
    return _outline(categories, _segments(parts, MIN_SEGMENT * total_ns / NBINS), start_ns)


def outline_of_calls(trace: Trace, line: Line, times: CallTimes) -> TimelineOutline | None:
    """Divide the time of the calls of a line; None: there are none.

    Args:
        times: [calls, 2] start and end of each, in the order of the walk, ns.
    """
    if not len(times) or times[-1, 1] <= 0:
        return None
    of_calls = [_category(call.op) for call in islice(trace.walk(*line), len(times))]
    categories = tuple(dict.fromkeys((COMPUTING, *of_calls)))
    numbers = {name: number for number, name in enumerate(categories)}
    segments = np.zeros((2 * len(times), len(categories)))
    ends = np.concatenate(([0.0], times[:-1, 1]))
    segments[::2, 0] = times[:, 0] - ends
    segments[1::2][np.arange(len(times)), [numbers[name] for name in of_calls]] = times[:, 1] - times[:, 0]
    return _outline(categories, segments, 0.0)


def _categories(ops: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((COMPUTING, *map(_category, ops))))


def _category(op: str) -> str:
    return operation(op).category.value


def _present(parts: Iterable[_OutlinedNode | None]) -> tuple[_OutlinedNode, ...]:
    return tuple(part for part in parts if part is not None)


def _segments(parts: Sequence[_OutlinedNode], least_ns: float) -> list[Floats]:
    """Return the times of consecutive segments of a run, each [categories] ns."""
    segments: list[Floats] = []
    for part in parts:
        if not part.parts or part.times.sum() <= least_ns:
            segments.append(part.runs * part.times)
            continue
        iteration = _segments(part.parts, least_ns)
        segments += iteration * int(part.runs)
        if remaining := part.runs % 1:
            segments += [remaining * times for times in iteration]
    return _join_short(segments, least_ns)


def _join_short(segments: Sequence[Floats], least_ns: float) -> list[Floats]:
    joined: list[Floats] = []
    last_ns = np.inf
    for times in segments:
        ns = float(times.sum())
        if last_ns + ns <= least_ns:
            joined[-1] = joined[-1] + times
            last_ns += ns
        else:
            joined.append(times)
            last_ns = ns
    return joined


def _outline(
    categories: tuple[str, ...], segments: Floats | Sequence[Floats], start_ns: float
) -> TimelineOutline:
    """Divide consecutive segments among bins of equal width."""
    sums = np.vstack((np.zeros(len(categories)), np.cumsum(segments, axis=0)))
    at = sums.sum(axis=1)
    edges = np.linspace(0.0, at[-1], NBINS + 1)
    in_bins = np.column_stack([np.diff(np.interp(edges, at, column)) for column in sums.T])
    width_ns = float(at[-1]) / NBINS
    shares = np.rint(1000 * in_bins / width_ns).astype(int).tolist()
    return TimelineOutline(start_ns, width_ns, categories, tuple(map(tuple, shares)))
