"""Intervals of predictions by the checks of a platform."""

from __future__ import annotations

import numpy as np
import pytest

from scalatrace.predict.engine.repeats import interval_of
from scalatrace.predict.platform import Platform, PlatformCheck
from scalatrace.predict.platform.accuracy import MIN_CHECKS, accuracy_of

RUNS = 400


def checks(ranks: int, *ratios: float) -> tuple[PlatformCheck, ...]:
    return tuple(PlatformCheck(ranks, ratio, 1.0) for ratio in ratios)


def test_too_few_checks() -> None:
    assert accuracy_of(Platform(), 4) is None
    assert accuracy_of(Platform(checks=checks(4, *[1.0] * (MIN_CHECKS - 1))), 4) is None
    assert accuracy_of(Platform(checks=checks(4, *[1.0] * MIN_CHECKS)), 4) is not None


def test_checks_with_the_nearest_ranks_count() -> None:
    few, many = checks(2, 1.0, 1.01, 1.02), checks(64, 1.4, 1.5, 1.6, 1.7)
    platform = Platform(checks=few + many)
    for ranks, count, low in ((2, 3, 1.0), (8, 3, 1.0), (64, 4, 1.4), (1 << 20, 4, 1.4)):
        found = accuracy_of(platform, ranks)
        assert found is not None
        assert (found.count, found.low) == (count, low)


def test_checks_at_the_same_distance_count_together() -> None:
    platform = Platform(checks=checks(4, 1.0, 1.1, 1.2) + checks(16, 2.0))
    found = accuracy_of(platform, 8)
    assert found is not None
    assert (found.count, found.high) == (4, 2.0)


def test_the_prediction_is_in_its_interval() -> None:
    """All checks took longer."""
    accuracy = accuracy_of(Platform(checks=checks(4, 1.2, 1.21, 1.22)), 4)
    found = interval_of([99.9, 100.0, 100.1], accuracy)
    assert found.low_ns == found.median_ns == 100.0
    assert found.high_ns > 122.0


def test_one_run_has_an_interval_by_checks() -> None:
    accuracy = accuracy_of(Platform(checks=checks(4, 0.9, 1.0, 1.1)), 4)
    found = interval_of([100.0], accuracy)
    assert found.low_ns < 90.0
    assert found.high_ns > 110.0


def test_drawn_runs_widen_the_interval_as_much_as_they_vary() -> None:
    """Not by Student's t of the few checks."""
    accuracy = accuracy_of(Platform(checks=checks(4, 1.0, 1.0, 1.0)), 4)
    times = np.exp(np.random.default_rng(5).normal(0.0, 0.05, 200))
    found = interval_of(times.tolist(), accuracy)
    assert found.low_ns == pytest.approx(np.quantile(times, 0.025), rel=0.03)
    assert found.high_ns == pytest.approx(np.quantile(times, 0.975), rel=0.03)


def test_runs_without_time_have_no_interval_by_checks() -> None:
    found = interval_of([0.0, 0.0], accuracy_of(Platform(checks=checks(4, 1.0, 1.1, 1.2)), 4))
    assert (found.low_ns, found.high_ns, found.accuracy) == (0.0, 0.0, None)


@pytest.mark.parametrize("count", [3, 5, 12])
def test_intervals_cover_as_many_runs_as_they_should(count: int) -> None:
    """95 % of runs whose ratios are drawn as those of the checks, whatever the number of checks."""
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(RUNS):
        ratios = np.exp(rng.normal(0.05, 0.03, count + 1))
        accuracy = accuracy_of(Platform(checks=checks(4, *ratios[1:].tolist())), 4)
        found = interval_of([1.0], accuracy)
        inside += found.low_ns <= ratios[0] <= found.high_ns
    assert 0.92 <= inside / RUNS <= 0.99
