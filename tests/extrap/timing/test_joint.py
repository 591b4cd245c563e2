"""Histograms at another scale: always valid ones, and the right ones where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace.errors import UsageError
from scalatrace.extrap.timing.bins import by_order, by_quantile
from scalatrace.extrap.timing.joint import extrapolate_histogram, fit_histograms, with_expected_count
from scalatrace.extrap.timing.registry import TIMING_MODELS
from scalatrace.extrap.timing.rules import Times
from scalatrace.extrap.timing.trends import Trends
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.quantiles import quantiles
from support.timed_models import timed_model
from support.traces import histograms

RANKS = [8, 16, 32, 64]


def sampled(samples: np.ndarray, nbins: int = 5) -> Histogram:
    """The histogram of samples as a file has it, with bins of equal counts."""
    ordered = np.sort(samples)
    bins = tuple(
        Bin(len(x), float(x[0]), float(x[-1]), float(x.mean())) for x in np.array_split(ordered, nbins)
    )
    low, high, mean = float(ordered[0]), float(ordered[-1]), float(ordered.mean())
    return Histogram(len(ordered), low, high, mean, float(ordered.std()), bins).rounded()


def valid(h: Histogram) -> None:
    """What every histogram keeps."""
    assert h.count >= 1
    assert h.min <= h.mean <= h.max
    assert h.std >= 0
    assert sum(b.count for b in h.all_bins) == h.count
    assert all(b.count >= 1 and b.min <= b.mean <= b.max for b in h.all_bins)
    assert [b.mean for b in h.all_bins] == sorted(b.mean for b in h.all_bins)
    assert min(b.min for b in h.all_bins) == h.min
    assert max(b.max for b in h.all_bins) == h.max
    total = sum(b.count * b.mean for b in h.all_bins)
    assert total == pytest.approx(h.total, rel=1e-9, abs=1e-6 * h.count * max(abs(h.min), abs(h.max), 1))
    again = h.rounded()
    assert again.rounded() == again
    assert again.count == h.count


@settings(max_examples=40, deadline=None)
@given(
    st.lists(histograms(), min_size=1, max_size=4),
    st.sampled_from([None, *TIMING_MODELS]),
    st.sampled_from([1, 8, 100, 1 << 20]),
)
def test_always_valid(given_: list[Histogram], model: str | None, target: int) -> None:
    found = extrapolate_histogram(given_, RANKS[: len(given_)], target, model)
    valid(found)
    if all(h.min >= 0 for h in given_):
        assert found.min >= 0


@pytest.mark.parametrize("model", [None, "dissertation", "inverse+constant"])
def test_mean_and_shape_follow(model: str | None) -> None:
    """Times of k/p + c whose samples have the same distribution about them."""
    random = np.random.default_rng(1)
    given_ = [sampled((1e8 / p + 5e6) * (1 + 0.05 * random.standard_normal(p * 100))) for p in RANKS]
    found = extrapolate_histogram(given_, RANKS, 1024, model)
    truth = 1e8 / 1024 + 5e6
    valid(found)
    assert found.count == 1024 * 100
    assert found.mean == pytest.approx(truth, rel=0.01)
    assert found.std == pytest.approx(0.05 * truth, rel=0.15)
    assert len(found.bins) == 5
    assert found.bins[2].mean == pytest.approx(truth, rel=0.02)


def test_a_mode_whose_share_shrinks() -> None:
    """The two ranks at the ends take three times as long: their share is 2/p, their times stay."""
    given_ = []
    for p in RANKS:
        bins = (Bin((p - 2) * 100, 1e6, 1e6, 1e6), Bin(200, 3e6, 3e6, 3e6))
        mean = (1e6 * (p - 2) + 6e6) / p
        std = (4e12 * (p - 2) * 2) ** 0.5 / p
        given_.append(Histogram(p * 100, 1e6, 3e6, mean, std, bins))
    found = extrapolate_histogram(given_, RANKS, 1024)
    assert found.mean == pytest.approx(1e6 * (1 + 4 / 1024), rel=1e-3)
    assert found.bins[1].count / found.count == pytest.approx(2 / 1024, rel=0.05)
    assert found.bins[1].mean == pytest.approx(3e6, rel=0.01)


def test_count_as_told() -> None:
    given_ = [sampled(np.full(p * 10, 1000.0)) for p in RANKS]
    model = fit_histograms(given_, RANKS)
    assert model.at(1 << 20).count == 10 << 20
    assert model.at(1 << 20, count=7).count == 7
    valid(model.at(1 << 20, count=7))
    assert model.at(64, count=1).rounded() == Histogram(1, 1000, 1000, 1000, 0)


def test_two_parameters() -> None:
    runs = [(512, 8), (512, 16), (512, 64), (1024, 8), (1024, 32), (1024, 64)]
    given_ = [sampled(np.full(int(p), 80.0 * n * n / p)) for n, p in runs]
    model = fit_histograms(given_, runs)
    assert model.mean.formula == "80 * n^2 * p^(-1)"
    assert model.at((1024, 1024)).mean == pytest.approx(80 * 1024)
    with pytest.raises(UsageError, match="n, p"):
        model.at(1024)


def test_bins_of_unlike_numbers_are_cut_alike() -> None:
    random = np.random.default_rng(2)
    many, few = (sampled(1e6 + 1e5 * random.standard_exponential(4000), n) for n in (5, 3))
    assert by_order([many, few]) is None
    cut = by_quantile([many, few])
    assert [len(parts) for parts in cut] == [5, 5]
    for parts in cut:
        assert sum(part.share * part.mean for part in parts) == pytest.approx(1.1e6, rel=0.01)
        assert all(part.min <= part.mean <= part.max for part in parts)


@given(histograms())
def test_quantiles_rise(h: Histogram) -> None:
    values = quantiles(h, np.linspace(0, 1, 50))
    assert (np.diff(values) >= 0).all()


def test_noise_of_whole_runs() -> None:
    """Runs that differ by 2 % are no trend, once that is said."""
    factors = (1.0, 1.02, 0.99, 1.03)
    given_ = [sampled(np.full(100 * p, 1e6 * f)) for p, f in zip(RANKS, factors, strict=True)]
    found = extrapolate_histogram(given_, RANKS, 4096, run_noise=0.02)
    assert found.mean == pytest.approx(1e6, rel=0.03)


def test_refuses() -> None:
    one = Histogram.of(5)
    with pytest.raises(UsageError, match="noise"):
        extrapolate_histogram([one], [4], 16, run_noise=-1)
    with pytest.raises(UsageError, match="one of each per trace"):
        extrapolate_histogram([one], [4, 8], 16)
    with pytest.raises(UsageError, match=r"choose one of confirmed, normal-form, dissertation, constant"):
        extrapolate_histogram([one], [4], 16, "cubic")


def test_small_histograms_have_the_samples_of_the_larger_run() -> None:
    """Times too small for a model are those of the largest trace, but of as many calls as the result has."""
    found = {n: Histogram(100 * (n - 1), 1.0, 3.0, 2.0, 0.5) for n in (4, 5, 6, 8)}
    one = with_expected_count(found[8], list(found.values()), list(found), 64)
    assert (one.count, one.mean, one.min, one.max) == (6300, 2.0, 1.0, 3.0)
    small = tuple((h,) for h in found.values())
    large = tuple((Histogram(h.count, 1e6, 3e6, 2e6, 5e5),) for h in found.values())
    model = timed_model(list(found), {"Irecv": small, "Recv": large})
    predicted = Times(model, 64, Trends(model))("Irecv", small)[0]
    assert (predicted.count, predicted.mean) == (6300, 2.0)
