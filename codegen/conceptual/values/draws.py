"""Random numbers: SplitMix64 (Steele, Lea and Flood, 2014), so that the interpreter, compiled programs and
all tasks can draw the same ones."""

from __future__ import annotations

import math

__all__ = ["Draws"]

_MASK = 2**64 - 1
MAX_POISSON_MEAN = 500.0
"""Poisson numbers with larger means are sums of ones with smaller: exp(-mean) must not vanish."""


class Draws:
    """A sequence of random numbers that its seed determines.

    Attributes:
        state: 64 bits from which the sequence goes on.
    """

    def __init__(self, seed: int, task: int | None = None) -> None:
        """`task`: a sequence of this task's own; None: the one on which all tasks agree."""
        self.state = (seed * 0x9E3779B97F4A7C15 + (0 if task is None else task + 1)) & _MASK
        if task is not None:
            self.bits()

    def bits(self) -> int:
        """Return 64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, count: int) -> int:
        """Return a number from 0 to count - 1."""
        return self.bits() % count

    def unit(self) -> float:
        """Return a float in [0, 1)."""
        return (self.bits() >> 11) * 2.0**-53

    def gaussian(self, mean: float, deviation: float) -> float:
        """Draw from a normal distribution (Box and Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.unit()))
        return mean + deviation * radius * math.cos(2.0 * math.pi * self.unit())

    def poisson(self, mean: float) -> int:
        """Draw from a Poisson distribution (Knuth), in steps of at most 500."""
        total = 0
        while mean > 0.0:
            step = min(mean, MAX_POISSON_MEAN)
            mean -= step
            limit, product = math.exp(-step), self.unit()
            while product > limit:
                total += 1
                product *= self.unit()
        return total

    def pareto(self, shape: float, low: float, high: float | None = None) -> float:
        """Draw from a Pareto distribution, bounded when there is a `high`, by inverting it."""
        unit = 1.0 - self.unit()
        if high is None or high == low:
            return low / math.pow(unit, 1.0 / shape)
        reach = 1.0 - math.pow(low / high, shape)
        return low / math.pow(1.0 - (1.0 - unit) * reach, 1.0 / shape)
