"""The normal form: exact without noise, simple within noise, never negative."""

from __future__ import annotations

from collections.abc import Callable
from math import log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.errors import UsageError
from scalatrace.stats.forms import Points, forms_for
from scalatrace.stats.least_squares import solve
from scalatrace.stats.normal_form import fit_jointly, fit_normal_form

RANKS = [8, 16, 32, 64]

SHAPES: dict[str, Callable[[float], float]] = {
    "1e+06": lambda p: 1e6,
    "20000 * p": lambda p: 2e4 * p,
    "1e+06 + 20000 * p": lambda p: 1e6 + 2e4 * p,
    "1e+08 * p^(-1)": lambda p: 1e8 / p,
    "1e+06 + 1e+08 * p^(-1)": lambda p: 1e6 + 1e8 / p,
    "1e+06 + 300000 * log2(p)": lambda p: 1e6 + 3e5 * log2(p),
    "10000 * p * log2(p)": lambda p: 1e4 * p * log2(p),
    "1e+06 + 300000 * p^(1/2)": lambda p: 1e6 + 3e5 * sqrt(p),
    "1e+07 * p^(-2/3)": lambda p: 1e7 * p ** (-2 / 3),
    "500 * p^2": lambda p: 500 * p * p,
    "1e+06 - 1e+06 * p^(-1)": lambda p: 1e6 * (1 - 1 / p),
}


@pytest.mark.parametrize("formula", SHAPES)
def test_exact_without_noise(formula: str) -> None:
    curve = fit_normal_form(Points.of(RANKS, [SHAPES[formula](p) for p in RANKS]))
    assert curve.formula == formula
    assert curve.predict(4096) == pytest.approx(SHAPES[formula](4096), rel=1e-6)
    low, high = curve.interval(4096)
    assert low <= curve.predict(4096) <= high
    assert high - low < 1e-3 * curve.predict(4096)


def test_two_parameters() -> None:
    runs = [(512, 8), (512, 16), (512, 64), (1024, 8), (1024, 32), (1024, 64)]
    curve = fit_normal_form(Points.of(runs, [80 * n * n / p + 3e5 * log2(p) for n, p in runs]))
    assert curve.formula == "300000 * log2(p) + 80 * n^2 * p^(-1)"
    assert curve.predict((2048, 1024)) == pytest.approx(80 * 2048**2 / 1024 + 3e6, rel=1e-6)


def test_the_simplest_within_noise() -> None:
    """Ten percent of noise on means of many samples: the form is still found, nearly always."""
    random = np.random.default_rng(5)
    found = 0
    for _ in range(20):
        truth = np.array([1e6 + 1e8 / p for p in RANKS])
        errors = 0.1 * truth / np.sqrt([100 * p for p in RANKS])
        values = truth + errors * random.standard_normal(4)
        curve = fit_normal_form(Points.of(RANKS, list(values), list(errors)))
        found += [term.text(("p",)) for term in curve.form.terms] == ["", "p^(-1)"]
    assert found >= 18


def test_a_small_constant_is_found_where_errors_are_known() -> None:
    """What the dissertation's rule takes for inverse alone (test_models)."""
    values = [1e9 / n + 2e5 for n in RANKS]
    curve = fit_normal_form(Points.of(RANKS, values, [1e-4 * t for t in values]))
    assert curve.formula == "200000 + 1e+09 * p^(-1)"


def test_ambiguous_points_have_wide_intervals() -> None:
    """With errors that hide the constant the interval at 64 times the ranks says so."""
    values = [1e8 / n + 1e5 for n in RANKS]
    curve = fit_normal_form(Points.of(RANKS, values, [0.02 * t for t in values]))
    low, high = curve.interval(4096)
    assert low <= 1e8 / 4096 + 1e5 <= high
    assert high - low > 0.5 * curve.predict(4096)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0, 1e9), min_size=1, max_size=6),
    st.floats(1, 1e7),
)
def test_never_negative(values: list[float], scale: float) -> None:
    curve = fit_normal_form(Points.of([4 * 2**i for i in range(len(values))], values))
    assert curve.predict(scale) >= 0
    low, high = curve.interval(scale)
    assert 0 <= low <= curve.predict(scale) <= high


@given(st.floats(-1e9, 1e9), st.integers(1, 1 << 20))
@settings(max_examples=20, deadline=None)
def test_one_point_is_a_constant(value: float, scale: int) -> None:
    curve = fit_normal_form(Points.of([16], [value]))
    assert curve.predict(scale) == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_few_points_have_few_coefficients() -> None:
    sizes = {npoints: max(len(form) for form in forms_for(1, npoints)) for npoints in (1, 2, 3, 4, 5)}
    assert sizes == {1: 1, 2: 1, 3: 2, 4: 2, 5: 3}


def test_leave_one_out_is_what_leaving_one_out_gives() -> None:
    values, errors = [3.0, 5.0, 4.0, 9.0], [1.0, 0.5, 2.0, 1.0]
    points = Points.of(RANKS, values, errors)
    form = next(f for f in forms_for(1, 4) if len(f) == 2 and f.text((1.0, 1.0), ("p",)) == "1 + 1 * p")
    whole = solve(form, points)
    assert whole is not None
    for i in range(4):
        rest = [j for j in range(4) if j != i]
        part = Points.of([RANKS[j] for j in rest], [values[j] for j in rest], [errors[j] for j in rest])
        fit = solve(form, part)
        assert fit is not None
        predicted = fit.coefficients[0] + fit.coefficients[1] * RANKS[i]
        assert whole.left_out[i] * points.errors[i] == pytest.approx(values[i] - predicted, rel=1e-6)


def test_fields_share_a_form() -> None:
    curves = fit_jointly([Points.of(RANKS, [k * 1e8 / p for p in RANKS]) for k in (1.0, 0.7, 1.9)])
    assert {curve.form for curve in curves} == {curves[0].form}
    assert curves[2].predict(1024) == pytest.approx(1.9e8 / 1024)


@pytest.mark.parametrize(
    ("scales", "values"), [([], []), ([1, 2], [1]), ([0, 2], [1, 2]), ([1, 2], [1, float("nan")])]
)
def test_refuses(scales: list[float], values: list[float]) -> None:
    with pytest.raises(UsageError):
        Points.of(scales, values)
