"""The slowest rank at another scale: EMMA and the bootstraps against known distributions of a rank's time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from statistics import NormalDist

import numpy as np

from scalatrace.stats.bootstrap import (
    PredictionInterval,
    inter_node,
    intra_node,
    non_parametric,
    pooled,
)

COLUMNS = ("distribution", "ranks", "method", "error, %", "width, %", "holds the truth, %")
NODES, PER_NODE, INTERVALS = 8, 8, 200
FACTORS = (4, 16, 64)
REPLICAS = 200

Quantile = Callable[[float], float]


@dataclass(frozen=True)
class Known:
    """A distribution of one rank's time per interval: name, quantile function, sampler."""

    name: str
    quantile: Quantile
    sample: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

    def expected_maximum(self, m: int) -> float:
        """The mean of the largest of m, by the midpoint rule over its own probability."""
        u = (np.arange(20000) + 0.5) / 20000
        return float(np.mean([self.quantile(float(x)) for x in np.exp(np.log(u) / m)]))


KNOWN = (
    Known(
        "normal, 10 %",
        lambda q: 1e6 * (1 + 0.1 * NormalDist().inv_cdf(q)),
        lambda r, size: 1e6 * (1 + 0.1 * r.standard_normal(size)),
    ),
    Known(
        "exponential tail of 10 %",
        lambda q: 1e6 * (1 - 0.1 * log(1 - q)),
        lambda r, size: 1e6 * (1 + 0.1 * r.standard_exponential(size)),
    ),
    Known(
        "heavy tail (Pareto, 6)",
        lambda q: 1e6 * (1 - q) ** (-1 / 6),
        lambda r, size: 1e6 * r.uniform(0, 1, size) ** (-1 / 6),
    ),
)

METHODS: dict[str, Callable[[np.ndarray, int, int], PredictionInterval]] = {
    "pooled, PWM": lambda t, f, seed: pooled(t.max(axis=(1, 2)), f, "pwm", seed, replicas=REPLICAS),
    "pooled, MOM": lambda t, f, seed: pooled(t.max(axis=(1, 2)), f, "mom", seed, replicas=REPLICAS),
    "inter-node": lambda t, f, seed: inter_node(t, f * NODES, "pwm", seed),
    "intra-node": lambda t, f, seed: intra_node(t, f * NODES * PER_NODE, "pwm", seed),
    "non-parametric, an interval": lambda t, f, seed: non_parametric(t.max(axis=(1, 2)), f, seed),
}


def lines(trials: int) -> Iterator[list[str]]:
    """A line per distribution, target and method. The last predicts one interval, not the mean of many."""
    for known in KNOWN:
        for factor in FACTORS:
            print(f"{known.name}: {factor}x", file=sys.stderr, flush=True)
            nprocs = factor * NODES * PER_NODE
            truth = known.expected_maximum(nprocs)
            for name, method in METHODS.items():
                yield [known.name, str(nprocs), name, *_judged(known, method, factor, truth, trials)]


def _judged(
    known: Known,
    method: Callable[[np.ndarray, int, int], PredictionInterval],
    factor: int,
    truth: float,
    trials: int,
) -> list[str]:
    errors, widths, held = [], [], []
    for trial in range(trials):
        random = np.random.default_rng((trial, factor))
        times = known.sample(random, (INTERVALS, NODES, PER_NODE))
        found = method(times, factor, trial)
        single = method is METHODS["non-parametric, an interval"]
        wanted = float(known.sample(random, (factor * NODES * PER_NODE,)).max()) if single else truth
        errors.append(abs(found.median / truth - 1))
        widths.append((found.high - found.low) / truth)
        held.append(wanted in found)
    return [f"{100 * np.mean(x):.1f}" for x in (errors, widths, held)]


def verdicts(rows: Sequence[Sequence[str]]) -> list[str]:
    """What must hold, and whether it does."""
    out = []
    for method in METHODS:
        shares = [float(row[5]) for row in rows if row[2] == method]
        inside = sum(90 <= share <= 99 for share in shares)
        low, high = min(shares), max(shares)
        holds = "yes" if inside == len(shares) else "NO"
        out.append(f"{holds}: {method}: {low:.0f} to {high:.0f} % hold, {inside} of {len(shares)} in 90..99")
    return out
