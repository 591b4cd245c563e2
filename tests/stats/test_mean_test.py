"""The F-test: known values, Cornebize's examples, and the nominal rate of false alarms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scalatrace.errors import UsageError
from scalatrace.stats.mean_test import fluctuation_interval, mean_test

CONFIDENCE = 0.995
CORRELATION = -0.7
MU, SIGMA = np.array([10.0, 200.0]), np.array([1.0, 5.0])


def exact_reference(n: int) -> np.ndarray:
    """A reference set with exactly these means, deviations and correlation (§11.2.1)."""
    raw = np.random.default_rng(1).standard_normal((n, 2))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw.T))).T
    factor = np.linalg.cholesky(np.array([[1.0, CORRELATION], [CORRELATION, 1.0]]))
    return MU + (white @ factor.T) * SIGMA


def test_two_points_of_figure_11_2() -> None:
    """Both are 2 sigma away in each dimension; only the one against the correlation is an anomaly."""
    reference = exact_reference(2000)
    orange = mean_test(reference, [MU + 2 * SIGMA])
    green = mean_test(reference, [MU + 2 * SIGMA * [1, -1]])
    # squared Mahalanobis distances (4 + 4 -+ 2 * 4 * rho) / (1 - rho^2)
    scale = 2000 * 1998 / (2001 * 1999 * 2)
    assert orange.statistic == pytest.approx(scale * (8 + 5.6) / 0.51)
    assert green.statistic == pytest.approx(scale * (8 - 5.6) / 0.51)
    assert orange.is_anomaly(CONFIDENCE)
    assert not green.is_anomaly(CONFIDENCE)


def test_two_sets_of_figure_11_3() -> None:
    """Each point of both sets of five is likely; the mean of one set is not."""
    reference = exact_reference(2000)
    spread = np.array([[0, 0], [0.3, -0.2], [-0.3, 0.2], [0.2, 0.3], [-0.2, -0.3]])
    orange = MU + (np.array([0.8, 0.8]) + spread) * SIGMA
    green = MU + (np.array([0.8, -0.8]) + spread) * SIGMA
    for point in (*orange, *green):
        assert not mean_test(reference, [point]).is_anomaly(CONFIDENCE)
    assert mean_test(reference, orange).is_anomaly(CONFIDENCE)
    assert not mean_test(reference, green).is_anomaly(CONFIDENCE)


def test_is_students_test_for_one_factor() -> None:
    random = np.random.default_rng(3)
    reference, new = random.normal(5, 1, 12), random.normal(6, 1, 4)
    deviation = reference.std(ddof=1) * np.sqrt(1 / 12 + 1 / 4)
    t = (new.mean() - reference.mean()) / deviation
    test = mean_test(reference, new)
    assert test.statistic == pytest.approx(t * t)
    assert test.likelihood == pytest.approx(2 * stats.t.sf(abs(t), 11))


@given(st.integers(5, 30), st.integers(1, 6), st.floats(0.5, 0.9999))
def test_interval_is_the_test_of_one_factor(n: int, r: int, confidence: float) -> None:
    reference = np.random.default_rng(n).normal(100, 3, n)
    low, high = fluctuation_interval(reference, r, confidence)
    for bound in (low, high):
        assert mean_test(reference, np.full(r, bound)).statistic == pytest.approx(
            mean_test(reference, np.full(r, bound)).threshold(confidence), rel=1e-6
        )


@given(st.integers(1, 4), st.integers(0, 100))
def test_units_do_not_matter(p: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    reference, new = random.normal(0, 1, (3 * p + 4, p)), random.normal(0, 1, (2, p))
    scales = 10.0 ** random.integers(-9, 9, p)
    plain, scaled = mean_test(reference, new), mean_test(reference * scales, new * scales)
    assert scaled.statistic == pytest.approx(plain.statistic, rel=1e-6)


@pytest.mark.parametrize(("p", "r"), [(1, 1), (1, 5), (3, 1), (8, 5)])
def test_false_alarms_have_the_nominal_rate(p: int, r: int) -> None:
    """2000 trials at 5 %: within four standard deviations."""
    random = np.random.default_rng(p * 10 + r)
    mixing = random.normal(0, 1, (p, p))
    alarms = 0
    for _ in range(2000):
        rows = random.normal(0, 1, (25 + r, p)) @ mixing + 50
        alarms += mean_test(rows[:25], rows[25:]).is_anomaly(0.95)
    assert abs(alarms - 100) < 4 * np.sqrt(2000 * 0.05 * 0.95)


def test_constant_factors() -> None:
    reference = np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [2.5, 7.0]])
    assert mean_test(reference, [[2.0, 7.0]]).statistic < 1
    assert mean_test(reference, [[2.0, 7.1]]).likelihood == 0.0
    assert mean_test([5.0, 5.0, 5.0], [5.0]).likelihood == 1.0


def test_errors() -> None:
    with pytest.raises(UsageError, match="3 reference runs for 3 factors"):
        mean_test(np.eye(3), np.ones((1, 3)))
    rows = np.random.default_rng(0).normal(0, 1, (9, 2))
    with pytest.raises(UsageError, match="sums of others"):
        mean_test(np.column_stack([rows, rows.sum(axis=1)]), [[1, 2, 3]])
    with pytest.raises(UsageError, match="finite"):
        mean_test([1.0, float("nan"), 2.0], [1.0])
    with pytest.raises(UsageError, match="confidence 1"):
        mean_test([1.0, 3.0, 2.0], [1.0]).threshold(1.0)
