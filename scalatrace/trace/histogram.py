"""Histograms of samples (dissertation §2.3): few bins that adapted while the program ran.

All numbers are integers, multiples of the statistic's resolution, exactly as stored in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Bin", "Histogram"]

MAX_BINS = 64


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin: number of samples, the smallest, the largest, their mean."""

    count: int
    min: float
    max: float
    mean: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """What is known of `count` samples. `bins` is empty when one bin holds them all."""

    count: int
    min: float
    max: float
    mean: float
    std: float
    bins: tuple[Bin, ...] = ()

    @property
    def total(self) -> float:
        """Sum of the samples, as far as the rounded mean knows it."""
        return self.mean * self.count

    @classmethod
    def of(cls, sample: int) -> Histogram:
        """The histogram of one sample."""
        return cls(1, sample, sample, sample, 0)

    def scaled(self, factor: float) -> Histogram:
        """The same samples, each times `factor`."""
        if factor == 1:
            return self
        bins = tuple(Bin(b.count, b.min * factor, b.max * factor, b.mean * factor) for b in self.bins)
        low, high, mean = self.min * factor, self.max * factor, self.mean * factor
        return Histogram(self.count, low, high, mean, self.std * factor, bins)

    @classmethod
    def decode(cls, raw: Any) -> Histogram:
        """From the file's form.

        Raises:
            ValueError: not a histogram.
        """
        if type(raw) is int:
            return cls.of(raw)
        if (
            type(raw) is not tuple
            or len(raw) < 5
            or (len(raw) - 5) % 4
            or any(type(n) is not int for n in raw)
        ):
            raise ValueError("a histogram is an integer or 5 + 4 n integers")
        if len(raw) > 5 + 4 * MAX_BINS or raw[0] < 1:
            raise ValueError("a histogram has no samples or too many bins")
        count, low, span, mean, std = raw[:5]
        return cls(count, low, low + span, low + mean, std, _decode_bins(raw, low))

    def encode(self) -> Any:
        """The file's form; a single sample is one integer."""
        if self.count == 1 and self.min == self.max == self.mean and self.std == 0 and not self.bins:
            return self.min
        raw = [self.count, self.min, self.max - self.min, self.mean - self.min, self.std]
        previous = self.min
        for b in self.bins:
            raw += [b.count, b.min - previous, b.max - b.min, b.mean - b.min]
            previous = b.max
        return tuple(raw)


def _decode_bins(raw: tuple[int, ...], low: int) -> tuple[Bin, ...]:
    bins, previous = [], low
    for i in range(5, len(raw), 4):
        count, gap, span, mean = raw[i : i + 4]
        start = previous + gap
        bins.append(Bin(count, start, start + span, start + mean))
        previous = start + span
    return tuple(bins)
