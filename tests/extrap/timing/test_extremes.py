"""Maxima of more samples than were seen, against samples of known distributions."""

from __future__ import annotations

import numpy as np
import pytest

from scalatrace.extrap.timing.extremes import slowest_interval, stretched
from scalatrace.trace.values.histogram import Bin, Histogram


def histogram_of(samples: np.ndarray, bins: int = 20) -> Histogram:
    """As the recorder makes them: bins with about as many samples each."""
    parts = [part for part in np.array_split(np.sort(samples), bins) if len(part)]
    made = tuple(Bin(len(p), float(p[0]), float(p[-1]), float(p.mean())) for p in parts)
    return Histogram(
        len(samples), made[0].min, made[-1].max, float(samples.mean()), float(samples.std()), made
    )


@pytest.mark.parametrize("scale", [100.0, 400.0])
def test_the_slowest_of_many_exponential_ranks(scale: float) -> None:
    """The mean of the largest of n exponential times is the scale times the n-th harmonic number."""
    random = np.random.default_rng(1)
    found = slowest_interval(histogram_of(1000 + random.exponential(scale, 20_000)), 256)
    truth = 1000 + scale * sum(1 / k for k in range(1, 257))
    assert abs(found.median / truth - 1) < 0.15
    assert found.low < found.median < found.high


def test_more_samples_have_a_larger_maximum() -> None:
    random = np.random.default_rng(2)
    seen = histogram_of(random.gumbel(1000, 50, 4_000))
    more = histogram_of(random.gumbel(1000, 50, 4_000))
    target = Histogram(256_000, more.min, more.max, more.mean, more.std, more.bins)
    found = stretched(target, seen)
    truth = random.gumbel(1000, 50, (20, 256_000)).max(axis=1).mean()
    assert found.max > target.max
    assert abs(found.max / truth - 1) < 0.15
    assert found.mean == target.mean
    assert found.bins[-1].max == found.max


def test_what_does_not_vary_stays() -> None:
    one = Histogram(100, 7, 7, 7, 0)
    assert stretched(Histogram(1000, 7, 7, 7, 0), one).max == 7
    assert slowest_interval(one, 4096).median == 7


def test_maxima_stay_within_what_a_trace_can_hold() -> None:
    bins = (Bin(10, 1e18, 2e18, 1.5e18), Bin(10, 2e18, 4.6e18, 4e18))
    target = Histogram(1 << 40, 1e18, 4.6e18, 2.75e18, 1e18, bins)
    assert stretched(target, Histogram(20, 1, 9, 5, 2)).max <= 1 << 62
