"""Data of the timing report, per call site."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.stats.bootstrap import PredictionInterval
from scalatrace.stats.curve import LEVEL, Curve
from scalatrace.stats.forms import Scale, as_row

__all__ = ["TimingRow", "timing_row"]


@dataclass(frozen=True, slots=True)
class TimingRow:
    """One statistic of one call site.

    Attributes:
        site: the call site, as it is shown elsewhere.
        op: the MPI operation.
        stat: the statistic, `compute_ns` for instance.
        model: what was fitted, a name of `TIMING_MODELS` or one of the four models it chose from.
        formula: of the mean, in the statistic's unit per sample.
        fit: the model's deviation, as a part of the values: 0.01 is 1 %.
        ranks: number of ranks that the prediction is of; may be fewer than the result's.
        prediction, low, high: mean on so many ranks and its interval, in the statistic's unit.
        level: probability of the interval.
        sure: no other form fits nearly as well.
        slowest, slowest_low, slowest_high: time of the slowest of all ranks in an execution, by extreme-value
            theory, and its interval, in which the mean's uncertainty counts too.
    """

    site: str
    op: str
    stat: str
    model: str
    formula: str
    fit: float
    ranks: int
    prediction: float
    low: float
    high: float
    level: float
    sure: bool
    slowest: float
    slowest_low: float
    slowest_high: float


def timing_row(
    site: str,
    op: str,
    stat: str,
    curve: Curve,
    scale: Scale,
    unit: float = 1.0,
    level: float = LEVEL,
    slowest: PredictionInterval | None = None,
) -> TimingRow:
    """Return the row for a curve of a histogram's mean.

    Args:
        site, op, stat: what it is of.
        curve: of the mean.
        scale: of the target.
        unit: the statistic's resolution: curves are in multiples of it.
        level: probability of the interval.
        slowest: of the slowest rank there, from a histogram with the predicted mean; else that is the mean's.
    """
    low, high = curve.interval(scale, level)
    mean = curve.predict(scale)
    most = slowest or PredictionInterval(mean, mean, mean, level, 0)
    down, up = (low / mean, high / mean) if mean > 0 else (1.0, 1.0)
    shown = curve if unit == 1 else curve.times(unit)
    return TimingRow(
        site,
        op,
        stat,
        curve.model,
        shown.formula,
        curve.deviation,
        round(as_row(scale)[-1]),
        mean * unit,
        low * unit,
        high * unit,
        level,
        sum(rival.weight for rival in curve.rivals) < 0.05 * curve.weight,
        most.median * unit,
        most.low * down * unit,
        most.high * up * unit,
    )
