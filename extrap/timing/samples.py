"""Numbers of samples: each call has one sample of its times, after one of the calls before it.

How often each call comes after each other one follows curves of its own. Their sum is only near the number of
calls, which formulas give exactly.
"""

from __future__ import annotations

from collections.abc import Sequence as Sequences
from dataclasses import replace

from scalatrace.extrap.timing.assemble import assemble
from scalatrace.extrap.timing.largest.bins import parts_of
from scalatrace.trace.model.nodes import Event, Node, PredStats
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.values.histogram import Histogram

__all__ = ["with_a_sample_per_call"]


def with_a_sample_per_call(trace: Trace) -> None:
    """Scale the numbers of samples of each event, so that their sum is the number of its calls."""
    times = [at for at, stat in enumerate(trace.stats) if stat.name in TIMES]
    calls = {id(event): sum(len(ranks) * n for ranks, n in counts) for event, counts in executions(trace)}

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
    numbers = iter(_shares(counts, calls))
    result = []
    for each, histogram in zip(stats, found, strict=True):
        if histogram is not None:
            changed = list(each.histograms)
            changed[at] = _with_count(histogram, next(numbers))
            each = replace(each, histograms=tuple(changed))
        result.append(each)
    return tuple(result)


def _shares(counts: Sequences[int], total: int) -> list[int]:
    """Numbers in proportion to counts, each 1 or more, whose sum is the total where that is possible."""
    result = [max(1, count * total // sum(counts)) for count in counts]
    largest = result.index(max(result))
    result[largest] = max(1, result[largest] + total - sum(result))
    return result


def _with_count(histogram: Histogram, count: int) -> Histogram:
    ends, parts = (histogram.min, histogram.max), parts_of(histogram.all_bins)
    return assemble(count, histogram.mean, histogram.std, ends, parts)
