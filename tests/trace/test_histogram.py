"""Histograms: the stored form is exact."""

from __future__ import annotations

import pytest
from hypothesis import given

from scalatrace.trace.histogram import Bin, Histogram
from support.traces import histograms


@given(histograms())
def test_round_trip(histogram: Histogram) -> None:
    assert Histogram.decode(histogram.encode()) == histogram


def test_stored_form() -> None:
    """Differences, as docs/format.md has them."""
    h = Histogram(10, 3, 90, 20, 15, (Bin(7, 3, 9, 5), Bin(3, 50, 90, 60)))
    assert h.encode() == (10, 3, 87, 17, 15, 7, 0, 6, 2, 3, 41, 40, 10)
    assert Histogram.of(5).encode() == 5
    assert h.total == 200


def test_scaled() -> None:
    h = Histogram(2, 4, 8, 6, 2, (Bin(1, 4, 4, 4),)).scaled(0.5)
    assert h == Histogram(2, 2, 4, 3, 1, (Bin(1, 2, 2, 2),))


@pytest.mark.parametrize(
    "raw", [None, "x", (1, 2), (1, 2, 3, 4, 5, 6), (0, 1, 1, 1, 1), (1.0, 2, 3, 4, 5), True]
)
def test_refuses(raw: object) -> None:
    with pytest.raises(ValueError, match="histogram"):
        Histogram.decode(raw)
