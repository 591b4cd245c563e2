"""Random numbers that are equal on all ranks without communication (§5.2.6), and samples drawn with them.

All executions of a call on all ranks are numbered, and each has a stratum of its own: a permutation (a
lattice with a random start) of equal parts of 0..1. So what they draw in all adds up to what the histogram
holds, where independent random numbers would need thousands of draws to come near.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import floor, gcd

from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.vec import SPECIAL_MAX

STEPS = (0.7548776662466927, 0.4142135623730951)
"""For each kind of number, the part of all strata that one draw is away from the draw before."""

PEER, COUNT = 0, 1
"""The kinds, which are independent."""


class SharedRandom:
    """Numbers from 0 to below 1 as a function of the seed and a key."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._sequences: dict[Hashable, tuple[int, int, int, float]] = {}

    def at(self, kind: int, event_key: Hashable, i: int, n: int) -> float:
        """Return number i, from 0, of n for the key `event_key`: each n-th part of 0..1 has one."""
        key = (kind, event_key)
        sequence = self._sequences.get(key)
        if sequence is None or sequence[0] != n:
            digest = hashlib.blake2b(repr((self._seed, key)).encode(), digest_size=8).digest()
            number = int.from_bytes(digest)
            within = (
                (number >> 32) % 1000 / 1000
            )  # where in the stratum, or single draws would all be medians
            sequence = self._sequences[key] = (n, _stride(STEPS[kind], n), number % n, within)
        _, stride, first, within = sequence
        return ((first + i * stride) % n + within) / n


def _stride(part: float, n: int) -> int:
    """Return a number near a part of n with which every number below n is reached from every other."""
    stride = max(1, round(part * n))
    while gcd(stride, n) != 1:
        stride += 1
    return stride


@dataclass(frozen=True)
class Weighted:
    """Values with weights, to be drawn from by quantile.

    Attributes:
        bins: their `count` is the weight; in ascending order.
    """

    bins: tuple[Bin, ...]
    total: float

    @classmethod
    def of(cls, bins: Sequence[Bin]) -> Weighted:
        """Return the distribution of all the bins' samples. Bins must not be empty."""
        ordered = tuple(sorted(bins, key=lambda b: b.mean))
        return cls(ordered, sum(b.count for b in ordered))

    @property
    def mean(self) -> float:
        """The mean of the samples. A histogram's own is rounded to an integer when it is small."""
        return sum(b.count * b.mean for b in self.bins) / self.total

    def draw(self, u: float) -> int:
        """Return the integer at quantile u: a bin's only value, else one next to its mean."""
        remaining = u * self.total
        for b in self.bins:
            if remaining < b.count or b is self.bins[-1]:
                if b.min == b.max:
                    return round(b.mean)
                share = min(max(remaining / b.count, 0.0), 1.0)  # where in the bin: evenly from 0 to 1
                integer = floor(b.mean)
                return integer + (share < b.mean - integer)
            remaining -= b.count
        raise ValueError("a distribution of nothing")


def counts_of(histogram: Histogram, samples: float = 0) -> tuple[Bin, ...]:
    """Return the bins of numbers of elements, without special values: in place, a side has none.

    Args:
        samples: what the weights are to add up to; 0 for those of the histogram.
    """
    bins = tuple(b for b in histogram.all_bins if not is_special(b.mean))
    if not samples or not bins:
        return bins
    factor = samples / sum(b.count for b in bins)
    return tuple(Bin(b.count * factor, b.min, b.max, b.mean) for b in bins)  # type: ignore[arg-type]


def is_special(value: float) -> bool:
    """Return whether a value of a histogram, which is rounded, stands for an MPI constant."""
    return value < SPECIAL_MAX * 0.99
