"""Samples of interval maxima, of traces or tables: the computation of the slowest rank in each interval.

A trace has the distribution of times over ranks and iterations, not each time. Maxima are therefore drawn: P
ranks' times per interval. How much of the variation stays with a rank over all its computations follows from
the ranks' totals; that part is common to the computations of one rank in an interval. Draws are scaled to the
mean of the interval, or a rare long time that is not drawn would make the slowest rank faster than the mean.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from scalatrace.arrays import Floats
from scalatrace.errors import FormatError
from scalatrace.files import read_text
from scalatrace.predict.variability.intervals import ComputeInterval, Work
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.query.load import COMPUTE
from scalatrace.trace.values.from_arrays import first_values
from scalatrace.trace.values.quantiles import quantiles

__all__ = ["maxima_of", "read_times", "spread_of_ranks"]


MAX_SAMPLES = 1 << 22
"""Times drawn at once; more ranks are drawn in parts."""

MAX_STRATIFIED = 1 << 18
"""Times drawn evenly over the distribution; of more, random ones are as even."""

MAX_DRAWS = 64
"""Computations of one kind in an interval that are drawn one by one; of more, the sum is normal."""

ROUNDING = (2 ** (1 / LOAD_STEPS) - 1) / np.sqrt(12)
"""Relative error of the totals in a trace."""


def spread_of_ranks(trace: Trace) -> float:
    """Return the standard deviation of the ranks' total computation over its mean; 0 if not recorded."""
    load = trace.without_phases.load_of(COMPUTE)
    if load is None or len(trace.ranks) < 2:
        return 0.0
    factors = np.exp2(first_values(load, len(trace.ranks)) / LOAD_STEPS)
    variance = (factors.std(ddof=1) / factors.mean()) ** 2 - ROUNDING**2
    return float(np.sqrt(max(variance, 0.0)))


def maxima_of(
    interval: ComputeInterval, nranks: int, spread: float = 0.0, count: int = 200, seed: int = 0
) -> Floats:
    """Draw the slowest rank's computation in ns, of so many intervals.

    Args:
        nranks: P.
        spread: result of `spread_of_ranks`.
        count: number of intervals.
    """
    random = np.random.default_rng(seed)
    result = np.zeros(count)
    part = max(1, MAX_SAMPLES // max(count, 1))
    for start in range(0, nranks, part):
        size = (count, min(part, nranks - start))
        ranks = 1 + spread * random.standard_normal(size)
        times = sum((_draw_times(work, size, spread, random) for work in interval.works), np.zeros(size))
        times *= np.maximum(ranks, 0)
        mean = float(times.mean())
        np.maximum(result, times.max(axis=1) * (interval.mean_ns / mean if mean else 1.0), out=result)
    return result


def _draw_times(work: Work, size: tuple[int, int], spread: float, random: np.random.Generator) -> Floats:
    """Draw the time of a kind of computation in each interval of each rank, without its rank's part."""
    histogram, ndraws = work.times.within_ranks(spread), int(work.per_interval)
    mean, std = histogram.mean * work.resolution, histogram.std * work.resolution
    if ndraws > MAX_DRAWS:
        total = random.normal(ndraws * mean, std * np.sqrt(ndraws), size)
        return np.maximum(total * (work.per_interval / ndraws), 0.0)
    total = np.zeros(size)
    fraction = work.per_interval - ndraws
    for number in range(ndraws + (fraction > 0)):
        values = quantiles(histogram, _evenly(random, size)).reshape(size) * work.resolution
        drawn = float(values.std())
        scale = min(1.0, std / drawn) if drawn else 1.0  # bins overlap, so draws spread more than samples
        values = mean + scale * (values - mean)
        if number == ndraws:
            values *= _present(random, size[0], fraction)[:, None]  # the same intervals on all ranks
        total += values
    return total


def _evenly(random: np.random.Generator, size: tuple[int, int]) -> Floats:
    """Draw numbers from 0 to 1 in random order; of few, one in each of as many equal parts."""
    count = size[0] * size[1]
    if count > MAX_STRATIFIED:
        return random.uniform(size=count)
    result: Floats = (random.permutation(count) + random.uniform(size=count)) / count
    return result


def _present(random: np.random.Generator, count: int, share: float) -> npt.NDArray[np.bool_]:
    """Draw which of so many intervals have a computation that a share of them has: one at least."""
    return random.permutation(count) < max(1, round(share * count))


def read_times(path: str | Path) -> npt.NDArray[np.float64]:
    """Read a CSV file of times in seconds, as `samples/variability.py` writes it; shape (intervals, ranks).

    Lines that begin with `#` are comments.

    Raises:
        FormatError: the file cannot be read, or lines differ in length, or cells are no times.
    """
    rows: list[list[float]] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            rows.append([float(cell) for cell in line.split(",")])
        except ValueError:
            raise FormatError(f"line {number} has cells that are no numbers", path) from None
        if len(rows[-1]) != len(rows[0]):
            raise FormatError(f"line {number} has {len(rows[-1])} columns, expected {len(rows[0])}", path)
    times = np.array(rows, float)
    if not rows or not np.isfinite(times).all() or (times < 0).any():
        raise FormatError("not a table of times: a line of seconds per interval, a column per rank", path)
    return times
