"""Histograms of samples (dissertation §2.3), with few bins that adapt while the program runs.

All numbers are multiples of the statistic's resolution. The file holds them rounded
(docs/reference/format.md), so a histogram's size does not depend on the times. A histogram read from a file
holds the rounded numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from math import isclose, sqrt
from typing import NamedTuple

from scalatrace.trace.values import naturals
from scalatrace.trace.values.rounding import COARSE, FINE, pack, unpack

__all__ = ["Bin", "Histogram"]

MAX_BINS = 64
_HEAD = struct.Struct("<ih")  # mean, standard deviation
_WIDE = struct.Struct("<hhhh")  # a bin: count, min, max, mean
_ONE = struct.Struct("<hh")  # a bin of one sample: 1, the sample
MAX_NARROW_SAMPLES = 12
"""Samples of a histogram that may have bins of one sample; others have one bin size, so sizes are stable."""


class Bin(NamedTuple):
    """One bin: number of samples, the smallest, the largest, their mean."""

    count: int  # type: ignore[assignment]  # tuples have a method of this name, which is not used
    min: float
    max: float
    mean: float

    def at(self, share: float) -> float:
        """Return the sample below which a share of the samples lies: evenly from min to mean, and to max."""
        if self.max <= self.min:
            return self.mean
        below = self._share_below_mean
        if share < below:
            return self.min + (self.mean - self.min) * share / below
        return self.mean + (self.max - self.mean) * (share - below) / (1 - below)

    def slices(self, number: int) -> list[float]:
        """Return the means of so many equal parts of the samples in order; their mean is the bin's."""
        sums = [self._sum_below(i / number) for i in range(number + 1)]
        return [number * (high - low) for low, high in pairwise(sums)]

    def _sum_below(self, share: float) -> float:
        """Return the integral of `at` from 0 to a share."""
        if self.max <= self.min:
            return share * self.mean
        below = self._share_below_mean
        low, total = min(share, below), 0.0
        if low > 0:
            total = self.min * low + (self.mean - self.min) * low * low / (2 * below)
        if (high := share - low) > 0:
            total += self.mean * high + (self.max - self.mean) * high * high / (2 * (1 - below))
        return total

    @property
    def _share_below_mean(self) -> float:
        """So many samples lie below the mean, or it would not be the mean. It may be rounded."""
        return min(1.0, max(0.0, (self.max - self.mean) / (self.max - self.min)))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Summary of `count` samples. `bins` is empty if one bin holds them all."""

    count: int
    min: float
    max: float
    mean: float
    std: float
    bins: tuple[Bin, ...] = ()

    @property
    def all_bins(self) -> tuple[Bin, ...]:
        """The bins, also when it is one that holds all samples."""
        return self.bins or (Bin(self.count, self.min, self.max, self.mean),)

    @property
    def drawn_bins(self) -> tuple[Bin, ...]:
        """The bins to draw from: scaled so that the mean of draws is the mean, since bins are rounded."""
        return _drawn_bins(self)

    @property
    def total(self) -> float:
        """Sum of the samples, as far as the rounded mean knows it."""
        return self.mean * self.count

    def draw(self, random: Callable[[], float]) -> float:
        """Draw a value from the distribution: a bin by its count, then a value around the bin's mean.

        Args:
            random: gives numbers from 0 to below 1; two are taken.
        """
        b = self._bin_at(random())
        return b.at(random()) if b.max > b.min else b.mean

    def _bin_at(self, quantile: float) -> Bin:
        """Return the bin in which the sample of a quantile from 0 to below 1 lies."""
        bins = self.drawn_bins
        remaining = quantile * sum(b.count for b in bins)
        for b in bins:
            remaining -= b.count
            if remaining < 0:
                return b
        return bins[-1]

    @classmethod
    def of(cls, sample: int) -> Histogram:
        """Return the histogram of one sample."""
        return cls(1, sample, sample, sample, 0)

    def scaled(self, factor: float) -> Histogram:
        """Return the histogram of the samples times `factor`."""
        if factor == 1:
            return self
        bins = tuple(Bin(b.count, b.min * factor, b.max * factor, b.mean * factor) for b in self.bins)
        low, high, mean = self.min * factor, self.max * factor, self.mean * factor
        return Histogram(self.count, low, high, mean, self.std * factor, bins)

    def within_ranks(self, spread: float) -> Histogram:
        """Return the samples without the part of their deviation that loads explain; the mean stays.

        A draw from it times the load of a rank is distributed as the samples of all ranks. Draws from the
        histogram itself would count the loads twice.

        Where only some ranks make a call, their loads may deviate less than those of all; then too much is
        taken away.

        Args:
            spread: standard deviation of the loads, whose mean is 1.
        """
        if spread <= 0 or self.mean <= 0 or self.std <= 0 or self.count < 2:
            return self
        variation = (self.std / self.mean) ** 2 * (self.count - 1) / self.count  # of these samples
        kept = sqrt(max(0.0, (1 + variation) / (1 + spread * spread) - 1) / variation)

        def near(value: float) -> float:
            return self.mean + kept * (value - self.mean)

        bins = tuple(Bin(b.count, near(b.min), near(b.max), near(b.mean)) for b in self.bins)
        return Histogram(self.count, near(self.min), near(self.max), self.mean, kept * self.std, bins)

    @classmethod
    def decode(cls, raw: object) -> Histogram:
        """Decode the file's form.

        Raises:
            ValueError: not a histogram.
        """
        if type(raw) is not int and type(raw) is not bytes:
            raise ValueError("a histogram is an integer or bytes")
        return _decode_cached(raw)

    def encode(self) -> int | bytes:
        """Return the file's form; a single sample is one integer."""
        if self.count == 1 and self.min == self.max == self.mean and self.std == 0 and not self.bins:
            return round(self.min)
        out = bytearray()
        naturals.put(out, self.count)
        out += _HEAD.pack(pack(self.mean, FINE), pack(self.std, COARSE))
        return bytes(out) + b"".join(_bin(b, self.count <= MAX_NARROW_SAMPLES) for b in self.all_bins)

    def rounded(self) -> Histogram:
        """Return the histogram as a file stores it."""
        return Histogram.decode(self.encode())


@lru_cache(maxsize=1 << 12)
def _drawn_bins(histogram: Histogram) -> tuple[Bin, ...]:
    bins = histogram.all_bins
    total, count = sum(b.count * b.mean for b in bins), sum(b.count for b in bins)
    if total <= 0 or histogram.mean <= 0:
        return bins
    factor = histogram.mean * count / total
    if isclose(factor, 1, rel_tol=1e-9):
        return bins  # exact ones: the factor is the rounding of this division
    return tuple(Bin(b.count, b.min * factor, b.max * factor, b.mean * factor) for b in bins)


def _bin(b: Bin, few: bool) -> bytes:
    count = pack(b.count, COARSE)
    if few and count == 1:
        return _ONE.pack(1, pack(b.min, COARSE))
    return _WIDE.pack(count, *(pack(value, COARSE) for value in (b.min, b.max, b.mean)))


@lru_cache(maxsize=1 << 14, typed=True)
def _decode_cached(raw: int | bytes) -> Histogram:
    """Return a histogram; the same one for equal forms, of which a trace has many."""
    if isinstance(raw, int):
        return Histogram.of(raw)
    count, at = naturals.read(raw)
    if count < 1 or len(raw) < at + _HEAD.size:
        raise ValueError("a histogram has no samples or ends too early")
    mean, std = _HEAD.unpack_from(raw, at)
    if std < 0:
        raise ValueError("a histogram has a negative deviation")
    bins = _read_bins(raw, at + _HEAD.size, count <= MAX_NARROW_SAMPLES)
    low, high = bins[0].min, bins[0].max
    if len(bins) > 1:
        low, high = min([b.min for b in bins]), max([b.max for b in bins])
    if count == 1 and low != high:
        raise ValueError("a histogram of one sample has two")
    kept = tuple(bins) if len(bins) > 1 else ()
    return Histogram(count, low, high, unpack(mean, FINE), unpack(std, COARSE), kept)


def _read_bins(raw: bytes, at: int, few: bool) -> list[Bin]:
    bins: list[Bin] = []
    while at < len(raw) or not bins:
        is_single = few and raw[at : at + 2] == b"\1\0"
        size = _ONE.size if is_single else _WIDE.size
        if len(raw) < at + size or len(bins) == MAX_BINS:
            raise ValueError("a histogram ends in a bin or has too many")
        if is_single:
            value = _coarse(_ONE.unpack_from(raw, at)[1])
            bins.append(Bin(1, value, value, value))
        else:
            count, low, high, mean = _WIDE.unpack_from(raw, at)
            if count < 1:
                raise ValueError("a histogram has a bin without samples")
            bins.append(Bin(_coarse(count), _coarse(low), _coarse(high), _coarse(mean)))
        at += size
    return bins


@cache
def _coarse(code: int) -> int:
    """Return the number of one of the 65,536 codes."""
    return unpack(code, COARSE)
