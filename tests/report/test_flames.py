"""Flame graphs of a notebook: bars are as wide as the times of their nodes."""

from __future__ import annotations

from typing import Any

import pytest

from scalatrace.report.costs.rows import whole_time
from support.builder import Builder, Comm
from support.reported import hostile, recorded, ring

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def spans(axes: Any, label: str) -> list[tuple[float, float, float]]:
    """Start, width and level of the bars with a label."""
    extents = [
        path.get_extents()
        for bars in axes.collections
        if bars.get_label() == label
        for path in bars.get_paths()
    ]
    return [(extent.x0, extent.width, round((extent.y0 + extent.y1) / 2)) for extent in extents]


def test_bars_are_as_wide_as_times() -> None:
    trace = ring(4)
    axes = trace.plot.flame()
    total = whole_time(trace.without_phases)
    whole = ((total.comm_ns or 0) + (total.compute_ns or 0)) / 1e3
    (program, loop) = spans(axes, "loop")
    assert program == (0, pytest.approx(whole), 0)
    assert loop[2] == 1
    calls = [*spans(axes, "recv"), *spans(axes, "send"), *spans(axes, "completion")]
    before = spans(axes, "computation before the call")
    in_loop = sum(width for _, width, level in (*calls, *before) if level == 2)
    assert in_loop == pytest.approx(loop[1])
    assert {level for *_, level in calls} == {2}
    (collective,) = spans(axes, "collective")
    assert sum(width for _, width, level in (collective, *before) if level == 1) == pytest.approx(
        whole - loop[1]
    )
    inside = sum(width for _, width, _ in (*calls, collective))
    assert inside == pytest.approx((total.comm_ns or 0) / 1e3)
    assert axes.get_xlabel() == "time of all ranks (µs)"
    assert axes.get_title().startswith("Time by loop and call site\n")


def test_native_calls_without_a_line_have_module_and_offset() -> None:
    b = Builder(2)
    frame = (
        "/opt/lib/libsolver.so+0x1f0:Solver::exchange_all_halos_of_the_multigrid_hierarchy_with_neighbours"
    )
    trace = b.of(b.event("Barrier", at=(frame,), comm=Comm()))
    _, axes = pyplot.subplots(figsize=(4, 3))
    names = {text.get_text() for text in trace.plot.flame(ax=axes).texts}
    assert "Barrier  libsolver.so+0x1f0" in names


def test_computation_has_its_own_colour() -> None:
    """A bar of a call begins with the computation before it; the time in the call follows."""
    trace = ring(4)
    axes = trace.plot.flame()
    parts = spans(axes, "computation before the call")
    assert len(parts) == 4
    (start, width, level), (call_start, _, call_level) = max(parts), max(spans(axes, "collective"))
    assert (call_start, call_level) == (pytest.approx(start + width), level)
    assert sum(width for _, width, _ in parts) == pytest.approx(trace.stats_frame().compute_ns.sum() / 1e3)


def test_names_are_whole() -> None:
    axes = pyplot.subplots(figsize=(12, 3))[1]
    names = {text.get_text() for text in ring(4).plot.flame(ax=axes).texts}
    assert {"program", "Send  ring.py:4:turn"} <= names
    figure, axes = pyplot.subplots(figsize=(1, 1))
    names = {text.get_text() for text in ring(4).plot.flame(ax=axes).texts}
    assert names <= {"program", "10 × loop", "Send", "Irecv", "Wait", "Allreduce", ""}
    assert tuple(figure.get_size_inches()) == (1, 1)


def test_without_times_bars_are_as_wide_as_calls() -> None:
    b = Builder(4)
    axes = b.of(b.loop(9, b.event("Barrier", comm=Comm())), b.event("Barrier", comm=Comm())).plot.flame()
    assert axes.get_xlabel() == "calls (number)"
    assert sorted(width for _, width, _ in spans(axes, "collective")) == [4, 36]
    assert axes.get_title() == "Calls by loop and call site\nno times"


@pytest.mark.parametrize("trace", [hostile(), *recorded().values()])
def test_all_traces_are_drawn(trace: Any) -> None:
    axes = trace.plot.flame()
    axes.figure.canvas.draw()
    assert axes.get_title()
