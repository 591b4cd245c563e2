"""What a result says of itself: header, warnings, total times, accepted formulas, suggested sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalatrace
from scalatrace import Trace
from scalatrace.cli import main
from scalatrace.extrap.errors import ExtrapolationError, InputError, UndeterminedError
from scalatrace.extrap.extrapolate import extrapolate, model_of, of_model
from scalatrace.extrap.suggest import suggest_recordings
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.io.writer import save
from scalatrace.trace.symbolic.origin import split_origin
from support.calls import IssuedCall, call
from support.drawing import json_of
from support.grids import Rank, halo, trace_of

LINES = [(4,), (5,), (6,)]


def rounds(rank: Rank) -> list[IssuedCall]:
    """A call whose count is half the number of ranks."""
    return [call("Allreduce", 10, count=rank.dims[0] // 2, comm="world")]


def _traces(sizes: list[tuple[int, ...]] = LINES) -> list[Trace]:
    return [trace_of(halo(True), dims) for dims in sizes]


def test_header_of_a_result() -> None:
    traces = _traces()
    for trace in traces:
        trace.meta.update({"program": "ring.py", "date": "2024-01-01", "run": "12", "hosts": "1"})
        trace.counts["Comm_rank"] = 7
    made = extrapolate(traces, 9, dims_of=LINES).trace
    assert made.meta["program"] == "ring.py"
    assert made.meta["extrapolated"] == "from 4, 5, 6 ranks to 9, times by confirmed"
    assert not {"date", "run", "hosts", "unconfirmed"} & made.meta.keys()
    assert made.counts == {}
    assert split_origin(made.meta) == ("from 4, 5, 6 ranks to 9", "confirmed")
    assert split_origin({"extrapolated": "from 4 ranks to 9"})[1] is None  # of an anonymous trace


def test_parameters_in_the_header_are_those_of_the_result() -> None:
    traces = [trace_of(halo(True), dims, 10 * dims[0]) for dims in LINES]
    made = extrapolate(traces, 9, params={"n": 77}, dims_of=LINES).trace
    assert made.meta["param.n"] == "77"


def test_total_times_are_those_of_the_histograms() -> None:
    made = extrapolate(_traces(), 9, dims_of=LINES)
    (total,) = made.times
    assert total.stat == "compute_ns"
    between = made.trace.without_phases  # start-up is no part of it
    histograms = [h for leaf in between.leaves() for stat in leaf.stats for h in stat.histograms if h]
    assert total.mean_ns == pytest.approx(sum(h.total for h in histograms) / 9, rel=1e-3)
    assert 0 <= total.low_ns <= total.mean_ns <= total.high_ns


def test_warnings() -> None:
    assert extrapolate(_traces(), 9, dims_of=LINES).warnings == ()
    assert extrapolate(_traces(), 600, dims_of=LINES).warnings == ()  # times are the same in all traces
    far = extrapolate(_traces(), 600, dims_of=LINES, timing_model="linear").warnings
    guess = "600 ranks are 100 times the largest trace: times that follow a function so far are a guess"
    assert far == (guess,)
    crowded = _traces()
    for trace in crowded:
        trace.meta.update({"ranks-per-host": str(trace.nprocs), "cores-per-host": "4"})
    model = model_of(crowded, LINES)[1]
    expected = "runs with more ranks than cores: 5, 6; their times contain waiting for cores"
    assert of_model(model, 9).warnings == (expected,)


def test_times_that_follow_no_curve() -> None:
    traces = _traces([(4,), (5,), (6,), (7,)])
    for k, trace in enumerate(traces):
        for leaf in trace.leaves():
            for stats in leaf.stats:
                rows = [h and h.scaled((1, 9, 2, 7)[k]) for h in stats.histograms]
                object.__setattr__(stats, "histograms", tuple(rows))
    lines = [(4,), (5,), (6,), (7,)]
    (warning,) = extrapolate(traces, 9, dims_of=lines, check=False, timing_model="normal-form").warnings
    assert "of the time between calls follows no curve well; the largest part of it: " in warning
    (warning,) = extrapolate(traces, 9, dims_of=lines, check=False).warnings
    # All of it: start-up, which never changes, is no part of the time between calls.
    assert warning == "100% of the time between calls stays as on 7 ranks: no trace confirms how it changes"


def test_parity_that_no_trace_has() -> None:
    even = [(4,), (6,), (8,)]
    assert extrapolate(_traces(even), 12, dims_of=even)
    with pytest.raises(InputError, match="X is even in all traces and odd on a grid of 9"):
        extrapolate(_traces(even), 9, dims_of=even)
    assert extrapolate(_traces(even), 9, dims_of=even, accept_unconfirmed=True)


def test_unconfirmed_formulas_can_be_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = [(4,), (8,)]
    traces = [
        trace_of(lambda r: [call("Bcast", 3, count=3 * r.dims[0] + 1, root=0, comm="world")], d) for d in two
    ]
    with pytest.raises(ExtrapolationError, match="no formula found"):
        extrapolate(traces, 16, dims_of=two)
    made = extrapolate(traces, 16, dims_of=two, accept_unconfirmed=True)
    assert made.trace.meta["unconfirmed"] == "formulas that the traces do not confirm were accepted"
    assert made.warnings == ("formulas that the traces do not confirm were accepted",)
    assert next(made.trace.walk(0)).params["count"] == 49
    model = model_of(traces, two, accept_unconfirmed=True)[1]
    save(model, tmp_path / "a.stx")
    assert of_model(load_symbolic(tmp_path / "a.stx"), 16).trace.meta["unconfirmed"]
    scalatrace.save(made.trace, tmp_path / "a.st")
    assert main(["show", str(tmp_path / "a.st")]) == 0
    assert "extrapolated by unconfirmed formulas" in capsys.readouterr().out


@pytest.mark.slow
def test_unconfirmed_formulas_are_not_taken_where_others_are_confirmed() -> None:
    """A count that nothing confirms, beside neighbours on a torus."""
    planes = [(2, 2), (2, 4), (4, 4)]
    neighbours = halo(wrap=True)

    def body(rank: Rank) -> list[IssuedCall]:
        count = {4: 37, 8: 512, 16: 1000}.get(rank.dims[0] * rank.dims[1], 0)
        return [*neighbours(rank), call("Bcast", 99, count=count, root=0, comm="world")]

    traces = [trace_of(body, dims) for dims in planes]
    with pytest.raises(ExtrapolationError, match="count of Bcast"):
        extrapolate(traces, 32, (4, 8), dims_of=planes)
    made = extrapolate(traces, 32, (4, 8), dims_of=planes, accept_unconfirmed=True)
    peers = [e for e in made.trace.walk(5) if e.op != "Bcast"]
    run = [e for e in trace_of(body, (4, 8)).walk(5) if e.op != "Bcast"]
    assert [(e.op, e.params) for e in peers] == [(e.op, e.params) for e in run]


def test_error_names_the_size_that_decides() -> None:
    """Half the number of ranks is its logarithm on 2, 4 and 5 ranks, but not on 6."""
    sizes = [(2,), (4,), (5,)]
    traces = [trace_of(rounds, dims) for dims in sizes]
    with pytest.raises(UndeterminedError, match=r"add a trace of \d+ ranks") as caught:
        extrapolate(traces, 16, dims_of=sizes)
    reason, runs = suggest_recordings(traces, sizes, 16)
    assert reason == str(caught.value)
    assert runs
    for run in runs:  # each of them decides
        extended = [*sizes, run.grid.dims]
        assert extrapolate([trace_of(rounds, dims) for dims in extended], 16, dims_of=extended, check=False)


@pytest.mark.slow
def test_suggestions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suggest_recordings(_traces(), LINES, 9) == ("", [])
    assert [run.grid.nprocs for run in suggest_recordings(_traces(), LINES)[1]] == [7, 8, 9, 10, 11]
    planes = [(2, 2), (2, 3), (3, 3)]
    found = suggest_recordings([trace_of(halo(True), dims) for dims in planes], planes)[1]
    assert [run.grid.dims for run in found] == [(2, 4), (2, 5), (3, 4), (2, 7), (3, 5)]  # no 1 x 5
    paths = []
    for trace in _traces():
        paths.append(str(tmp_path / f"{trace.nprocs}.st"))
        scalatrace.save(trace, paths[-1])
    size = json_of(capsys, "extrapolate", *paths, "--suggest")["sizes"][0]
    assert size == {"ranks": 7, "grid": "7", "inputs": {}}
    assert main(["extrapolate", *paths, "-P", "12", "--suggest"]) == 0
    assert "no further one is needed" in capsys.readouterr().out
    assert main(["extrapolate", *paths, "-P", "12", "--lossy", "--suggest"]) == 2


def test_irregular_trip_counts() -> None:
    """Iterations of a solver: equal on all sizes seen, and maybe others elsewhere."""

    def solver(rank: Rank) -> list[IssuedCall]:
        one = [*halo(wrap=False, loops=1)(rank)]
        return [
            c for turns in (8, 3, 1, 9, 11, 4, 12) for c in (*one * turns, call("Barrier", 9, comm="world"))
        ]

    planes = [(3, 3), (4, 3), (4, 4), (5, 4)]
    few = [trace_of(solver, dims) for dims in planes[:3]]
    with pytest.raises(
        ExtrapolationError, match=r"are irregular, but equal in all traces.*4 traces that agree"
    ):
        extrapolate(few, 25, (5, 5))
    accepted = extrapolate(few, 25, (5, 5), accept_unconfirmed=True)
    assert any("are irregular, but equal" in text for text in accepted.warnings)
    made = extrapolate([trace_of(solver, dims) for dims in planes], 25, (5, 5))
    assert any("are irregular, but equal in all traces" in text for text in made.warnings)
    made = extrapolate([trace_of(halo(wrap=False), dims) for dims in planes], 25, (5, 5))
    assert not any("are irregular" in text for text in made.warnings)
