"""Tolerances to latency and bandwidth against known convex functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.predict.engine.sensitivity import LATENCY, MAX_FACTOR, tolerances
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.platform import Network, Platform, Segment

PLATFORM = Platform(name="test", network=Network((Segment(0, latency_ns=1000.0, per_byte_ns=1.0),)))
SHARES = (0.01, 0.02, 0.05)
LINES = st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**6)), min_size=1, max_size=6)


class Paths:
    """Stands for a simulator: paths with a time without latency and a number of latencies of 1 ps.

    Attributes:
        nruns: how often it was run.
    """

    def __init__(self, paths: list[tuple[int, int]]) -> None:
        self.paths, self.nruns = paths, 0

    def time_ps(self, factor: float) -> float:
        return max(own + factor * latencies for own, latencies in self.paths)

    def run(self, platform: Platform, _options: object) -> Any:
        """Times are whole picoseconds, as those of the simulator are."""
        self.nruns += 1
        factor = platform.network.segments[0].latency_ns / 1000.0
        time, latencies = max((own + round(factor * of), of) for own, of in self.paths)
        return SimpleNamespace(time_ps=time, path=[time, 0, factor * latencies, 0, 1])


def bisected(paths: Paths, target: float) -> float | None:
    if paths.time_ps(MAX_FACTOR) < target:
        return None
    low, high = 1.0, MAX_FACTOR
    while high - low > 1e-9 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if paths.time_ps(middle) < target else (low, middle)
    return high


@settings(max_examples=300, deadline=None)
@given(LINES)
def test_the_run_with_the_factor_is_slower_by_the_share(lines: list[tuple[int, int]]) -> None:
    paths = Paths([(1000 * own + 10**7, latencies) for own, latencies in lines])
    start = paths.time_ps(1.0)
    found = [
        each for each in tolerances(cast(Simulator, paths), PLATFORM, SHARES) if each.parameter == LATENCY
    ]
    assert [each.share for each in found] == list(SHARES)
    for each in found:
        expected = bisected(paths, start * (1 + each.share))
        if each.factor is None:
            assert expected is None or expected > MAX_FACTOR * (1 - 1e-6)
        else:
            assert paths.time_ps(each.factor) == pytest.approx(start * (1 + each.share), rel=1e-5)


def test_few_runs_serve_all_shares() -> None:
    """One longest path: a run for each parameter, and the one before."""
    paths = Paths([(10**12, 10**6)])
    assert len(list(tolerances(cast(Simulator, paths), PLATFORM, SHARES))) == 6
    assert paths.nruns <= 2 + 11  # no run is slower for bytes: 2^40 in steps of 16


class Jump(Paths):
    """One path that is longer from a factor on, as where a receive from any source has another match."""

    def __init__(self, latencies: int, at: float, longer: int) -> None:
        super().__init__([(10**12 - latencies, latencies)])
        self.at, self.longer = at, longer

    def run(self, platform: Platform, options: object) -> Any:
        result = super().run(platform, options)
        if platform.network.segments[0].latency_ns / 1000.0 >= self.at:
            result.time_ps += self.longer
            result.path[0] += self.longer
        return result


@pytest.mark.parametrize(
    ("jump", "expected"), [(Jump(10**10, 5.5, 10**10), 5.5), (Jump(0, 3.7, 6 * 10**10), 3.7)]
)
def test_a_jump_that_is_not_convex_is_found(jump: Jump, expected: float) -> None:
    found = next(iter(tolerances(cast(Simulator, jump), PLATFORM, (0.05,))))
    assert found.factor == pytest.approx(expected, rel=1e-4)


def test_a_run_without_time_and_a_share_of_zero() -> None:
    assert [each.factor for each in tolerances(cast(Simulator, Paths([(0, 0)])), PLATFORM, SHARES)] == [
        None
    ] * 6
    assert {each.factor for each in tolerances(cast(Simulator, Paths([(10, 1)])), PLATFORM, (0.0,))} == {1.0}
