"""Extrapolated times have one sample for each call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace.extrap.extrapolate import extrapolate
from scalatrace.extrap.timing.assemble import with_a_sample_per_call
from scalatrace.trace.model.nodes import Node, PredStats, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.values.histogram import Bin, Histogram
from support.builder import Builder, Comm
from support.grids import halo, trace_of


def samples(trace: Trace) -> list[tuple[int, int]]:
    """Calls and samples of each event."""
    return [
        (
            sum(len(ranks) * n for ranks, n in counts),
            sum(stats.histograms[0].count for stats in event.stats if stats.histograms[0]),
        )
        for event, counts in executions(trace)
        if event.stats
    ]


@pytest.mark.parametrize(("counts", "calls"), [((5, 5), 30), ((90, 10, 1), 30), ((1, 1, 1), 2), ((30,), 30)])
def test_samples_are_scaled_to_the_calls(counts: tuple[int, ...], calls: int) -> None:
    b = Builder(calls)
    bins = (Bin(1, 10, 30, 20), Bin(1, 90, 100, 95))
    event = b.event("Barrier", comm=Comm(), compute=Histogram.of(0))
    stats = [PredStats(0, (Histogram(2 * n, 10, 100, 57.5, 30, bins),)) for n in counts]
    trace = b.of(replace(event, stats=tuple(stats)))
    with_a_sample_per_call(trace)
    [(expected, found)] = samples(trace)
    assert expected == calls
    assert found == max(calls, len(counts))
    [after] = [event for event, _ in executions(trace)]
    for one in after.stats:
        histogram = one.histograms[0]
        assert histogram is not None
        assert sum(each.count for each in histogram.all_bins) == histogram.count
        if histogram.count > 1:
            assert histogram.mean == pytest.approx(57.5)


def timed(trace: Trace) -> Trace:
    """The trace with times of each call, after one of two calls; how often follows no curve."""
    calls = {
        id(event): (sum(len(r) for r, _ in c), sum(len(r) * n for r, n in c))
        for event, c in executions(trace)
    }
    trace.preds.append((0, 0))

    def with_times(node: Node) -> Node:
        if isinstance(node, Sequence):
            return replace(node, nodes=tuple(map(with_times, node.nodes)))
        ranks, every = calls[id(node)]
        first = (ranks * trace.nprocs) % 11 + 1
        numbers = (first, every - first) if every > first else (every,)
        stats = [PredStats(k, (Histogram(n, 80, 120, 100, 10),)) for k, n in enumerate(numbers)]
        return replace(node, stats=tuple(stats))

    trace.nodes = [with_times(node) for node in trace.nodes]
    return trace


def test_an_extrapolated_trace_has_a_sample_for_each_call() -> None:
    traces = [timed(trace_of(halo(False), dims)) for dims in ((3, 3), (4, 4), (5, 5), (6, 6))]
    assert all(calls == found for calls, found in samples(traces[0]))
    found = samples(extrapolate(traces, 144).trace)
    assert found
    assert all(expected == n for expected, n in found)
