"""The dissertation's four models and its rule (§3.2.5)."""

from __future__ import annotations

from math import sqrt

import pytest

from scalatrace.stats.forms import Points
from scalatrace.stats.four_models import (
    MODELS,
    Thresholds,
    choose_jointly,
    decided,
    fit_dissertation,
)

RANKS = [16, 32, 64, 128]


def points(*values: float) -> Points:
    return Points.of(RANKS, values)


@pytest.mark.parametrize(
    ("name", "values", "coefficients"),
    [
        ("constant", [7e6] * 4, [7e6]),
        ("linear", [1e6 + 3e4 * n for n in RANKS], [1e6, 3e4]),
        ("inverse", [5e8 / n for n in RANKS], [5e8]),
        ("inverse+constant", [5e8 / n + 5e6 for n in RANKS], [5e6, 5e8]),
    ],
)
def test_exact_without_noise(name: str, values: list[float], coefficients: list[float]) -> None:
    found = MODELS[name](points(*values), Thresholds())
    assert found.coefficients == pytest.approx(coefficients)
    assert found.deviation == pytest.approx(0, abs=1e-9)
    (curve,) = fit_dissertation([points(*values)])
    assert curve.model == name
    truth = {"constant": 7e6, "linear": 1e6 + 3e4 * 4096, "inverse": 5e8 / 4096}
    assert curve.predict(4096) == pytest.approx(truth.get(name, 5e8 / 4096 + 5e6))


def test_constant_leaves_the_outlier_out() -> None:
    found = MODELS["constant"](points(10, 12, 14, 100), Thresholds())
    assert found.coefficients == (12.0,)
    assert found.deviation == pytest.approx(sqrt(8 / 3) / 12)


def test_inverse_leaves_the_outlier_out() -> None:
    found = MODELS["inverse"](points(100 / 16, 100 / 32, 100 / 64, 900 / 128), Thresholds())
    assert found.coefficients == (100.0,)
    assert found.deviation == 0


def test_slopes_below_the_least_are_none() -> None:
    rising = [1e6 + 199 * n for n in RANKS]  # 0.199 microseconds per rank
    assert MODELS["linear"](points(*rising), Thresholds()).coefficients == (sum(rising) / 4, 0.0)
    steeper = [1e6 + 201 * n for n in RANKS]
    assert MODELS["linear"](points(*steeper), Thresholds()).coefficients == pytest.approx((1e6, 201))
    falling = [1e6 - 201 * n for n in RANKS]
    assert MODELS["linear"](points(*falling), Thresholds()).coefficients == pytest.approx((1e6, -201))
    assert MODELS["linear"](points(*steeper), Thresholds(unit=1e4)).coefficients[1] == 0


def test_deviation_of_a_line() -> None:
    """sqrt(residual) / average of what the line says."""
    values = [0.0, 4e6, 0.0, 4e6]
    runs = Points.of([1, 2, 3, 4], values)
    a, b = 0.8e6, 0.0  # least squares by hand
    residual = sum((a * n + b - t) ** 2 for n, t in zip([1, 2, 3, 4], values, strict=True))
    assert MODELS["linear"](runs, Thresholds()).deviation == pytest.approx(sqrt(residual) / 2e6)


def test_a_field_decides_only_when_sure() -> None:
    deviations = {"constant": 0.5, "inverse": 0.01, "linear": 0.3, "inverse+constant": 0.061}
    assert decided(deviations) == "inverse"
    assert decided(deviations | {"inverse+constant": 0.06}) is None
    assert decided(deviations | {"inverse+constant": 0.06}, d_t=0.01) == "inverse"


def test_fields_that_wait_follow_the_others() -> None:
    sure = {"constant": 0.5, "inverse": 0.4, "linear": 0.01, "inverse+constant": 0.3}
    waits = {"constant": 0.5, "inverse": 0.02, "linear": 0.03, "inverse+constant": 0.02}
    assert choose_jointly([waits]) == "inverse"
    assert choose_jointly([waits, waits, sure]) == "linear"
    bins = [points(*[k * (1e6 + 5e4 * n) for n in RANKS]) for k in (1, 0.5, 2)]
    assert {curve.model for curve in fit_dissertation([*bins, points(1, 1, 2, 1)])} == {"linear"}


def test_a_small_constant_is_taken_for_none() -> None:
    """What the dissertation says of IS (§3.4.2): inverse phase and short constant phase become inverse."""
    (curve,) = fit_dissertation([points(*[1e9 / n + 2e5 for n in RANKS])])
    assert curve.model == "inverse"


def test_never_below_zero() -> None:
    (curve,) = fit_dissertation([points(*[1e7 - 7e4 * n for n in RANKS])])
    assert curve.model == "linear"
    assert curve.predict(1000) == 0


def test_two_parameters_use_the_last() -> None:
    runs = Points.of([(100, n) for n in RANKS], [5e8 / n for n in RANKS])
    (curve,) = fit_dissertation([runs])
    assert curve.formula == "5e+08 * p^(-1)"
    assert curve.predict((7, 1000)) == pytest.approx(5e5)
