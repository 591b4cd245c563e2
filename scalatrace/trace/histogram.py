"""Histograms of samples (dissertation §2.3): few bins that adapted while the program ran.

All numbers are multiples of the statistic's resolution. The file holds them rounded (docs/format.md): how large a histogram is there does
not depend on how long things took. A histogram that was read holds exactly what the file does.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from scalatrace.trace.rounding import COARSE, FINE, pack, unpack

__all__ = ["Bin", "Histogram"]

MAX_BINS = 64
_HEAD = struct.Struct("<Qihhh")  # count, mean, min, max, standard deviation
_BIN = struct.Struct("<hhhh")  # count, min, max, mean


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
        if type(raw) is not bytes:
            raise ValueError("a histogram is an integer or bytes")
        nbins, rest = divmod(len(raw) - _HEAD.size, _BIN.size)
        if rest or not 0 <= nbins <= MAX_BINS:
            raise ValueError("a histogram has the wrong length")
        count, mean, *coarse = _HEAD.unpack_from(raw)
        if count < 1:
            raise ValueError("a histogram has no samples")
        low, high, std = (unpack(code, COARSE) for code in coarse)
        bins = tuple(
            Bin(*(unpack(code, COARSE) for code in codes)) for codes in _BIN.iter_unpack(raw[_HEAD.size :])
        )
        return cls(count, low, high, unpack(mean, FINE), std, bins)

    def encode(self) -> int | bytes:
        """The file's form; a single sample is one integer."""
        if self.count == 1 and self.min == self.max == self.mean and self.std == 0 and not self.bins:
            return round(self.min)
        head = _HEAD.pack(
            self.count,
            pack(self.mean, FINE),
            *(pack(value, COARSE) for value in (self.min, self.max, self.std)),
        )
        bins = (_BIN.pack(*(pack(v, COARSE) for v in (b.count, b.min, b.max, b.mean))) for b in self.bins)
        return head + b"".join(bins)

    def rounded(self) -> Histogram:
        """The histogram as it comes back from a file."""
        return Histogram.decode(self.encode())
