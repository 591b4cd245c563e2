"""What a report says of the timing of each call site: data only."""

from __future__ import annotations

from dataclasses import dataclass

from extrap.timing.curve import LEVEL, Curve
from extrap.timing.points import Scale

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
        prediction, low, high: mean at the target and its interval, in the statistic's unit.
        level: probability of the interval.
        sure: no other form fits nearly as well.
    """

    site: str
    op: str
    stat: str
    model: str
    formula: str
    fit: float
    prediction: float
    low: float
    high: float
    level: float
    sure: bool


def timing_row(
    site: str, op: str, stat: str, curve: Curve, scale: Scale, unit: float = 1.0, level: float = LEVEL
) -> TimingRow:
    """Return the row for a curve of a histogram's mean.

    Args:
        unit: the statistic's resolution: curves are in multiples of it.
    """
    low, high = curve.interval(scale, level)
    shown = curve if unit == 1 else curve.times(unit)
    return TimingRow(
        site,
        op,
        stat,
        curve.model,
        shown.formula,
        curve.deviation,
        curve.predict(scale) * unit,
        low * unit,
        high * unit,
        level,
        sum(rival.weight for rival in curve.rivals) < 0.05 * curve.weight,
    )
