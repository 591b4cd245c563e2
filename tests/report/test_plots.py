"""Plots of traces: what is drawn are the numbers of the trace."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np
import pytest

from scalatrace.errors import UsageError
from scalatrace.trace.exchange.matrix import matrix
from scalatrace.trace.model.nodes import Event
from support.reported import hostile, million_stencil, recorded, ring

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

RECORDED = recorded()


@pytest.mark.parametrize("name", sorted(RECORDED))
@pytest.mark.parametrize("what", ["bytes", "messages"])
def test_matrix(name: str, what: str) -> None:
    trace = RECORDED[name]
    axes = trace.plot.matrix(what)
    (image,) = axes.images
    assert np.array_equal(image.get_array().filled(0), matrix(trace, what))
    assert axes.get_ylabel() == "sending rank"
    axes.figure.canvas.draw()


def test_matrix_of_a_million_ranks() -> None:
    axes = million_stencil().plot.matrix("messages")
    assert axes.images[0].get_array().shape == (128, 128)
    assert "blocks of 8,192 ranks" in axes.get_title()
    assert axes.get_xlim() == (-0.5, (1 << 20) - 0.5)


def test_timeline() -> None:
    trace = ring(4)
    axes = trace.plot.timeline([0, 2])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "2"]
    spans = [path.get_extents() for one in axes.collections for path in one.get_paths()]
    calls = sum(len(list(trace.walk(rank))) for rank in (0, 2))
    assert len(spans) == calls + 2  # and a bar of computation for each rank
    assert axes.get_xlabel() == "time (µs)"
    assert "sendrecv" not in {text.get_text() for text in axes.get_legend().get_texts()}
    axes.figure.canvas.draw()


def test_messages_of_the_timeline() -> None:
    assert len(ring(4).plot.timeline().lines) == 40
    assert len(ring(4).plot.timeline([0, 2]).lines) == 0
    assert len(ring(4).plot.timeline(window=(0, 20e-6)).lines) > 0


def test_too_many_messages_are_named() -> None:
    axes = ring(64).plot.timeline(range(64))
    assert len(axes.lines) == 0
    assert axes.get_title().endswith("messages not drawn: choose a shorter window")


def test_timeline_of_a_million_ranks() -> None:
    assert 8 <= len(million_stencil().plot.timeline().get_yticks()) <= 16


def samples(leaves: Iterable[Event], of: str) -> int:
    """Times between calls, or in calls, that belong neither to start-up nor to shut-down."""
    at = ("compute", "mpi").index(of)
    return sum(h.count for leaf in leaves for stats in leaf.stats if (h := stats.histograms[at]))


@pytest.mark.parametrize("of", ["compute", "mpi"])
def test_histograms_of_times(of: str) -> None:
    trace = ring(4)
    axes = trace.plot.histogram(of)
    assert sum(bar.get_height() for bar in axes.patches) == samples(trace.without_phases.leaves(), of)
    assert axes.get_xscale() == "log"
    total = trace.plot.histogram(of, weight="total")
    stat = "compute_ns" if of == "compute" else "mpi_ns"
    seconds = sum(bar.get_height() for bar in total.patches)
    assert seconds == pytest.approx(trace.stats_frame()[stat].sum() / 1e9)
    one = trace.plot.histogram(of, site="ring.py:4")
    sends = [leaf for leaf in trace.without_phases.leaves() if trace.ops[leaf.op].name == "Send"]
    assert sum(bar.get_height() for bar in one.patches) == samples(sends, of)
    assert "Send ring.py:4:turn" in one.get_title()


def test_histogram_of_sizes() -> None:
    trace = ring(4)
    (bar,) = trace.plot.histogram("sizes").patches
    assert bar.get_height() == 40
    assert bar.get_x() <= 800 < bar.get_x() + bar.get_width()
    (bar,) = trace.plot.histogram("sizes", weight="total").patches
    assert bar.get_height() == 40 * 800


def test_given_axes_are_used() -> None:
    figure, (a, b, c) = pyplot.subplots(1, 3)
    trace = ring(4)
    assert trace.plot.matrix(ax=a) is a
    assert trace.plot.timeline(ax=b) is b
    assert trace.plot.histogram(ax=c) is c
    figure.canvas.draw()
    assert len(pyplot.get_fignums()) == 1


def test_hostile_names_are_drawn_as_text() -> None:
    trace = hostile()
    for axes in (trace.plot.matrix(), trace.plot.timeline(), trace.plot.histogram()):
        axes.figure.canvas.draw()


def test_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    plot = ring(4).plot
    for call, message in (
        (lambda: plot.matrix("byts"), "did you mean bytes"),
        (lambda: plot.histogram("sises"), "did you mean sizes"),
        (lambda: plot.histogram(weight="x"), "give 'samples', 'total'"),
        (lambda: plot.histogram(site="nowhere"), "site='nowhere'"),
        (lambda: plot.histogram("sizes", site="ring"), "sizes are of all messages"),
        (lambda: plot.timeline([9]), "rank 9"),
    ):
        with pytest.raises(UsageError, match=message):
            call()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'scalatrace\[plot\]'"):
        plot.matrix()
