"""Intervals of bulk-synchronous traces, draws of their maxima, and the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.errors import FormatError
from scalatrace.predict.variability import intervals, maxima_of, read_times, spread_of_ranks
from scalatrace.predict.variability.intervals import ComputeInterval, Work
from scalatrace.stats.extreme_values import emma
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.quantiles import quantiles
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm
from support.drawing import json_of
from support.timed import COMMS, S, solver, trace_of


def histogram_of(samples: Sequence[float] | np.ndarray, nbins: int = 16) -> Histogram:
    parts = np.array_split(np.sort(np.asarray(samples, float)), min(nbins, len(samples)))
    bins = tuple(Bin(len(p), float(p.min()), float(p.max()), float(p.mean())) for p in parts)
    every = np.concatenate(parts)
    return Histogram(
        len(every), float(every.min()), float(every.max()), float(every.mean()), float(every.std()), bins
    )


def constant(ns: float, count: int) -> Histogram:
    return Histogram(count, ns, ns, ns, 0.0)


def bulk_synchronous(nprocs: int = 4, steps: int = 10) -> Trace:
    """A broadcast, then steps of two sends and a sum, and a broadcast; the first step begins later."""
    builder = Builder(nprocs)
    many = nprocs * steps
    setup = builder.event("Bcast", at=["app.py:1:main"], compute=constant(5000, nprocs), root=0)
    send = builder.event(
        "Send", 2, at=["app.py:5:step"], compute=constant(100, 2 * many),
        count=1, datatype=DOUBLE, dest=0, comm=Comm(),
    )  # fmt: skip
    total = builder.event(
        "Allreduce", at=["app.py:6:step"], compute=constant(30, many), count=1, datatype=DOUBLE, comm=Comm()
    )
    after = builder.event("Bcast", at=["app.py:7:step"], compute=constant(7, many), root=0)
    return builder.of(setup, builder.loop(steps, send, total, after))


def normal(mean: float, deviation: float, seed: int = 0) -> ComputeInterval:
    samples = np.random.default_rng(seed).normal(mean, deviation, 20_000)
    return ComputeInterval("Barrier", (), 100, (Work(histogram_of(samples, 200), 1.0, 1.0),))


def test_intervals_end_with_synchronising_calls() -> None:
    once, usual = intervals(bulk_synchronous())
    assert (once.op, once.count, usual.op, usual.count) == ("Allreduce", 1, "Allreduce", 10)
    assert once.mean_ns == 5000
    assert usual.mean_ns == 2 * 100 + 30 + 7
    assert usual.stack == ("app.py:6:step",)


def test_collectives_of_other_communicators_synchronise_nobody_else() -> None:
    builder = Builder(4)
    row = builder.family("split", (2, 2), (0, 1, 2, 3))
    event = builder.event("Barrier", at=["a.py:1:f"], compute=constant(10, 4), comm=row)
    assert intervals(builder.of(event)) == []


def test_nothing_without_times() -> None:
    assert intervals(Trace(2, meta={})) == []


def test_maxima_of_constant_times() -> None:
    _, usual = intervals(bulk_synchronous())
    assert maxima_of(usual, 1000, count=20) == pytest.approx(np.full(20, 237.0))


@pytest.mark.parametrize("nranks", [16, 256])
def test_maxima_grow_with_the_ranks(nranks: int) -> None:
    """The mean of the largest of P normal times, by EMMA."""
    interval = normal(1000, 50)
    expected = emma(lambda q: quantiles(interval.works[0].times, np.array([q]))[0], nranks)
    drawn = maxima_of(interval, nranks, count=1000)
    assert float(drawn.mean()) == pytest.approx(expected, rel=0.01)


def test_what_stays_with_a_rank_adds_up_over_its_computations() -> None:
    """Nine computations: independent ones vary by 3 deviations of one, those of slow ranks by 9."""
    work = normal(1000, 50).works[0]
    interval = ComputeInterval("Barrier", (), 1, (Work(work.times, 9.0, 1.0),))
    independent, common = maxima_of(interval, 1, 0.0, 4000), maxima_of(interval, 1, 0.05, 4000)
    assert float(independent.std()) == pytest.approx(3 * 50, rel=0.1)
    assert float(common.std()) == pytest.approx(9 * 50, rel=0.1)


def test_many_computations_are_drawn_as_one() -> None:
    work = normal(1000, 50).works[0]
    times = maxima_of(ComputeInterval("Barrier", (), 1, (Work(work.times, 400.0, 1.0),)), 1, 0.0, 2000)
    assert float(times.mean()) == pytest.approx(400_000, rel=0.001)
    assert float(times.std()) == pytest.approx(20 * 50, rel=0.1)


RARE = histogram_of([*np.full(119, 1000.0), 2e6])
"""One long time of 120, which few draws miss or have several times."""


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("nranks", [2, 4])
@pytest.mark.parametrize(
    "works",
    [
        [Work(RARE, 1.0, 1.0)],
        [Work(histogram_of([230e3] * 24), 6 / 29, 1.0), Work(histogram_of([239e3] * 92), 23 / 29, 1.0)],
        [Work(histogram_of([10.0] * 4), 1 / 400, 1.0)],
        [Work(histogram_of([10.0, 30.0] * 4), 70.0, 1.0)],
    ],
)
def test_the_slowest_rank_is_not_faster_than_the_mean(works: list[Work], nranks: int, spread: float) -> None:
    interval = ComputeInterval("Barrier", (), 29, tuple(works))
    for seed in range(20):
        slowest = float(maxima_of(interval, nranks, spread, 29, seed).mean())
        assert slowest >= interval.mean_ns * (1 - 1e-9)


def variability(
    capsys: pytest.CaptureFixture[str], path: Path, *words: str, status: int = 0
) -> tuple[str, str]:
    assert main(["variability", str(path), *words]) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_few_intervals_have_no_distribution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.st"
    scalatrace.save(bulk_synchronous(steps=9), path)
    shown, _ = variability(capsys, path, "-P", "64")
    assert "no distribution is fitted to 1 of at least 10 intervals; they are resampled" in shown
    assert "GEV" not in shown
    assert "pooled" not in shown
    data = json.loads(variability(capsys, path, "-P", "64", "--json")[0])
    assert {row["method"] for row in data["predictions"]} == {"resampled"}
    assert all(row["fits"] == {} for row in data["intervals"])
    _, error = variability(capsys, path, "-P", "64", "--method", "pooled", status=2)
    assert "--method pooled fits a distribution to 10 intervals or more" in error
    assert "here are 9: use --method resampled" in error


def test_calls_that_end_few_intervals_are_resampled_among_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.st"
    scalatrace.save(bulk_synchronous(steps=10), path)
    data = json.loads(variability(capsys, path, "-P", "64", "--json")[0])
    assert [(row["count"], sorted(row["fits"])) for row in data["intervals"]] == [
        (1, []), (10, ["mom", "pwm"])
    ]  # fmt: skip
    assert {row["method"] for row in data["predictions"]} == {"pooled", "resampled"}


def test_an_interval_of_width_0_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.st"
    scalatrace.save(bulk_synchronous(), path)  # all times are equal
    shown, _ = variability(capsys, path, "-P", "64")
    (row,) = (line.split() for line in shown.splitlines() if line.split()[:1] == ["resampled"])
    assert row == ["resampled", "64", "7.4", "µs", "one", "value", "+0", "%"]
    assert "one value: all draws gave it" in shown


def test_spread_of_ranks() -> None:
    trace = bulk_synchronous()
    assert spread_of_ranks(trace) == 0
    steps = [-3, 1, 0, 2]
    trace = Trace(4, meta={}, stats=trace.stats)
    trace.load.append(Vec(tuple(steps)))
    factors = np.exp2(np.array(steps) / LOAD_STEPS)
    assert spread_of_ranks(trace) == pytest.approx(factors.std(ddof=1) / factors.mean(), rel=0.05)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.st"
    builder = Builder(8)
    samples = np.random.default_rng(1).normal(1e6, 1e5, 800)
    event: Event = builder.event("Barrier", 101, at=["a.py:3:f"], compute=histogram_of(samples))
    trace = builder.of(event)
    trace.preds.append((event.op, event.signature))
    trace.nodes = [replace(event, stats=(replace(event.stats[0], pred=1),))]  # none is start-up
    scalatrace.save(trace, path)
    data = json_of(capsys, "variability", path, "-P", "64", "512")
    assert data["intervals"][0]["count"] == 100
    pooled = [row for row in data["predictions"] if row["method"] == "pooled"]
    assert [row["nranks"] for row in pooled] == [64, 512]
    assert data["total_ns"] < pooled[0]["median_ns"] < pooled[1]["median_ns"]
    for row, nranks in zip(pooled, (64, 512), strict=True):
        truth = 100 * emma(lambda q: float(np.quantile(samples, q)), nranks)
        assert row["low_ns"] * 0.97 <= truth <= row["high_ns"] * 1.03
    assert main(["variability", str(path), "-P", "64"]) == 0
    assert "95 % from" in capsys.readouterr().out


def test_communicators_of_all_ranks_synchronise_the_world(tmp_path: Path) -> None:
    """As a program whose collectives run on a Cartesian communicator."""
    trace = trace_of(tmp_path / "a.st", [solver(rank) for rank in range(4)], COMMS)
    steps = max(intervals(trace), key=lambda one: one.count)
    assert (steps.op, steps.count) == ("Allreduce", 50)
    assert steps.mean_ns == pytest.approx(0.101 * S, rel=0.01)
    assert all(one.mean_ns < 0.11 * S for one in intervals(trace))  # not the seconds of start-up


def test_parts_of_the_ranks_do_not_synchronise_the_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.st"
    assert not intervals(trace_of(path, [solver(rank, comm="rows") for rank in range(4)], COMMS))
    assert main(["variability", str(path), "-P", "64"]) == 2
    assert "no call synchronises all 4 ranks" in capsys.readouterr().err


def test_command_with_measured_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "times.csv"
    random = np.random.default_rng(2)
    np.savetxt(path, random.normal(1e-3, 1e-4, (200, 8)), delimiter=",", header="ftq")
    words = ["variability", "--times", str(path), "-P", "64", "--ranks-per-node", "4", "--json"]
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert {row["method"] for row in rows} == {"pooled", "resampled", "inter-node", "intra-node"}
    truth = 200 * (1e6 + 1e5 * 2.343)  # the mean of the largest of 64 standard normal samples
    assert all(row["low_ns"] * 0.99 <= truth <= row["high_ns"] * 1.01 for row in rows)


@pytest.mark.parametrize("text", ["", "1,2\n3\n", "a,b\n", "1,-2\n", "1,nan\n"])
def test_damaged_tables(tmp_path: Path, text: str) -> None:
    path = tmp_path / "times.csv"
    path.write_text(text)
    with pytest.raises(FormatError):
        read_times(path)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-P", "64"], "either a trace"),
        (["{trace}", "-P", "2"], "fewer ranks"),
        (["{trace}", "-P", "64", "--method", "inter-node"], "use --times"),
        (["{bare}", "-P", "64"], "the trace has no times"),
        (["--times", "{table}", "-P", "64", "--ranks-per-node", "3"], "no multiple"),
        (["--times", "{table}", "-P", "64", "--method", "intra-node"], "needs --times and --ranks-per-node"),
    ],
)
def test_errors(words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / name for name in ("trace", "bare", "table")}
    scalatrace.save(bulk_synchronous(), files["trace"])
    scalatrace.save(Trace(2, meta={}), files["bare"])
    np.savetxt(files["table"], np.ones((5, 4)), delimiter=",")
    assert main(["variability", *(word.format(**files) for word in words)]) == 2
    assert why in capsys.readouterr().err
