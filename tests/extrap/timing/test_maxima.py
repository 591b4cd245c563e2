"""EMMA and the growth of the slowest rank."""

from __future__ import annotations

from math import log
from statistics import NormalDist

import numpy as np
import pytest

from scalatrace.errors import UsageError
from scalatrace.expected_maximum import emma
from scalatrace.extrap.timing.curves.errors import TimingError
from scalatrace.extrap.timing.largest.gev import EULER, Gev
from scalatrace.extrap.timing.largest.maxima import (
    block_maxima,
    emma_of_samples,
    fitted,
    growth,
    slowest,
    slowest_load,
)
from scalatrace.trace.values.histogram import Bin, Histogram


def test_exact_for_gumbel() -> None:
    """The largest of m of a Gumbel distribution has the mean xi + alpha (gamma + log m)."""
    gumbel = Gev(0.0, 100.0, 5.0)
    for m in (1, 4, 64, 4096):
        assert emma(gumbel.quantile, m) == pytest.approx(100 + 5 * (EULER + log(m)))


def test_near_for_exponential_and_normal() -> None:
    """The largest of 64: sums of reciprocals for the exponential, a tabled 2.3902 sigma for the normal."""
    harmonic = sum(1 / i for i in range(1, 65))
    assert emma(lambda q: -log(1 - q), 64) == pytest.approx(harmonic, rel=0.01)
    assert emma(NormalDist().inv_cdf, 64) == pytest.approx(2.39, rel=0.02)


def test_from_samples() -> None:
    samples = np.random.default_rng(1).standard_exponential(20_000)
    assert emma_of_samples(samples, 16) == pytest.approx(sum(1 / i for i in range(1, 17)), rel=0.05)
    assert emma_of_samples(samples, 1e9) == samples.max()
    with pytest.raises(UsageError):
        emma_of_samples(samples, 0)


def test_block_maxima() -> None:
    assert block_maxima([1, 5, 2, 3, 9, 0, 7], 2).tolist() == [5, 3, 9]


def test_growth_from_interval_maxima() -> None:
    """64 ranks with exponential tails: four times the ranks add log 4 of the tail's scale."""
    times = 1e6 + 1e5 * np.random.default_rng(2).standard_exponential((2000, 64))
    grown = growth(times.max(axis=1), 64, [64, 256, 4096])
    for row in grown:
        truth = 1e6 + 1e5 * sum(1 / i for i in range(1, row.nprocs + 1))
        assert row.slowest == pytest.approx(truth, rel=0.03)
    assert grown[0].over_mean == pytest.approx(1, abs=0.01)
    assert grown[0].slowest < grown[1].slowest < grown[2].slowest


def test_slowest_of_a_histogram() -> None:
    samples = np.sort(1e6 + 1e5 * np.random.default_rng(3).standard_exponential(6400))
    parts = np.split(samples, [2000, 4000, 5500, 6200])
    bins = tuple(Bin(len(x), x[0], x[-1], x.mean()) for x in parts)
    h = Histogram(6400, samples[0], samples[-1], samples.mean(), samples.std(), bins)
    for nprocs in (1, 64, 512):
        truth = 1e6 + 1e5 * sum(1 / i for i in range(1, nprocs + 1))
        assert slowest(h, nprocs) == pytest.approx(truth, rel=0.06)
    assert slowest(h, 100_000) >= slowest(h, 6400) > 0.9 * samples[-1]
    assert slowest(Histogram(9, 5, 5, 5, 0), 1000) == 5


def test_slowest_load() -> None:
    assert slowest_load([0] * 16, 1024) == 1
    assert slowest_load([4, 0], 1024) == 2  # too few for a fit: what was seen
    uneven = slowest_load([-2, -1, 0, 0, 1, 2, 3, 1], 1024)
    assert uneven > 2 ** (3 / 4)


def test_unknown_fit() -> None:
    with pytest.raises(TimingError, match="pwm, mom"):
        fitted([1, 2, 3], "mle")
