"""Histograms: the stored form is exact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.trace.histogram import Bin, Histogram
from scalatrace.trace.rounding import COARSE, FINE, rounded
from support.traces import histograms


@given(histograms())
def test_round_trip(histogram: Histogram) -> None:
    assert Histogram.decode(histogram.encode()) == histogram


def test_stored_form() -> None:
    """As docs/format.md has it."""
    h = Histogram(10, 3, 90, 20, 15, (Bin(7, 3, 9, 5), Bin(3, 50, 90, 60)))
    head = bytes([10, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 3, 0, 90, 0, 15, 0])
    assert h.encode() == head + bytes([7, 0, 3, 0, 9, 0, 5, 0]) + bytes([3, 0, 50, 0, 90, 0, 60, 0])
    assert Histogram.of(5).encode() == 5
    assert h.total == 200


@given(st.integers(-(1 << 62), 1 << 62), st.sampled_from([COARSE, FINE]))
def test_rounding(value: int, bits: int) -> None:
    assert rounded(rounded(value, bits), bits) == rounded(value, bits)
    assert abs(rounded(value, bits) - value) <= abs(value) / (2 << bits)
    if abs(value) < 2 << bits:
        assert rounded(value, bits) == value


def test_scaled() -> None:
    h = Histogram(2, 4, 8, 6, 2, (Bin(1, 4, 4, 4),)).scaled(0.5)
    assert h == Histogram(2, 2, 4, 3, 1, (Bin(1, 2, 2, 2),))


@pytest.mark.parametrize(
    "raw", [None, "x", (1, 2), b"", bytes(18), bytes(19), b"\1" * 25, b"\1" * (18 + 8 * 65), True]
)
def test_refuses(raw: object) -> None:
    with pytest.raises(ValueError, match="histogram"):
        Histogram.decode(raw)
