"""EMMA and the GEV distribution against closed forms, and fits that find what samples were drawn from."""

from __future__ import annotations

from math import log, pi, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.stats.extreme_values import (
    EULER,
    FITS,
    Gev,
    emma,
    fit_gev,
    fit_mom,
    fit_pwm,
    fits_agree,
    project_maxima,
)

SHAPES = st.floats(-0.5, 0.5)


def test_gumbel_in_closed_form() -> None:
    gumbel = Gev(0.0, 10.0, 2.0)
    assert gumbel.mean == pytest.approx(10 + 2 * EULER)
    assert float(gumbel.quantile(0.5)) == pytest.approx(10 - 2 * log(log(2)))


def test_bounded_and_heavy_in_closed_form() -> None:
    """Shape -1 is a reversed exponential below xi + alpha; shape 1/2 a Fréchet of exponent 2."""
    reversed_exponential = Gev(-1.0, 5.0, 1.0)
    assert float(reversed_exponential.quantile(0.5)) == pytest.approx(6 - log(2))
    assert reversed_exponential.mean == pytest.approx(5.0)  # 6 minus the exponential's mean
    frechet = Gev(0.5, 2.0, 1.0)
    assert float(frechet.quantile(0.25)) == pytest.approx(2 / sqrt(log(4)))
    assert frechet.mean == pytest.approx(2 * sqrt(pi))
    assert [g.kind for g in (reversed_exponential, Gev(0, 1, 1), frechet)] == ["III", "I", "II"]


@given(SHAPES)
def test_mean_is_that_of_the_quantiles(shape: float) -> None:
    gev = Gev(shape, 3.0, 0.7)
    middles = (np.arange(100_000) + 0.5) / 100_000
    assert float(gev.quantile(middles).mean()) == pytest.approx(gev.mean, rel=0.01)


@given(SHAPES, st.floats(1.5, 100), st.floats(0.05, 0.95))
def test_the_largest_of_many_is_a_gev_again(shape: float, m: float, q: float) -> None:
    gev = Gev(shape, 3.0, 0.7)
    largest = float(gev.maximum_of(m).quantile(q))
    assert largest == pytest.approx(float(gev.quantile(q ** (1 / m))), rel=1e-5)


@pytest.mark.parametrize("shape", [-0.3, -0.1, 0.0, 0.1, 0.25])
def test_fits_of_exact_quantiles(shape: float) -> None:
    """Evenly spaced quantiles are as good as samples get; PWM's formula for k is itself good to 9e-4."""
    gev = Gev(shape, 100.0, 5.0)
    samples = gev.quantile((np.arange(200_000) + 0.5) / 200_000)
    for fit, within in ((fit_pwm, 2e-3), (fit_mom, 5e-3 if shape < 0.2 else 0.04)):
        found = fit(samples)
        assert found.shape == pytest.approx(shape, abs=within)
        assert found.location == pytest.approx(100.0, abs=0.2)
        assert found.scale == pytest.approx(5.0, rel=0.05)
        assert found.mean == pytest.approx(gev.mean, rel=1e-3)


def test_pwm_by_hand() -> None:
    """b_0 = 2, b_1 = (2 + 2 * 3) / 6, b_2 = 2 * 3 / 6 of 1, 2, 3."""
    c = (2 * (8 / 6) - 2) / (3 * 1.0 - 2) - log(2) / log(3)
    assert fit_pwm([3, 1, 2]).shape == pytest.approx(-(7.8590 * c + 2.9554 * c * c))


def test_fits_of_samples() -> None:
    samples = Gev(0.1, 1e6, 3e4).sample(np.random.default_rng(3), 4000)
    for fit in (fit_pwm, fit_mom):
        found = fit(samples)
        assert found.shape == pytest.approx(0.1, abs=0.06)
        assert found.location == pytest.approx(1e6, rel=3e-3)
        assert found.scale == pytest.approx(3e4, rel=0.05)


def test_equal_samples_and_too_few() -> None:
    for fit in (fit_pwm, fit_mom):
        found = fit([5.0] * 10)
        assert (found.location, found.scale, found.mean) == (5.0, 0.0, 5.0)
        assert found.quantile([0.1, 0.9]).tolist() == [5.0, 5.0]
        with pytest.raises(UsageError, match="three samples"):
            fit([1.0, 2.0])


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


def test_growth_from_interval_maxima() -> None:
    """64 ranks with exponential tails: four times the ranks add log 4 of the tail's scale."""
    times = 1e6 + 1e5 * np.random.default_rng(2).standard_exponential((2000, 64))
    grown = project_maxima(times.max(axis=1), 64, [64, 256, 4096])
    for row in grown:
        truth = 1e6 + 1e5 * sum(1 / i for i in range(1, row.nprocs + 1))
        assert row.slowest == pytest.approx(truth, rel=0.03)
    assert grown[0].over_mean == pytest.approx(1, abs=0.01)
    assert grown[0].slowest < grown[1].slowest < grown[2].slowest


def test_unknown_fit() -> None:
    with pytest.raises(UsageError, match="pwm, mom"):
        fit_gev([1, 2, 3], "mle")


def _fits(samples: Floats) -> list[Gev]:
    return [fit_gev(samples, method) for method in FITS]


def test_fits_of_maxima_agree() -> None:
    """Of any distribution with independent samples: a bounded, a light and a heavy tail."""
    random = np.random.default_rng(3)
    size = (200, 16)
    for samples in (random.uniform(size=size), random.normal(1, 0.1, size), 1 + random.pareto(2.5, size)):
        assert fits_agree(_fits(samples.max(axis=1)), 200)


def test_fits_disagree_on_what_are_no_maxima() -> None:
    """One outlier in bounded samples: the skewness says type II, probability-weighted moments type III."""
    random = np.random.default_rng(3)
    samples = np.append(random.uniform(1, 1.1, (199, 16)).max(axis=1), 1.3)
    assert [fit.kind for fit in _fits(samples)] == ["III", "II"]
    assert not fits_agree(_fits(samples), 200)
