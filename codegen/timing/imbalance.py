"""Load of each rank relative to the mean computation of its calls."""

from __future__ import annotations

from itertools import islice
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.trace.query.load import COMPUTE, Loads, spread_of
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["SHARE_STEPS", "shares", "spread_of_shares"]

SHARE_STEPS = 16
"""Shares are whole powers of 2 to the power of 1/16."""

NOISE_STEPS = 2
"""If all shares are within so many steps of 1, their differences are noise: the program gets no shares."""


def shares(trace: Trace) -> Vec | None:
    """Per rank round(SHARE_STEPS log2(its computation over the means of its calls)); None: all are near 0."""
    loads = Loads(trace, COMPUTE)
    if not loads.kept:
        return None
    steps = [round(SHARE_STEPS * log2(loads.over_means(rank))) for rank in trace.ranks]
    return vec_of(steps) if any(abs(step) > NOISE_STEPS for step in steps) else None


def spread_of_shares(imbalance: Vec | None, nranks: int) -> float:
    """The standard deviation of the ranks' factors over their mean."""
    if imbalance is None:
        return 0.0
    return spread_of(np.exp2(np.fromiter(islice(imbalance, nranks), float) / SHARE_STEPS))
