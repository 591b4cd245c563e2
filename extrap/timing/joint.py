"""One model decision per histogram, whose fields share a trend, and the predicted histogram (§3.2.5).

The mean, the standard deviation, the smallest and the largest sample, and the smallest, largest and mean of
every bin follow curves of one form. The bins' shares of the samples have a form of their own: they do not
shrink with the times. The predicted values are then made consistent: the bins' counts add up to the number
of samples, and their means to the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.extrap.timing.assemble import assemble, with_count
from scalatrace.extrap.timing.bins import BinPart, by_order, by_quantile
from scalatrace.extrap.timing.registry import timing_model
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import Points, Scale, as_row
from scalatrace.stats.four_models import constant
from scalatrace.stats.normal_form import fit_normal_form
from scalatrace.stats.trend_test import predicts_largest, proportional_curve
from scalatrace.trace.values.histogram import Histogram

__all__ = ["HistogramModel", "extrapolate_histogram", "fit_histograms", "mean_points", "with_expected_count"]

INTEGER = 0.29
"""Standard deviation of what rounding to an integer does: the file's means are integers."""
MAX_MISCOUNT = 0.05
"""Number of samples that the smaller traces may mispredict, as a part of it; else all ranks have as many."""
CHANCE = 0.1
"""Bins adapt to the samples as they come: so much of a share is chance, beyond what its samples tell."""


@dataclass(frozen=True)
class HistogramModel:
    """A histogram as a function of scale.

    Attributes:
        mean, std, low, high: curves of the mean, standard deviation, smallest and largest sample.
        parts: curves of (min, max, mean) per bin.
        shares: of each bin's share of the samples; None for the one that has what the others leave.
        count: curve of the number of samples.
    """

    mean: Curve
    std: Curve
    low: Curve
    high: Curve
    parts: tuple[tuple[Curve, Curve, Curve], ...]
    shares: tuple[Curve | None, ...]
    count: Curve

    def at(self, scale: Scale, count: int | None = None) -> Histogram:
        """Return the histogram at a scale.

        Args:
            scale: as those it was fitted to.
            count: number of samples, where it is known; otherwise it follows its own curve.
        """
        if len(as_row(scale)) != len(self.mean.points.names):
            names = ", ".join(self.mean.points.names)
            raise UsageError(f"a scale is {names} here, not {len(as_row(scale))} numbers")
        shares = [max(curve.predict(scale), 0.0) if curve else 0.0 for curve in self.shares]
        rest = max(1 - sum(shares), 0.0)
        parts = []
        for curves, curve, share in zip(self.parts, self.shares, shares, strict=True):
            low, high, mean = (c.predict(scale) for c in curves)
            parts.append(BinPart(share if curve else rest, low, high, mean))
        n = max(1, round(self.count.predict(scale))) if count is None else count
        if n < 1:
            raise UsageError("a histogram has one sample or more")
        ends = (self.low.predict(scale), self.high.predict(scale))
        return assemble(n, self.mean.predict(scale), self.std.predict(scale), ends, parts)


def extrapolate_histogram(
    histograms: Sequence[Histogram],
    nprocs_in: Sequence[Scale],
    nprocs_out: Scale,
    model: str | None = None,
    count: int | None = None,
    run_noise: float = 0.0,
) -> Histogram:
    """Return the histogram expected at a scale, from those of the same event in several runs.

    Args:
        histograms: one per run.
        nprocs_in: each run's scale: ranks, or several parameters such as (n, ranks).
        nprocs_out: the scale wanted.
        model: a name of `TIMING_MODELS`.
        count: number of samples there, where it is known.
        run_noise: how much whole runs differ, as a part of the time: what no histogram tells.

    Raises:
        UsageError: no histograms, scales that do not match them, an unknown model.
    """
    return fit_histograms(histograms, nprocs_in, model, run_noise=run_noise).at(nprocs_out, count)


def fit_histograms(
    histograms: Sequence[Histogram],
    scales: Sequence[Scale],
    model: str | None = None,
    names: Sequence[str] = (),
    run_noise: float = 0.0,
) -> HistogramModel:
    """Return the model of a histogram over scale; see `extrapolate_histogram`."""
    chosen = timing_model(model)
    mean = mean_points(histograms, scales, names, run_noise)

    def points(values: Sequence[float]) -> Points:
        return Points.of(scales, values, names=names)

    whole = [points([h.std for h in histograms])]
    whole += [points([h.min for h in histograms]), points([h.max for h in histograms])]
    ways = [way for way in (by_order(histograms), by_quantile(histograms)) if way]
    way = min(ways, key=lambda way: _scatter(way, mean))
    fields = [
        points([getattr(parts[i], name) for parts in way])
        for i in range(len(way[0]))
        for name in ("min", "max", "mean")
    ]
    curves = chosen.fit([mean, *whole, *fields])
    bins = tuple(zip(curves[4::3], curves[5::3], curves[6::3], strict=True))
    shares = _shares(way, histograms, scales, names)
    count = _count_curve(histograms, scales, names)
    return HistogramModel(curves[0], curves[1], curves[2], curves[3], bins, shares, count)


def with_expected_count(
    histogram: Histogram, histograms: Sequence[Histogram], nprocs_in: Sequence[Scale], nprocs_out: Scale
) -> Histogram:
    """Return a histogram with the number of samples expected at a scale, from those of several runs."""
    if all(one.count == histogram.count for one in histograms):
        return histogram
    return with_count(histogram, max(1, round(_count_curve(histograms, nprocs_in, ()).predict(nprocs_out))))


def _count_curve(histograms: Sequence[Histogram], scales: Sequence[Scale], names: Sequence[str]) -> Curve:
    points = Points.of(scales, [h.count for h in histograms], names=names)
    return fit_normal_form(points) if predicts_largest(points, MAX_MISCOUNT) else proportional_curve(points)


def mean_points(
    histograms: Sequence[Histogram],
    scales: Sequence[Scale],
    names: Sequence[str] = (),
    run_noise: float = 0.0,
) -> Points:
    """Return the means with their standard errors, from deviation, number and the runs' noise."""
    if run_noise < 0:
        raise UsageError(f"a noise of {run_noise} makes no sense: it is a part of the time, 0.02 for 2 %")
    if len(histograms) != len(scales):
        raise UsageError(f"{len(histograms)} histograms and {len(scales)} scales: one of each per trace")
    errors = [hypot(h.std / sqrt(h.count), INTEGER, run_noise * h.mean) for h in histograms]
    return Points.of(scales, [h.mean for h in histograms], errors, names)


def _scatter(way: Sequence[Sequence[BinPart]], mean: Points) -> float:
    """How far the bins' means are from power laws of the scale, root mean square of the logarithms."""
    size = np.abs([[part.mean for part in parts] for parts in way]) + INTEGER
    design = np.concatenate([np.ones((len(mean), 1)), np.log(mean.scales)], axis=1)
    found = np.log(size)
    coefficients = np.linalg.lstsq(design, found, rcond=None)[0]
    return round(float(np.sqrt(np.mean(np.square(found - design @ coefficients)))), 6)


def _shares(
    way: Sequence[Sequence[BinPart]],
    histograms: Sequence[Histogram],
    scales: Sequence[Scale],
    names: Sequence[str],
) -> tuple[Curve | None, ...]:
    """Curves of the bins' shares, each of a form of its own; None for the largest bin, which has the rest."""
    sizes = [sum(parts[i].share for parts in way) for i in range(len(way[0]))]
    curves: list[Curve | None] = []
    for i in range(len(sizes)):
        shares = [parts[i].share for parts in way]
        chance = [
            hypot(sqrt(s * (1 - s) / h.count), CHANCE * s) for s, h in zip(shares, histograms, strict=True)
        ]
        points = Points.of(scales, shares, chance, names)
        still = np.ptp(points.values) < 2 * points.errors.max()
        curves.append(constant(points).curve(points) if still else fit_normal_form(points))
    curves[max(range(len(sizes)), key=sizes.__getitem__)] = None
    return tuple(curves)
