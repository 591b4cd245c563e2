"""Histograms: the stored form is exact."""

from __future__ import annotations

import struct
from statistics import fmean, pstdev, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.rounding import COARSE, FINE, rounded
from support.traces import histograms


@given(histograms())
def test_round_trip(histogram: Histogram) -> None:
    assert Histogram.decode(histogram.encode()) == histogram


def test_one_sample_has_one_value() -> None:
    two = Histogram(1, 1000, 3000, 2000, 10, (Bin(1, 1000, 1000, 1000), Bin(1, 3000, 3000, 3000)))
    with pytest.raises(ValueError, match="one sample has two"):
        Histogram.decode(two.encode())


def test_stored_form() -> None:
    """As docs/reference/format.md has it."""
    h = Histogram(10, 3, 60, 11, 15, (Bin(9, 3, 9, 5), Bin(1, 60, 60, 60)))
    assert h.encode() == bytes([10, 11, 0, 0, 0, 15, 0]) + bytes([9, 0, 3, 0, 9, 0, 5, 0]) + bytes(
        [1, 0, 60, 0]
    )
    assert Histogram(300, 7, 7, 7, 0).encode()[:2] == bytes([0xAC, 2])
    assert Histogram.of(5).encode() == 5
    assert h.total == 110


@given(st.integers(-(1 << 62), 1 << 62), st.sampled_from([COARSE, FINE]))
def test_rounding(value: int, bits: int) -> None:
    assert rounded(rounded(value, bits), bits) == rounded(value, bits)
    assert abs(rounded(value, bits) - value) <= abs(value) / (2 << bits)
    if abs(value) < 2 << bits:
        assert rounded(value, bits) == value


def test_scaled() -> None:
    h = Histogram(2, 4, 8, 6, 2, (Bin(1, 4, 4, 4),)).scaled(0.5)
    assert h == Histogram(2, 2, 4, 3, 1, (Bin(1, 2, 2, 2),))


@pytest.mark.parametrize("loads", [(0.5, 1.5), (0.9, 1.1), (0.7, 1.0, 1.3), (1.0, 1.0)])
def test_times_of_one_rank_times_loads_are_distributed_as_all(loads: tuple[float, ...]) -> None:
    """The deviation within a rank and that of the loads make up that of the samples."""
    samples = [load * value for load in loads for value in (80.0, 95.0, 105.0, 120.0)]
    mean, count = fmean(samples), len(samples)
    bins = tuple(Bin(1, value, value, value) for value in sorted(samples))
    whole = Histogram(count, min(samples), max(samples), mean, stdev(samples), bins)
    one = whole.within_ranks(pstdev(loads))
    assert one.mean == pytest.approx(mean)
    assert fmean(b.mean for b in one.bins) == pytest.approx(mean)
    means = [b.mean for b in one.bins]
    mixed = [load * value for load in loads for value in means]
    assert pstdev(mixed) == pytest.approx(pstdev(samples))
    assert one.std == pytest.approx(stdev(means))


def test_loads_that_explain_all_leave_no_deviation() -> None:
    h = Histogram(2, 50, 150, 100, stdev((50, 150)), (Bin(1, 50, 50, 50), Bin(1, 150, 150, 150)))
    assert h.within_ranks(0.0) is h
    assert h.within_ranks(0.6).std == 0
    assert {b.mean for b in h.within_ranks(0.5).bins} == {100}


@pytest.mark.parametrize(
    "raw",
    [None, "x", (1, 2), b"", b"\x80" * 9, bytes(19), b"\1" * 7, b"\1" * 10, b"\2" * 16, b"\1\0" * 300, True],
)
def test_refuses(raw: object) -> None:
    with pytest.raises(ValueError, match=r"histogram|number"):
        Histogram.decode(raw)


@pytest.mark.parametrize(
    ("mean", "std", "counts"),
    [(0x7FFFFFFF, 1, (20, 5, 5, 5)), (5, 0x7FFF, (20, 5, 5, 5)), (5, -1, (20, 5, 5, 5)),
     (5, 1, (-20, 5, 5, 5)), (5, 1, (0, 5, 5, 5)), (5, 1, (20, 5, 0x7FFF, 5)), (5, 1, (20, -0x8000, 5, 5))],
)  # fmt: skip
def test_refuses_numbers_that_no_sample_has(mean: int, std: int, counts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="histogram"):
        Histogram.decode(bytes((20,)) + struct.pack("<ih4h", mean, std, *counts))


def test_largest_sample_comes_back() -> None:
    h = Histogram(2, 0, 2**64 - 1, 2**63, 0, (Bin(1, 0, 0, 0), Bin(1, 2**64 - 1, 2**64 - 1, 2**64 - 1)))
    assert h.rounded().rounded() == h.rounded()
