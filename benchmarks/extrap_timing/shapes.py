"""Known times as functions of (n, P), the input runs, and histograms of noisy samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2, sqrt

import numpy as np

from scalatrace.trace.values.histogram import Bin, Histogram

Time = Callable[[float, float], float]
"""Nanoseconds of one step on one rank, as a function of (n, P)."""

STEPS = 100
"""Samples per rank."""
BINS = 5
FACTORS = (4, 16, 64)
"""Targets, in multiples of the largest input."""


@dataclass(frozen=True)
class Design:
    """Which runs are given, as (n, P), and n at a target P. `both`: models see n and P, otherwise P alone."""

    runs: tuple[tuple[float, float], ...]
    n_at: Callable[[float], float]
    both: bool

    def targets(self) -> list[tuple[float, float]]:
        """(n, P) at each of FACTORS."""
        largest = max(p for _, p in self.runs)
        return [(self.n_at(f * largest), f * largest) for f in FACTORS]

    def scale(self, run: tuple[float, float]) -> tuple[float, ...]:
        """What the models see of a run."""
        return run if self.both else run[1:]


STRONG = Design(tuple((1024.0, p) for p in (8, 16, 32, 64)), lambda p: 1024.0, both=False)
WEAK = Design(tuple((256 * sqrt(p), p) for p in (4, 16, 36, 64)), lambda p: 256 * sqrt(p), both=True)
GRID = Design(
    ((512, 8), (512, 16), (512, 64), (1024, 8), (1024, 32), (1024, 64)), lambda p: 1024.0, both=True
)


@dataclass(frozen=True)
class Shape:
    """A name, a time, the runs; `hard`: a term is so small in all runs that noise can hide it."""

    name: str
    time: Time
    design: Design = STRONG
    hard: bool = False


SHAPES = (
    Shape("c", lambda n, p: 1e6),
    Shape("p", lambda n, p: 2e4 * p),
    Shape("c + p", lambda n, p: 1e6 + 2e4 * p),
    Shape("1/p", lambda n, p: 1e8 / p),
    Shape("1/p + c", lambda n, p: 1e8 / p + 1e6),
    Shape("1/p + small c", lambda n, p: 1e8 / p + 1e5, hard=True),
    Shape("c - 1/p", lambda n, p: 1e6 * (1 - 1 / p)),
    Shape("log p", lambda n, p: 3e5 * log2(p)),
    Shape("c + log p", lambda n, p: 1e6 + 3e5 * log2(p)),
    Shape("p log p", lambda n, p: 1e4 * p * log2(p)),
    Shape("c + p log p", lambda n, p: 1e6 + 5e3 * p * log2(p)),
    Shape("p^1/2", lambda n, p: 3e5 * sqrt(p)),
    Shape("c + p^1/2", lambda n, p: 1e6 + 3e5 * sqrt(p)),
    Shape("p^-1/2", lambda n, p: 1e7 / sqrt(p)),
    Shape("p^2/3", lambda n, p: 1e5 * p ** (2 / 3)),
    Shape("p^-2/3 + c", lambda n, p: 1e7 * p ** (-2 / 3) + 3e5),
    Shape("p^2", lambda n, p: 500 * p * p),
    Shape("c + p^2", lambda n, p: 1e6 + 500 * p * p),
    Shape("1/p + log p", lambda n, p: 1e8 / p + 5e5 * log2(p)),
    Shape("weak: c", lambda n, p: 15 * n * n / p, WEAK),
    Shape("weak: n", lambda n, p: 1e3 * n, WEAK),
    Shape("weak: n^2/p + log p", lambda n, p: 15 * n * n / p + 3e5 * log2(p), WEAK),
    Shape("n^2/p", lambda n, p: 80 * n * n / p, GRID),
    Shape("n^3/p", lambda n, p: 0.1 * n**3 / p, GRID),
    Shape("n/p^1/2", lambda n, p: 1e4 * n / sqrt(p), GRID),
    Shape("n^2/p + c", lambda n, p: 80 * n * n / p + 1e6, GRID),
    Shape("n^2/p + log p", lambda n, p: 80 * n * n / p + 3e5 * log2(p), GRID),
    Shape("n log p", lambda n, p: 500 * n * log2(p), GRID),
)


def histogram(random: np.random.Generator, time: float, noise: float, nranks: float) -> Histogram:
    """The histogram of a call site, as a file holds it: STEPS samples per rank, each with its own noise."""
    samples = np.sort(time * np.maximum(1 + noise * random.standard_normal(int(nranks) * STEPS), 0.01))
    parts = [samples[:1]] if noise == 0 else np.array_split(samples, BINS)
    bins = tuple(Bin(len(x), float(x[0]), float(x[-1]), float(x.mean())) for x in parts)
    mean, low, high = float(samples.mean()), float(samples[0]), float(samples[-1])
    found = Histogram(len(samples), low, high, mean, float(samples.std()), bins if noise else ())
    return found.rounded()
