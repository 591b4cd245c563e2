"""The GEV distribution against closed forms, and fits that find what samples were drawn from."""

from __future__ import annotations

from math import exp, log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.extrap.timing.curves.errors import TimingError
from scalatrace.extrap.timing.largest.gev import EULER, Gev, fit_mom, fit_pwm

SHAPES = st.floats(-0.5, 0.5)


def test_gumbel_in_closed_form() -> None:
    gumbel = Gev(0.0, 10.0, 2.0)
    assert gumbel.cdf(10.0) == pytest.approx(exp(-1))
    assert gumbel.cdf(13.0) == pytest.approx(exp(-exp(-1.5)))
    assert gumbel.mean == pytest.approx(10 + 2 * EULER)
    assert float(gumbel.quantile(0.5)) == pytest.approx(10 - 2 * log(log(2)))


def test_bounded_and_heavy_in_closed_form() -> None:
    """Shape -1 is a reversed exponential below xi + alpha; shape 1/2 a Fréchet of exponent 2."""
    reversed_exponential = Gev(-1.0, 5.0, 1.0)
    assert reversed_exponential.cdf(5.5) == pytest.approx(exp(-0.5))
    assert reversed_exponential.cdf(6.0) == 1
    assert reversed_exponential.mean == pytest.approx(5.0)  # 6 minus the exponential's mean
    frechet = Gev(0.5, 2.0, 1.0)
    assert frechet.cdf(4.0) == pytest.approx(exp(-(2.0**-2)))
    assert frechet.cdf(0.0) == 0
    assert frechet.mean == pytest.approx(2 * sqrt(pi))
    assert [g.kind for g in (reversed_exponential, Gev(0, 1, 1), frechet)] == ["III", "I", "II"]


@given(SHAPES, st.floats(0.01, 0.99))
def test_quantile_inverts_the_cdf(shape: float, q: float) -> None:
    gev = Gev(shape, 3.0, 0.7)
    assert gev.cdf(float(gev.quantile(q))) == pytest.approx(q, rel=1e-6)


@given(SHAPES, st.floats(-1.0, 3.0))
def test_density_is_the_slope(shape: float, z: float) -> None:
    gev, h = Gev(shape, 3.0, 2.0), 1e-5
    x = 3.0 + 2.0 * z
    slope = (gev.cdf(x + h) - gev.cdf(x - h)) / (2 * h)
    assert gev.pdf(x) == pytest.approx(slope, abs=1e-4)


@given(SHAPES, st.floats(1.5, 100), st.floats(0.05, 0.95))
def test_the_largest_of_many_is_a_gev_again(shape: float, m: float, q: float) -> None:
    gev = Gev(shape, 3.0, 0.7)
    x = float(gev.maximum_of(m).quantile(q))
    assert gev.cdf(x) ** m == pytest.approx(q, rel=1e-5)


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
        assert (found.cdf(4.9), found.cdf(5.0)) == (0, 1)
        with pytest.raises(TimingError, match="three samples"):
            fit([1.0, 2.0])
