"""The largest and smallest samples of a histogram, as one rank may have them."""

from __future__ import annotations

import pytest

from scalatrace.executor.call_times import excess_of_part
from scalatrace.trace.values.histogram import Bin, Histogram


def test_one_rank_of_four_may_have_the_long_samples() -> None:
    histogram = Histogram(8, 10, 30, 15, 8.0, (Bin(6, 10, 10, 10), Bin(2, 30, 30, 30)))
    assert excess_of_part(histogram, 1 / 4) == pytest.approx((1.0, 1 / 3))
    assert excess_of_part(histogram, 1 / 2) == pytest.approx((1 / 3, 1 / 3))


def test_equal_samples_and_all_of_them_have_no_excess() -> None:
    assert excess_of_part(Histogram(8, 20, 20, 20, 0), 1 / 4) == (0, 0)
    histogram = Histogram(8, 10, 30, 15, 8.0, (Bin(6, 10, 10, 10), Bin(2, 30, 30, 30)))
    assert excess_of_part(histogram, 1) == pytest.approx((0, 0))
