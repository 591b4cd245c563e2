"""A fitted model of one quantity: its formula, its fit, predictions and their intervals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import sqrt

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.stats.forms import Form, Points, Scale, as_row
from scalatrace.stats.interval_width import LEVEL
from scalatrace.stats.least_squares import Solved, solve

__all__ = ["Curve"]

MEASURED_WEIGHT = 16.0
"""In intervals measured standard errors count as much as those estimated from so many values."""
DRAWS = 1001
"""Values that stand for a distribution when those of several forms are mixed."""


@dataclass(frozen=True)
class Curve:
    """A form with its coefficients.

    Attributes:
        model: the timing model that chose it.
        deviation: how well it fits, as a part of the values: the model's own metric.
        solved: the least-squares fit behind the interval; None when the points do not determine one.
        rivals: other forms that the points speak for nearly as much, with their weights; this one's is
            `weight`.
    """

    model: str
    form: Form
    coefficients: tuple[float, ...]
    points: Points
    deviation: float
    solved: Solved | None = None
    weight: float = 1.0
    rivals: tuple[Curve, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, model: str, form: Form, coefficients: Floats, points: Points, deviation: float) -> Curve:
        """Return the curve with given coefficients; the interval is from the least-squares fit."""
        return cls(model, form, tuple(map(float, coefficients)), points, deviation, solve(form, points))

    def times(self, unit: float) -> Curve:
        """Return the curve with its coefficients in another unit, for its formula only."""
        return replace(self, coefficients=tuple(c * unit for c in self.coefficients), solved=None, rivals=())

    @property
    def formula(self) -> str:
        """The formula as text."""
        return self.form.text(self.coefficients, self.points.names)

    def predict(self, scale: Scale) -> float:
        """Return the value at a scale; never below 0 when no measured value is."""
        value = float((self.form.design(np.array([as_row(scale)])) @ self.coefficients)[0])
        return max(value, 0.0) if self._positive else value

    def interval(self, scale: Scale, level: float = LEVEL) -> tuple[float, float]:
        """Return where the true mean lies with this probability, the choice of the form being uncertain too.

        Infinite above when the points leave no freedom to judge by.
        """
        curves = (self, *self.rivals)
        values = np.concatenate([curve._draws(scale) for curve in curves])
        weights = np.repeat([curve.weight for curve in curves], DRAWS)
        order = np.argsort(values)
        share = np.cumsum(weights[order]) / weights.sum()
        low, high = (
            float(values[order[min(int(np.searchsorted(share, q)), len(order) - 1)]])
            for q in ((1 - level) / 2, (1 + level) / 2)
        )
        prediction = self.predict(scale)
        low = max(low, 0.0) if self._positive else low
        return min(low, prediction), max(high, prediction)

    @property
    def _positive(self) -> bool:
        return bool((self.points.values >= 0).all())

    @property
    def _trust(self) -> float:
        """MEASURED_WEIGHT; 0 where no errors were measured, or the points are further off than those say."""
        free = len(self.points) - len(self.form)
        believed = self.solved is None or free < 1 or self.solved.misfit <= 4.5 + 2.35 * free
        return MEASURED_WEIGHT if self.points.known and believed else 0.0

    def _draws(self, scale: Scale) -> Floats:
        """Values as they are distributed for this form, the estimate's error being Student's."""
        trust = self._trust
        freedom = trust + len(self.points) - len(self.form)
        if self.solved is None or freedom < 1:
            return np.repeat([-np.inf, np.inf], [DRAWS // 2, DRAWS - DRAWS // 2])
        row = self.form.design(np.array([as_row(scale)]))[0]
        misfit = self.solved.misfit + trust
        error = float(np.linalg.norm(row @ self.solved.root)) * sqrt(max(misfit / freedom, 1e-9))
        center = float(row @ self.coefficients)
        draws: Floats = center + error * _student(freedom)
        return draws


@lru_cache(maxsize=64)
def _student(freedom: float) -> Floats:
    """Sorted values of Student's distribution, symmetric about 0."""
    draws = np.abs(np.random.default_rng(1).standard_t(freedom, DRAWS * 8))
    half = np.quantile(draws, (np.arange(DRAWS // 2) + 0.5) / (DRAWS // 2))
    return np.concatenate([-half[::-1], [0.0], half])
