"""Heat maps of a notebook: cells are where their ranks are, and equal values are stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalatrace import Trace
from scalatrace.errors import UsageError
from scalatrace.report.costs.efficiency import efficiency
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.late_ranks import late
from support.reported import million_stencil, ring, timed

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def loaded(trace: Trace, loads: list[int]) -> Trace:
    """Give each rank of a timed trace its computation: the mean times 2^(load / 16)."""
    trace.load_between = True
    trace.load = [Vec(loads), Vec([0] * len(loads))]
    return trace


def values(axes: Any) -> Any:
    """Values of the cells; NaN: none."""
    return axes.images[0].get_array().filled(np.nan)


def bars(axes: Any) -> int:
    """Bars of colours beside a heat map."""
    return len(axes.figure.axes) - 1


def separators(axes: Any) -> int:
    return len(axes.xaxis.get_minorticklocs()) + len(axes.yaxis.get_minorticklocs())


def test_ranks_stand_on_their_grid() -> None:
    trace = loaded(million_stencil(4), list(range(0, 64, 4)))
    axes = trace.plot.ranks("compute")
    times = efficiency(trace.without_phases)
    assert times is not None
    assert np.allclose(values(axes), times.compute_ns.reshape(4, 4) / 1e3)
    assert axes.get_title().startswith("Computation by rank\n4 × 4 ranks, grid from ")
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("x (grid coordinate)", "y (grid coordinate)")
    assert axes.figure.axes[1].get_ylabel() == "computation of a rank (µs)"
    assert separators(axes) == 6
    assert axes.texts[5].get_text().startswith("rank 5\n")
    axes.figure.canvas.draw()


@pytest.mark.parametrize(("load", "within"), [(0, ""), (1, ", within 5 %")])
def test_equal_ranks_are_stated(load: int, within: str) -> None:
    axes = late([0, 0, load, 0], 500).plot.ranks("compute")
    assert "all 4 ranks: 7" in axes.get_title()
    assert axes.get_title().endswith(f"µs{within}")
    assert bars(axes) == 0
    shades = axes.images[0].norm(values(axes))
    assert (abs(shades - 0.5) < 0.1).all()  # neither empty nor saturated
    assert bars(late([0, 0, 2, 0], 500).plot.ranks("compute")) == 1


def test_ranks_without_a_grid_stand_in_lines() -> None:
    axes = late([*range(20)], 500).plot.ranks("compute")
    table = values(axes)
    assert table.shape == (2, 16)
    assert np.isnan(table[1, 4:]).all()
    assert table[1, 3] == table[~np.isnan(table)].max()
    assert axes.get_ylabel() == "line of 16 ranks"


def test_planes_stand_apart() -> None:
    b = Builder(8)
    sends = [
        b.event("Send", at=("a.py:1:f",), count=1, datatype=DOUBLE, tag=1, comm=Comm(),
                dest=To(Encoding.XOR, Vec(step)))
        for step in (1, 2, 4)
    ]  # fmt: skip
    trace = loaded(timed(b.of(b.loop(3, *sends))), [*range(8)])
    axes = trace.plot.ranks("compute")
    table = values(axes)
    assert table.shape == (2, 5)
    assert np.isnan(table[:, 2]).all()
    assert np.all(np.diff(table[~np.isnan(table)].reshape(2, 2, 2).transpose(1, 0, 2).ravel()) > 0)
    assert [text.get_text() for text in axes.texts[-2:]] == ["x = 0", "x = 1"]


def test_one_rank() -> None:
    b = Builder(1)
    trace = timed(b.of(b.event("Barrier", comm=Comm())))
    assert "rank 0: " in trace.plot.ranks().get_title()
    assert trace.plot.matrix().get_title() == "Bytes between ranks\nno messages"


def test_ranks_need_times() -> None:
    with pytest.raises(UsageError, match="times of each rank are not known"):
        ring(4).plot.ranks()
    with pytest.raises(UsageError, match="did you mean compute"):
        ring(4).plot.ranks("computer")
    assert pyplot.get_fignums() == []


def test_equal_pairs_are_stated() -> None:
    axes = ring(4).plot.matrix()
    assert axes.get_title() == "Bytes between ranks\nall 4 pairs with messages: 8 kB"
    assert bars(axes) == 0
    assert separators(axes) == 6
    shades = axes.images[0].norm(values(axes))
    assert np.nanmin(shades) == np.nanmax(shades) == 0.5


def test_the_scale_is_logarithmic_for_large_differences() -> None:
    b = Builder(4)

    def sent(count: int, step: int) -> Any:
        return b.event("Send", at=("a.py:1:f",), count=count, datatype=DOUBLE, tag=1, comm=Comm(),
                       dest=To(Encoding.MODULO, Vec(step)))  # fmt: skip

    for largest, norm in ((9, "Normalize"), (100, "LogNorm")):
        axes = timed(b.of(b.loop(2, sent(1, 1), sent(largest, 2)))).plot.matrix()
        assert type(axes.images[0].norm).__name__ == norm
        assert axes.figure.axes[1].get_ylabel() == "bytes (B)"
        axes.figure.canvas.draw()
