"""Quantiles of several histograms together: compared with samples that are drawn evenly from all bins."""

from __future__ import annotations

from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.quantiles import ordered_bins, pooled_quantile, quantiles
from support.traces import histograms

SAMPLES = 200
"""Samples that stand for each bin."""


def drawn_samples(pooled: list[Histogram]) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of all bins, and for how many of the histograms' samples each of them stands."""
    values, weights = [], []
    for histogram in pooled:
        bins = ordered_bins(histogram)
        number = sum(b.count for b in bins)
        for b in bins:
            values += [b.at((i + 0.5) / SAMPLES) for i in range(SAMPLES)]
            weights += [histogram.count * b.count / number / SAMPLES] * SAMPLES
    return np.array(values), np.array(weights)


@given(st.lists(histograms(), min_size=1, max_size=4), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
def test_bins_that_overlap(pooled: list[Histogram], share: float) -> None:
    """As many samples lie below as are asked for, but for a drawn sample of each bin."""
    value = pooled_quantile(pooled, share)
    values, weights = drawn_samples(pooled)
    total = weights.sum()
    error, slack = 1e-9 * abs(value), total * (1 / SAMPLES + 1e-9)
    assert weights[values < value - error].sum() <= share * total + slack
    assert weights[values <= value + error].sum() >= share * total - slack


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=30))
def test_single_samples_have_the_lower_median(samples: list[int]) -> None:
    assert pooled_quantile(map(Histogram.of, samples), 0.5) == median_low(samples)


def test_one_histogram_has_its_own_quantiles() -> None:
    h = Histogram(100, 10, 90, 34, 20, (Bin(60, 10, 30, 20), Bin(40, 40, 90, 55)))
    shares = np.array([0.05, 0.2, 0.5, 0.59, 0.7, 0.95])
    assert [pooled_quantile([h], share) for share in shares] == pytest.approx(list(quantiles(h, shares)))


def test_each_histogram_counts_by_its_samples() -> None:
    """Counts of bins are rounded; that of a histogram is not."""
    rare = Histogram(10, 5000, 9000, 7000, 1000)
    often = Histogram(1000, 10, 20, 15, 2, (Bin(500, 10, 14, 12), Bin(500, 16, 20, 18)))
    assert 14 <= pooled_quantile([rare, often], 0.5) <= 16.1
    assert pooled_quantile([rare, often], 1.0) == 9000
    assert pooled_quantile([rare, often], 0.0) == 10


def test_of_nothing_there_is_no_quantile() -> None:
    with pytest.raises(ValueError, match="no histograms"):
        pooled_quantile([], 0.5)
