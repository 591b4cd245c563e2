"""Intervals of trimmed means."""

from __future__ import annotations

from math import inf, isclose

import numpy as np
import pytest
from scipy import stats

from scalatrace.stats.trimmed_mean import MeanInterval, paired_saving, sum_of_means, trimmed_mean


def test_few_values_give_students_interval() -> None:
    values = [3.0, 5.0, 4.0, 7.0]  # of four, none is left out
    mean = trimmed_mean(values)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (mean.mean, mean.low, mean.high) == pytest.approx((4.75, low, high))


def test_the_mean_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).lognormal(size=23)
    assert isclose(trimmed_mean(list(values)).mean, stats.trim_mean(values, 0.2))


def test_outliers_change_little() -> None:
    values = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0]
    plain, disturbed = trimmed_mean(values), trimmed_mean([*values[:-1], 1e9])
    assert disturbed.mean == plain.mean
    assert disturbed.halfwidth == plain.halfwidth


def test_intervals_contain_the_mean_as_often_as_they_say() -> None:
    random = np.random.default_rng(7)
    samples = random.standard_normal((2000, 15))
    inside = sum(m.low <= 0 <= m.high for m in map(trimmed_mean, samples.tolist()))
    assert 0.93 <= inside / len(samples) <= 0.97


def test_a_single_value_has_no_interval() -> None:
    assert trimmed_mean([3.0]).halfwidth == inf
    assert trimmed_mean([3.0, 3.0]).halfwidth == 0.0


def test_sums_add_means_and_variances() -> None:
    parts = [MeanInterval(1.0, 4.0, 10.0), MeanInterval(2.0, 5.0, 10.0)]
    whole = sum_of_means(parts)
    assert (whole.mean, whole.variance) == (3.0, 9.0)
    assert whole.freedom == pytest.approx(81 / (1.6 + 2.5))
    assert sum_of_means([]).halfwidth == 0.0


def test_savings_are_those_of_ratios() -> None:
    before, after = [100.0, 110.0, 90.0, 1e6, 105.0], [80.0, 88.0, 72.0, 8e5, 84.0]
    saving = paired_saving(before, after)
    assert saving.mean == pytest.approx(0.2 * 105.0)
    assert saving.halfwidth == pytest.approx(0.0, abs=1e-9)


def test_the_interval_of_a_saving_contains_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    inside = 0
    for _ in range(500):
        disturbed = random.lognormal(sigma=2.0, size=20)
        before, after = (disturbed * random.lognormal(mean, 0.1, 20) for mean in (0.0, np.log(0.9)))
        saving = paired_saving(before.tolist(), after.tolist())
        inside += bool(saving.low <= 0.1 * np.median(before) <= saving.high)
    assert 0.92 <= inside / 500 <= 0.98
