"""By default a time follows the number of ranks only as far as the traces confirm it."""

from __future__ import annotations

from collections.abc import Callable
from math import log2

import numpy as np
import pytest

from scalatrace.extrap.timing.report import fitted_means, timing_rows
from scalatrace.extrap.timing.rules import Times
from scalatrace.extrap.timing.time_formulas import time_formulas
from scalatrace.extrap.timing.trends import Rows, State, Trends
from scalatrace.operations import may_wait
from scalatrace.stats.forms import Points
from scalatrace.stats.trend_test import confirmed_trend
from scalatrace.trace.model.symbolic import SymbolicTrace
from support.timed_models import noisy_histogram, timed_model

RANKS = (8, 16, 32, 64)
CLOSE = (16, 20, 25, 30)


def rows(
    time: Callable[[int], float], noise: float = 0.05, ranks: tuple[int, ...] = RANKS, seed: int = 0
) -> Rows:
    """Return the histograms of a call that takes so many ns on so many ranks, 20 times on each."""
    return tuple((noisy_histogram(time(n), 20 * n, noise, seed + n),) for n in ranks)


def mean(model: SymbolicTrace, op: str, nprocs: int, choice: str | None = None) -> float:
    """Return the mean of the first statistic in a result."""
    by_op = {rule.op: rule.stats[0].histograms for rule in model.nodes}
    (histogram,) = Times(model, nprocs, Trends(model, choice))(op, by_op[op])
    return float(histogram.mean)


@pytest.mark.parametrize(
    "time",
    [
        lambda n: 2e4 * n,
        lambda n: 1e6 + 2e4 * n,
        lambda n: 1e6 + 3e5 * log2(n),
        lambda n: 1e4 * n * log2(n),
        lambda n: 500.0 * n * n,
        lambda n: 1e8 / n,
        lambda n: 1e8 / n + 1e6,
        lambda n: 1e7 / n**0.5,
    ],
    ids=["p", "c+p", "c+log", "p log p", "p^2", "1/p", "1/p+c", "p^-1/2"],
)
def test_trends_that_the_largest_trace_confirms(time: Callable[[int], float]) -> None:
    model = timed_model(RANKS, {"Send": rows(time)})
    assert mean(model, "Send", 512) == pytest.approx(time(512), rel=0.1)


@pytest.mark.parametrize("seed", range(20))
def test_runs_that_differ_are_no_growth(seed: int) -> None:
    """Whole runs differ by 10 %: on a million ranks the time is that of the largest trace."""
    factors = 1 + 0.1 * np.random.default_rng(seed).standard_normal(4)
    times = dict(zip(CLOSE, 1e8 * factors, strict=True))
    model = timed_model(CLOSE, {"Allreduce": rows(times.__getitem__, ranks=CLOSE)})
    steps = np.diff(factors)
    if (steps > 0).any() and (steps < 0).any():  # runs that happen to be in order cannot be told from a trend
        assert mean(model, "Allreduce", 1 << 20) == pytest.approx(times[30], rel=0.02)


def test_growth_in_the_last_trace_alone_is_not_confirmed() -> None:
    times = dict(zip(RANKS, (5e8, 5e8, 5e8, 9e8), strict=True))
    model = timed_model(RANKS, {"Send": rows(times.__getitem__)})
    assert mean(model, "Send", 1 << 20) == pytest.approx(9e8, rel=0.02)
    trend = Trends(model).trend("Send", model.nodes[0].stats[0].histograms, 0)
    assert trend is not None
    assert trend.state is State.UNCONFIRMED
    assert trend.limit(1 << 20) == "as on 64 ranks: no trace confirms how it changes"


def test_two_traces_confirm_nothing() -> None:
    model = timed_model(RANKS[:2], {"Send": rows(lambda n: 2e4 * n, ranks=RANKS[:2])})
    assert mean(model, "Send", 1024) == pytest.approx(2e4 * 16, rel=0.02)


def test_shared_cores_allow_no_growth_but_shrinking_work() -> None:
    calls = {"Send": rows(lambda n: 2e6 * n), "Recv": rows(lambda n: 1e10 / n)}
    shared, own = (timed_model(RANKS, calls, shared_cores=crowded) for crowded in (True, False))
    assert mean(own, "Send", 1024) == pytest.approx(2e6 * 1024, rel=0.05)
    assert mean(shared, "Send", 1024) == pytest.approx(2e6 * 64, rel=0.05)
    for model in (shared, own):
        assert mean(model, "Recv", 1024) == pytest.approx(1e10 / 1024, rel=0.05)


def test_shrinking_times_do_not_rise_again() -> None:
    """The traces fall; a rise beyond them is not confirmed."""
    model = timed_model(RANKS, {"Send": rows(lambda n: 1e8 / n + 5e5 * log2(n), 0.01)})
    largest = model.nodes[0].stats[0].histograms[-1][0].mean
    assert all(mean(model, "Send", 64 << k) <= 1.01 * largest for k in range(1, 15))
    assert mean(model, "Send", 1 << 20, "normal-form") > 1.5 * largest


def test_time_that_waits_is_extended_four_fold() -> None:
    calls = {op: rows(lambda n: 2e4 * n) for op in ("Allreduce", "Type_commit", "Barrier")}  # else shut-down
    model = timed_model(RANKS, calls, stats=("comm_ns",))
    assert mean(model, "Allreduce", 256) == pytest.approx(2e4 * 256, rel=0.05)
    assert mean(model, "Allreduce", 1 << 20) == pytest.approx(2e4 * 256, rel=0.05)
    assert mean(model, "Type_commit", 4096) == pytest.approx(2e4 * 4096, rel=0.05)
    row = next(row for row in timing_rows(model, 1 << 20) if row.op == "Allreduce")
    assert row.ranks == 256
    waits = "Allreduce Recv Waitall Testall Win_fence File_close Comm_dup Ssend Unknown"
    assert all(map(may_wait, waits.split()))
    local = "Isend Iallreduce Start Put Type_vector Bsend Send_init"
    assert not any(map(may_wait, local.split()))


def test_a_named_model_is_obeyed() -> None:
    calls = {"Allreduce": rows(lambda n: 2e4 * n)}
    model = timed_model(RANKS, calls, stats=("comm_ns",), shared_cores=True)
    for choice in ("linear", "normal-form"):
        assert mean(model, "Allreduce", 1 << 20, choice) == pytest.approx(2e4 * (1 << 20), rel=0.05)


def test_sizes_between_the_traces() -> None:
    """A time without a trend is that of the next larger trace."""
    times = dict(zip(RANKS, (3e8, 5e8, 4e8, 6e8), strict=True))
    model = timed_model(RANKS, {"Send": rows(times.__getitem__)})
    assert [round(mean(model, "Send", n) / 1e8) for n in (8, 16, 20, 64, 100)] == [3, 5, 4, 6, 6]


def test_reports_and_programs_have_the_times_of_the_result() -> None:
    """Growth that shared cores explain is nowhere."""
    model = timed_model(RANKS, {"Send": rows(lambda n: 2e6 * n)}, shared_cores=True)
    (fitted,) = fitted_means(model)
    (row,) = timing_rows(model, 4096)
    law = time_formulas(model)(model.nodes[0].stats[0])
    assert law is not None
    largest = model.nodes[0].stats[0].histograms[-1][0].mean
    assert fitted.trend.mean(4096) == row.prediction == largest
    assert (row.ranks, law.terms, law.histogram.mean) == (64, (), largest)


def test_confirmation_needs_more_than_noise() -> None:
    def trend(values: tuple[float, ...], errors: float) -> int:
        return confirmed_trend(Points.of(RANKS[: len(values)], values, [errors] * len(values)))

    assert trend((10, 12, 14, 16), 0.01) == 1
    assert trend((16, 12, 10, 9), 0.01) == -1
    assert trend((10, 12, 14, 16), 2.0) == 0  # two standard errors are more than the last step
    assert trend((10, 14, 12, 16), 0.01) == 0  # falls in between
    assert trend((10, 10.1, 10.2, 10.3), 0.001) == 0  # equal runs differ as much
    assert trend((10, 20), 0.01) == 0


def test_time_that_waits_grows_at_most_four_fold() -> None:
    """A square on four times the ranks would be 16 times as long."""
    calls = {op: rows(lambda n: 500.0 * n * n) for op in ("Allreduce", "Type_commit", "Barrier")}
    model = timed_model(RANKS, calls, stats=("comm_ns",))
    assert mean(model, "Type_commit", 256) == pytest.approx(500.0 * 256 * 256, rel=0.1)
    assert mean(model, "Allreduce", 4096) == pytest.approx(4 * 500.0 * 64 * 64, rel=0.15)


def test_a_function_that_is_far_from_the_traces_is_not_extended() -> None:
    """It predicts the largest trace better than a constant does, but not the others."""
    model = timed_model(CLOSE, {"Send": rows(lambda n: {16: 4e6, 20: 1e5, 25: 2e5, 30: 6e6}[n], ranks=CLOSE)})
    assert mean(model, "Send", 1024) == pytest.approx(6e6, rel=0.1)
