"""Symbolic traces with given times: of each operation one call, with its histograms in each trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scalatrace.extrap.timing.trends import Rows
from scalatrace.formula import Const
from scalatrace.trace.model.symbolic import Field, Rule, StatRule, SymbolicTrace
from scalatrace.trace.model.tables import Op, RecordedStat
from scalatrace.trace.oversubscription import OVERSUBSCRIBED
from scalatrace.trace.symbolic.field import EVERYWHERE, Part
from scalatrace.trace.values.histogram import Bin, Histogram

__all__ = ["noisy_histogram", "timed_model"]


def timed_model(
    ranks: Sequence[int],
    calls: Mapping[str, Rows],
    stats: Sequence[str] = ("compute_ns",),
    shared_cores: bool = False,
) -> SymbolicTrace:
    """Return formulas of traces on so many ranks.

    Args:
        calls: operation -> per trace its histograms, one for each of `stats`.
        shared_cores: whether the traces had more ranks than cores.
    """
    once = Field((Part(EVERYWHERE, None, (Const(1),)),))
    nodes = tuple(
        Rule(once, op, (f"app.py:{line}:main",), (), (StatRule(None, rows),))
        for line, (op, rows) in enumerate(calls.items(), 1)
    )
    meta = {OVERSUBSCRIBED: "runs with more ranks than cores: all"} if shared_cores else {}
    seen = tuple(((n,), dict[str, int]()) for n in ranks)
    return SymbolicTrace(
        ("X",),
        False,
        (),
        seen,
        nodes,
        (),
        ops=[Op(name, ()) for name in calls],
        stats=[RecordedStat(name, 1.0) for name in stats],
        meta=meta,
    )


def noisy_histogram(mean: float, count: int, noise: float = 0.0, seed: int = 0, nbins: int = 5) -> Histogram:
    """Return the histogram of samples with this mean and relative standard deviation."""
    random = np.random.default_rng(seed)
    samples = np.sort(mean * np.maximum(1 + noise * random.standard_normal(count), 0.01))
    bins = tuple(
        Bin(len(part), float(part[0]), float(part[-1]), float(part.mean()))
        for part in np.array_split(samples, nbins if noise else 1)
    )
    low, high = float(samples[0]), float(samples[-1])
    one = Histogram(count, low, high, float(samples.mean()), float(samples.std()), bins if noise else ())
    return one.rounded()
