"""How the time of a row is divided where its calls are not drawn, against the calls one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.arrays import Floats
from scalatrace.operations import operation
from scalatrace.report.costs.durations import CallTimes, Durations
from scalatrace.report.page.timeline import lines as timeline
from scalatrace.report.page.timeline.lines import time_line
from scalatrace.report.page.timeline.outline import NBINS, outline_of_calls, outline_of_tree
from scalatrace.report.page.timeline.ranks import ChosenRanks
from scalatrace.report.page.timeline.rows import TimelineOutline, TimelineWindow
from scalatrace.trace.model.nodes import Node
from support.builder import Builder, Comm
from support.random_loops import loops
from support.reported import million_stencil, ring, timed

MS = 1e6


def call_times(trace: Trace, rank: int) -> CallTimes:
    """[calls, 2] start and end of each call by mean times, ns."""
    duration, clock = Durations(trace).of_line(rank), 0.0
    times = []
    for call in trace.walk(rank):
        compute_ns, comm_ns = duration(call)
        times.append((clock + compute_ns, clock + compute_ns + comm_ns))
        clock += compute_ns + comm_ns
    return np.array(times, dtype=np.float64).reshape(-1, 2)


def sums_of(outline: TimelineOutline) -> dict[str, Floats]:
    """Category -> [bins] time up to the end of each bin, ns."""
    sums = np.cumsum(outline.shares, axis=0) / 1000 * outline.width_ns
    return dict(zip(outline.categories, sums.T, strict=True))


def sums_of_calls(trace: Trace, rank: int, edges: Floats) -> dict[str, Floats]:
    """Category -> [edges] time in calls up to each of them, ns, call by call."""
    sums: dict[str, Floats] = {}
    times = call_times(trace, rank)
    categories = np.array([operation(call.op).category.value for call in trace.walk(rank)])
    for category in np.unique(categories):
        starts, ends = times[categories == category].T
        lengths = np.concatenate(([0.0], np.cumsum(ends - starts)))
        nbegun = np.searchsorted(starts, edges)
        over = np.where(nbegun > 0, np.maximum(ends[nbegun - 1] - edges, 0.0), 0.0)
        sums[str(category)] = lengths[nbegun] - over
    return sums


def check(outline: TimelineOutline, trace: Trace, rank: int, within: float) -> None:
    """Compare sums at the ends of bins; within: so many bins."""
    width_ns = outline.width_ns
    edges: Floats = outline.start_ns + width_ns * np.arange(1.0, NBINS + 1)
    sums, expected = sums_of(outline), sums_of_calls(trace, rank, edges)
    assert set(expected) <= set(sums)
    for category, values in expected.items():
        assert np.abs(sums[category] - values).max() <= within * width_ns
    whole = sum(sums.values())
    assert np.abs(whole - edges).max() <= within * width_ns


@st.composite
def phases(draw: st.DrawFn) -> Trace:
    """Nested loops, some of which only some ranks run."""
    b = Builder(3)
    ops = ("Barrier", "Allreduce", "Bcast")

    def body(depth: int) -> Iterator[Node]:
        for number in range(draw(st.integers(1, 3))):
            if depth and draw(st.booleans()):
                yield b.loop(draw(st.integers(1, 8)), *body(depth - 1))
            else:
                op = draw(st.sampled_from(ops[: 1 + 2 * bool(number)]))
                yield b.event(op, draw(st.integers(1, 9)), at=(f"{op}.{depth}.{number}",), comm=Comm())

    return timed(b.of(*body(3)))


@given(st.one_of(loops().map(timed), phases()))
def test_outlines_of_trees_are_those_of_their_calls(trace: Trace) -> None:
    durations = Durations(trace)
    for rank in trace.ranks:
        outline = outline_of_tree(trace, (rank, 0), durations.of_nodes(rank), 0.0)
        if outline is None:
            assert not any(True for _ in trace.walk(rank))
            continue
        assert outline.end_ns == pytest.approx(call_times(trace, rank)[-1, 1])
        check(outline, trace, rank, within=1.0)


@given(phases())
def test_outlines_of_calls_are_exact(trace: Trace) -> None:
    outline = outline_of_calls(trace, (1, 0), call_times(trace, 1))
    assert outline is not None
    check(outline, trace, 1, within=0.2)  # shares are rounded to thousandths


def test_rows_that_are_cut_have_outlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_BARS", 30)
    monkeypatch.setattr(timeline, "MAX_WALKED", 3000)
    found = time_line(million_stencil(2, steps=10**9), ChosenRanks((0, 1, 2)), TimelineWindow())
    for row in found.lines:
        assert row.outline is not None
        assert row.outline.end_ns > 1000 * row.end_ns
    assert time_line(ring(3), ChosenRanks((0,)), TimelineWindow()).lines[0].outline is None


def test_rows_of_a_window_have_the_outline_of_the_run() -> None:
    row = time_line(ring(3, steps=100), ChosenRanks((0,)), TimelineWindow(0.0003, 0.0004)).lines[0]
    assert row.outline is not None
    assert row.outline.end_ns == pytest.approx(call_times(ring(3, steps=100), 0)[-1, 1])


def test_late_rows_begin_later() -> None:
    trace = ring(3, steps=100)
    row = time_line(trace, ChosenRanks((0,)), TimelineWindow(0.0003, 0.0004), None, {0: 5 * MS}).lines[0]
    assert row.outline is not None
    assert row.outline.start_ns == 5 * MS
