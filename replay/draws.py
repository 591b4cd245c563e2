"""Numbers that all ranks agree on without asking each other (§5.2.6), and values drawn with them.

A number is a point of a low-discrepancy sequence (additive recurrence with irrational steps): over the
executions of a call, and over the ranks, the points fill 0..1 evenly. So totals of what is drawn come close
to the histogram's after few draws, where independent random numbers would need thousands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import floor

from scalatrace.trace.histogram import Bin, Histogram

STEPS = ((0.7548776662466927, 0.5698402909980532), (0.4142135623730951, 0.7320508075688772))
"""For each kind of number: the step per execution, and per rank (R2's; square roots of 2 and 3 less 1)."""

PEER, COUNT = 0, 1
"""The kinds: what a call draws for one says nothing about the other."""


class Draws:
    """Numbers from 0 to below 1 as a function of the seed and of what they are for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._starts: dict[Hashable, float] = {}

    def at(self, kind: int, what: Hashable, execution: int, rank: int = 0) -> float:
        """Return the number for an execution, from 0, of `what`."""
        start = self._starts.get((kind, what))
        if start is None:
            digest = hashlib.blake2b(repr((self._seed, kind, what)).encode(), digest_size=8).digest()
            start = self._starts[kind, what] = int.from_bytes(digest) / 2**64
        per_execution, per_rank = STEPS[kind]
        return (start + execution * per_execution + rank * per_rank) % 1.0


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

    def draw(self, u: float) -> int:
        """Return the integer at quantile u: a bin's only value, else one next to its mean."""
        left = u * self.total
        for b in self.bins:
            if left < b.count or b is self.bins[-1]:
                if b.min == b.max:
                    return round(b.mean)
                share = min(max(left / b.count, 0.0), 1.0)  # where in the bin: evenly from 0 to 1
                whole = floor(b.mean)
                return whole + (share < b.mean - whole)
            left -= b.count
        raise ValueError("a distribution of nothing")


def bins_of(histogram: Histogram) -> tuple[Bin, ...]:
    """Return a histogram's bins with means that add up to its own mean, which is known better than theirs."""
    bins = histogram.bins or (Bin(histogram.count, histogram.min, histogram.max, histogram.mean),)
    weight = sum(b.count for b in bins)
    wide = [b for b in bins if b.min < b.max]
    total = sum(b.count * b.mean for b in wide)
    missing = histogram.mean * weight - sum(b.count * b.mean for b in bins)
    factor = 1 + missing / total if total else 1.0
    if not 0.99 < factor < 1.01:
        return bins
    return tuple(Bin(b.count, b.min, b.max, b.mean * factor) if b.min < b.max else b for b in bins)
