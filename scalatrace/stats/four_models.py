"""The dissertation's four models t = f(n) of a time over the number of ranks (§3.2.5), and how it chooses.

Each model has a deviation metric without unit. A field of a histogram decides for the model with the least
one only if that is less than every other by more than d_t; else it waits for what the histogram's other
fields decide.

Where the text leaves something open: residuals are sums of squares, as least squares minimise them; d_4 is
read as sqrt(residual) / average, like d_2, since sqrt(residual / average) would have a unit; "slope below
s_min" means its size (falling lines are among the trends it names), in microseconds per rank; and when no
field of a histogram decides, which is so whenever a simpler model is a special case of another that fits, the
simplest within d_t of the best is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import Factor, Form, Points, Term, constant_term

__all__ = [
    "D_T",
    "MODELS",
    "S_MIN",
    "FittedModel",
    "Thresholds",
    "choose_jointly",
    "decided",
    "fit_dissertation",
]

S_MIN = 0.2
"""s_min: a line with a slope of less is a constant."""
D_T = 0.05
"""d_t: so much better than all others must a model be for a field to decide for it."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of the choice.

    Attributes:
        s_min: least slope, in `unit` per rank.
        unit: of slopes, in the values' unit; values are nanoseconds unless said otherwise.
    """

    s_min: float = S_MIN
    d_t: float = D_T
    unit: float = 1000.0


@dataclass(frozen=True, slots=True)
class FittedModel:
    """One model fitted to one field. `deviation` is the model's d_i, infinite where it cannot be fitted."""

    name: str
    form: Form
    coefficients: tuple[float, ...]
    deviation: float

    def curve(self, points: Points) -> Curve:
        """Return it as a curve that predicts."""
        return Curve.of(self.name, self.form, np.array(self.coefficients), points, self.deviation)


def constant(points: Points, thresholds: Thresholds = Thresholds()) -> FittedModel:
    """t = c: the average without the value that is farthest from it. d_1 = standard deviation / average."""
    kept = _without_outlier(points.values)
    return FittedModel("constant", _form(points, 0), (float(kept.mean()),), _ratio(kept.std(), kept.mean()))


def linear(points: Points, thresholds: Thresholds = Thresholds()) -> FittedModel:
    """t = a n + b by least squares, or the average (s_min). d_2 = sqrt(residual) / average."""
    form = _form(points, 0, 1)
    design = form.design(points.scales)
    if len(points) < 2 or np.ptp(design[:, 1]) == 0:
        return FittedModel("linear", form, (float(points.values.mean()), 0.0), inf)
    b, a = np.linalg.lstsq(design, points.values, rcond=None)[0]
    if abs(a) < thresholds.s_min * thresholds.unit:
        a, b = 0.0, points.values.mean()
    estimated = a * design[:, 1] + b
    return FittedModel("linear", form, (float(b), float(a)), _residual(points.values, estimated))


def inverse(points: Points, thresholds: Thresholds = Thresholds()) -> FittedModel:
    """t = k / n: k is the average of t n without the farthest. d_3 = standard deviation / average of them."""
    kept = _without_outlier(points.values * points.scales[:, -1])
    return FittedModel("inverse", _form(points, -1), (float(kept.mean()),), _ratio(kept.std(), kept.mean()))


def inverse_constant(points: Points, thresholds: Thresholds = Thresholds()) -> FittedModel:
    """t = k / n + c, by least squares on t' = t n = c n + k. d_4 = sqrt(residual) / average, of t'."""
    form = _form(points, 0, -1)
    n = points.scales[:, -1]
    if len(points) < 2 or np.ptp(n) == 0:
        return FittedModel("inverse+constant", form, (float(points.values.mean()), 0.0), inf)
    c, k = np.linalg.lstsq(np.stack([n, np.ones_like(n)], axis=1), points.values * n, rcond=None)[0]
    return FittedModel(
        "inverse+constant", form, (float(c), float(k)), _residual(points.values * n, c * n + k)
    )


MODELS: dict[str, Callable[[Points, Thresholds], FittedModel]] = {
    "constant": constant,
    "inverse": inverse,
    "linear": linear,
    "inverse+constant": inverse_constant,
}
"""The four models, the simplest first."""


def decided(deviations: dict[str, float], d_t: float = D_T) -> str | None:
    """Return the model that a field decides for: d_min + d_t < d_i for all others. None when it waits."""
    best = min(deviations, key=deviations.__getitem__)
    other_deviations = [d for name, d in deviations.items() if name != best]
    return best if all(deviations[best] + d_t < d for d in other_deviations) else None


def choose_jointly(deviations: Sequence[dict[str, float]], d_t: float = D_T) -> str:
    """Return the one model for all fields of a histogram, from each field's deviations.

    What most of the fields that decide say; among equals the one that fits all fields better; when none
    decides, the simplest that fits all fields within d_t of the best.
    """
    total = {name: sum(min(d[name], 1e3) for d in deviations) / len(deviations) for name in deviations[0]}
    votes = Counter(choice for d in deviations if (choice := decided(d, d_t)))
    if votes:
        return min(votes, key=lambda name: (-votes[name], total[name]))
    return next(name for name in MODELS if total[name] <= min(total.values()) + d_t)


def fit_dissertation(fields: Sequence[Points], thresholds: Thresholds = Thresholds()) -> list[Curve]:
    """Return curves of one of the four models for all fields of a histogram."""
    fits = [{name: fit(points, thresholds) for name, fit in MODELS.items()} for points in fields]
    useful = [f for f, points in zip(fits, fields, strict=True) if points.values.any()] or fits
    chosen = choose_jointly([{n: c.deviation for n, c in f.items()} for f in useful], thresholds.d_t)
    return [fit[chosen].curve(points) for fit, points in zip(fits, fields, strict=True)]


def _form(points: Points, *powers: int) -> Form:
    """The form with these powers of the last parameter, the number of ranks."""
    other_factors = constant_term(points.scales.shape[1]).factors[1:]
    return Form(tuple(Term((*other_factors, Factor(Fraction(power)))) for power in powers))


def _without_outlier(values: Floats) -> Floats:
    """The values without the one with the largest deviation, if at least two are left."""
    if len(values) < 3:
        return values
    kept: Floats = np.delete(values, np.abs(values - values.mean()).argmax())
    return kept


def _ratio(spread: float, average: float) -> float:
    return 0.0 if spread == 0 else float(spread / abs(average)) if average else inf


def _residual(values: Floats, estimated: Floats) -> float:
    return _ratio(float(np.sqrt(np.square(values - estimated).sum())), float(estimated.mean()))
