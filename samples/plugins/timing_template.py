"""Template of a timing model: how a time follows the number of ranks.

    import timing_template  # registers the model
    scalatrace.extrap.extrapolate(traces, 1024, timing_model="square-root")

Models are registered from Python; `scalatrace extrapolate --timing-model` knows the built-in ones only.
docs/guide/timing.md explains the built-in models.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from scalatrace.errors import UsageError
from scalatrace.extrap.timing.registry import TIMING_MODELS, TimingModel
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import Factor, Form, Points, Term, constant_term
from scalatrace.stats.least_squares import solve

NAME = "square-root"


def fit(fields: Sequence[Points]) -> list[Curve]:
    """Return a curve t = a + b sqrt(p) for each field of a histogram; the first field is the mean."""
    return [_fitted(points) for points in fields]


def _fitted(points: Points) -> Curve:
    # A form is a sum of terms p^(i/j) * log2(p)^k, the constant first. With several parameters, a term is a
    # product of one factor per parameter; the last parameter is the number of ranks.
    others = (Factor(),) * (points.scales.shape[1] - 1)
    form = Form((constant_term(points.scales.shape[1]), Term((*others, Factor(Fraction(1, 2))))))
    solved = solve(form, points)
    if solved is None:
        raise UsageError(f"the timing model {NAME} needs traces of at least two sizes")
    estimated = form.design(points.scales) @ solved.coefficients
    average = abs(float(points.values.mean())) or 1.0
    deviation = float(((points.values - estimated) ** 2).mean() ** 0.5) / average
    return Curve.of(NAME, form, solved.coefficients, points, deviation)


TIMING_MODELS[NAME] = TimingModel(NAME, "t = a + b * sqrt(p)", fit)
