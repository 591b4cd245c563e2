"""Scale the numbers of samples of extrapolated times to the numbers of calls.

Each call has one sample. How often it follows each of its predecessors is predicted by curves, whose sum is
only near the number of calls. That number follows exactly from the formulas.
"""

from __future__ import annotations

from dataclasses import replace

from scalatrace.extrap.timing.assemble import proportional, with_count
from scalatrace.trace.model.nodes import Event, Node, PredStats
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import calls_by_rank, total_calls

__all__ = ["with_a_sample_per_call"]


def with_a_sample_per_call(trace: Trace) -> None:
    """Scale the numbers of samples of each event, so that their sum is the number of its calls."""
    times = [at for at, stat in enumerate(trace.stats) if stat.name in TIMES]
    calls = {id(event): total_calls(counts) for event, counts in calls_by_rank(trace)}

    def scaled(node: Node) -> Node:
        if isinstance(node, Event):
            stats = node.stats
            for at in times:
                stats = _scaled(stats, at, calls.get(id(node), 0))
            return replace(node, stats=stats)
        return replace(node, nodes=tuple(map(scaled, node.nodes)))

    trace.nodes = [scaled(node) for node in trace.nodes]


def _scaled(stats: tuple[PredStats, ...], at: int, calls: int) -> tuple[PredStats, ...]:
    found = [each.histograms[at] if at < len(each.histograms) else None for each in stats]
    counts = [histogram.count for histogram in found if histogram is not None]
    if not counts or not calls or sum(counts) == calls:
        return stats
    # Each histogram keeps one sample or more.
    others = proportional([count - 1 for count in counts], max(0, calls - len(counts)))
    numbers = iter([1 + n for n in others])
    result = []
    for each, histogram in zip(stats, found, strict=True):
        if histogram is not None:
            changed = list(each.histograms)
            changed[at] = with_count(histogram, next(numbers))
            each = replace(each, histograms=tuple(changed))
        result.append(each)
    return tuple(result)
