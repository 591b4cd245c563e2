"""Two runs compared and runs on several numbers of ranks, as tables and plots of a notebook."""

from __future__ import annotations

from typing import Any

import pytest

from scalatrace import Trace
from scalatrace.errors import UsageError
from scalatrace.report.scaling.runs import efficiency_rows, scaling_run
from scalatrace.trace.views import ideal_time_ns
from support.late_ranks import late
from support.reported import hostile, ring, timed

pandas = pytest.importorskip("pandas")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def scaled_runs() -> list[Trace]:
    """Runs of weak scaling on 2, 4 and 8 ranks, of which the last rank computes longer."""
    return [late([*[0] * (n - 1), 8], 500 * n) for n in (2, 4, 8)]


def test_differing_times_as_a_table() -> None:
    before, after = ring(4), timed(ring(4), 3)
    frame = before.compare_frame(after)
    assert list(frame.columns) == [
        "time", "place", "left_ns", "right_ns", "difference_ns", "time_ratio", "share_of_difference",
        "mostly_on",
    ]  # fmt: skip
    assert set(frame.time) == {"computation", "in Allreduce", "in Irecv", "in Send", "in Wait"}
    assert list(frame.time_ratio) == pytest.approx([3.0] * len(frame))
    total = sum(trace.stats_frame()[["mpi_ns", "compute_ns"]].sum().sum() * sign
                for trace, sign in ((after, 1), (before, -1)))  # fmt: skip
    assert frame.difference_ns.sum() == pytest.approx(total / 4)  # of a mean rank
    assert frame.share_of_difference.sum() == pytest.approx(1)
    assert len(before.compare_frame(after, by="op")) <= len(frame)
    assert before.compare_frame(before).empty


def test_differing_times_as_a_plot() -> None:
    before, after = ring(4), timed(ring(4), 3)
    axes = before.plot.compare(after)
    frame = before.compare_frame(after)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx(list(frame.difference_ns / 1e3)[: len(widths)])
    assert ("more differ" in axes.get_title()) == (len(frame) > len(widths))
    assert axes.get_xlabel() == "time after minus time before, mean of a rank (µs)"
    title, *lines = axes.get_title().split("\n")
    assert title == "Differences of times"
    assert " ".join(lines).startswith("After is ")
    assert "slower" in " ".join(lines)
    assert any("ring.py:4:turn" in text.get_text() for text in axes.texts)
    labels = {text.get_text() for text in axes.get_legend().get_texts()}
    assert labels == {"worse"}
    assert {text.get_text() for text in after.plot.compare(before).get_legend().get_texts()} == {"better"}


def test_other_numbers_of_ranks_are_compared_by_rank() -> None:
    axes = ring(4).plot.compare(timed(ring(8), 2))
    assert "mean of a rank" in axes.get_xlabel()


def test_equal_runs_say_so() -> None:
    axes = ring(4).plot.compare(ring(4))
    assert "No time differs" in axes.get_title()
    assert not axes.patches


def test_efficiencies_as_a_table() -> None:
    runs = scaled_runs()
    frame = runs[1].scaling_frame([runs[2], runs[0]])
    assert list(frame.ranks) == [2, 4, 8]
    rows = efficiency_rows([scaling_run(run, "", ideal_time_ns(run)) for run in runs], weak=True)
    assert frame.equals(pandas.DataFrame(rows))
    assert not frame.isna().any().any()
    parts = frame.load_balance * frame.serialisation * frame.transfer
    assert list(parts) == pytest.approx(list(frame.parallel_efficiency))
    strong = runs[0].scaling_frame(runs[1:], weak=False)
    assert strong.computation_scalability.iloc[-1] < 0.5 < frame.computation_scalability.iloc[-1]


def test_efficiencies_as_a_plot() -> None:
    first, *others = scaled_runs()
    axes = first.plot.scaling(others)
    texts = [text.get_text() for text in axes.texts]
    assert "global efficiency" in texts
    assert "            transfer" in texts
    assert [label.get_text().split("\n")[0] for label in axes.get_xticklabels()] == ["2", "4", "8"]
    frame = first.scaling_frame(others)
    percents = [text for text in texts if text.endswith("%")]
    assert len(percents) == 7 * 3
    assert percents[-1] == f"{100 * frame.computation_scalability.iloc[-1]:.0f} %"
    grades = axes.images[0].get_array()
    assert [[grade == 3 for grade in row] for row in grades] == [
        [value >= 0.8 for value in frame[name]]
        for name in (
            "global_efficiency", "parallel_efficiency", "load_balance", "communication_efficiency",
            "serialisation", "transfer", "computation_scalability",
        )
    ]  # fmt: skip
    axes.figure.canvas.draw()


def test_speedup_as_a_plot() -> None:
    first, *others = scaled_runs()
    axes = first.plot.scaling(others, of="speedup")
    measured, perfect = axes.lines
    assert list(measured.get_ydata()) == pytest.approx(list(first.scaling_frame(others).speedup))
    assert list(perfect.get_ydata()) == [1, 2, 4]
    assert axes.get_title().startswith("Scaled speed-up\n")
    assert axes.get_ylabel() == "scaled speed-up over the run on 2 ranks (ratio)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda plot: plot.compare(ring(4), by="rank"), "give 'op', 'site'"),
        (lambda plot: plot.scaling([]), "two numbers of ranks"),
        (lambda plot: plot.scaling([ring(4)]), "both have 4 ranks"),
        (lambda plot: plot.scaling([ring(8)], of="sped"), "give 'efficiencies', 'speedup'"),
    ],
)
def test_mistakes(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call(ring(4).plot)
    assert pyplot.get_fignums() == []


def test_hostile_names_are_drawn_as_text() -> None:
    for axes in (hostile().plot.compare(timed(hostile(), 9)), hostile().plot.flame()):
        axes.figure.canvas.draw()
