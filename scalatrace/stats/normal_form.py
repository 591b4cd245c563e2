"""The performance model normal form f(p) = sum c_k p^(i_k/j_k) log2(p)^l_k, chosen by leave-one-out error.

With few points, an unusual form often fits by chance. So each coefficient and each unusual exponent has a
cost, and of the forms within the noise the simplest is taken. Standard errors estimate the noise where they
were measured (means of histograms have them); they are trusted up to a limit (`TRUST`), since runs differ by
more than their samples show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import exp, inf, log, log1p

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import TINY, Form, Points, count_terms, forms_for
from scalatrace.stats.least_squares import Solutions, Solved, solve, solve_all, solve_fields

__all__ = ["fit_jointly", "fit_normal_form"]

NAME = "normal-form"
PER_COEFFICIENT = 2.0
"""What a coefficient costs, in units of -2 log likelihood, times log(number of terms it may belong to)."""
PER_COMPLEXITY = 4.0
"""What a unit of a form's complexity costs."""
PER_MINUS = 4.0
"""What a term costs that is subtracted: times are sums of times."""
TRUST = 4.0
"""In the choice measured standard errors count as much as so many values: runs differ beyond them."""
BLIND = 1.0
"""TRUST for values without measured errors."""
RIVAL = 12.0
"""Cost margin of the forms that widen the interval."""
OTHERS = 0.25
"""Weight of a histogram's other fields, together, beside that of its mean."""
IDLE = 1e-10
"""Part of the largest value up to which a term is rounding."""
FAR = 1e8
"""Times must stay above 0 as far as this."""


def fit_normal_form(points: Points) -> Curve:
    """Return the best form for one quantity."""
    return fit_jointly([points])[0]


def fit_jointly(fields: Sequence[Points]) -> list[Curve]:
    """Return curves of one form for all fields of a histogram; the first field is its mean.

    The mean decides, having the least noise; among forms that it leaves open, the others have a say.
    """
    mean = fields[0]
    forms = forms_for(mean.scales.shape[1], len(mean))
    open_ = _find_rivals(forms, mean)
    if not open_:  # a single point, or one that is negative
        return [_constant(points) for points in fields]
    totals = {i: cost for i, (cost, _) in open_.items()}
    if len(fields) > 1 and len(open_) > 1:
        for i, extra in zip(open_, _costs_elsewhere([forms[i] for i in open_], fields[1:]), strict=True):
            totals[i] += extra
    best = min(open_, key=lambda i: (totals[i], i))
    solved = {i: fit for i, (_, fit) in open_.items()}
    return [_mean_curve(forms, solved, totals, best, mean), *_fields(forms[best], fields[1:])]


def _mean_curve(
    forms: Sequence[Form], solved: Mapping[int, Solved], totals: dict[int, float], best: int, mean: Points
) -> Curve:
    """The chosen curve with its rivals, weighted by what their forms cost."""

    def curve(i: int, rivals: tuple[Curve, ...] = ()) -> Curve:
        fit, weight = solved[i], exp((totals[best] - totals[i]) / 2)
        coefficients = tuple(map(float, fit.coefficients))
        return Curve(NAME, forms[i], coefficients, mean, _leave_one_out_error(fit, mean), fit, weight, rivals)

    return curve(best, tuple(curve(i) for i in totals if i != best))


def _costs_elsewhere(forms: Sequence[Form], fields: Sequence[Points]) -> list[float]:
    """What each form costs the other fields on average, above what the best of them does."""
    costs = np.full((len(fields), len(forms)), inf)
    for indices, solutions in solve_all(forms, fields):
        press = np.where(solutions.usable, solutions.press, inf).tolist()
        costs[:, indices] = [
            [_misfit(residual, points) for residual in row] for row, points in zip(press, fields, strict=True)
        ]
    total = np.zeros(len(forms))
    for row in costs:
        if np.isfinite(row.min()):
            total += np.minimum(row - row.min(), RIVAL)
    return list(OTHERS * total / len(fields))


def _find_rivals(forms: tuple[Form, ...], points: Points) -> dict[int, tuple[float, Solved]]:
    """The forms that cost at most RIVAL more than the best, the best first, with their costs and fits."""
    costs = np.full(len(forms), inf)
    place: dict[int, tuple[Solutions, int]] = {}
    for indices, solutions in solve_all(forms, [points]):
        costs[indices] = _costs(len(forms[indices[0]]), _complexities(forms)[indices], solutions, points)
        place.update((i, (solutions, at)) for at, i in enumerate(indices))
    result: dict[int, tuple[float, Solved]] = {}
    order = np.argsort(costs, kind="stable").tolist()
    for i in order:
        cost = float(costs[i])
        if cost == inf or cost > min((c for c, _ in result.values()), default=cost) + RIVAL:
            break
        solutions, at = place[i]
        fit = solutions[0, at]
        if fit is None or _has_idle_term(forms[i], fit.coefficients, points):
            continue
        if _stays_positive(forms[i], fit.coefficients, points):
            result[i] = cost, fit
    return result


@lru_cache(maxsize=16)
def _complexities(forms: tuple[Form, ...]) -> Floats:
    return np.array([form.complexity for form in forms])


def _costs(nterms_each: int, complexities: Floats, solutions: Solutions, points: Points) -> Floats:
    """What speaks against forms: their leave-one-out error and what they have that is unusual."""
    per_term = PER_COEFFICIENT * log(count_terms(points.scales.shape[1]))
    per_minus = 0.0 if (points.values < 0).any() else PER_MINUS
    press = np.where(solutions.usable[0], solutions.press[0], inf)
    costs = np.array([_misfit(residual, points) for residual in press.tolist()])
    costs += per_term * nterms_each
    costs += PER_COMPLEXITY * complexities
    costs += per_minus * (solutions.coefficients[0] < 0).sum(axis=1)
    return costs


def _misfit(press: float, points: Points) -> float:
    """-2 log likelihood of the leave-one-out errors, the standard errors being known up to a factor."""
    trust = TRUST if points.known else BLIND
    return (trust + len(points)) * log1p(press / trust)


def _has_idle_term(form: Form, coefficients: Floats, points: Points) -> bool:
    """Return whether a term adds no more than rounding: then the form is a shorter one, which is a form too.

    The sign of such a coefficient, and so what it costs, depends on the processor.
    """
    if len(form) == 1:
        return False
    largest = np.abs(form.design(points.scales) * coefficients).max(axis=0)
    return bool((largest <= IDLE * np.abs(points.values).max()).any())


def _stays_positive(form: Form, coefficients: Floats, points: Points) -> bool:
    """Whether values that are not negative stay so, up to a scale that no machine has."""
    if (points.values < 0).any():
        return True
    if (coefficients >= 0).all():
        return True
    return bool((_far(form, points.scales.min(axis=0).tobytes()) @ coefficients > 0).all())


@lru_cache(maxsize=4096)
def _far(form: Form, start: bytes) -> Floats:
    """The design from the smallest scale on: all parameters growing, and each alone."""
    low = np.frombuffer(start)
    path = np.geomspace(1, FAR, 40)[:, None]
    alone = [np.where(np.arange(len(low)) == i, path, 1.0) for i in range(len(low))] if len(low) > 1 else []
    return form.design(np.concatenate([path * np.ones(len(low)), *alone]) * low)


def _fields(form: Form, fields: Sequence[Points]) -> list[Curve]:
    """Other fields in the form that was chosen; constants where that does not fit into it."""
    curves = []
    for points, fit in zip(fields, solve_fields(form, fields), strict=True):
        if fit is None or not _stays_positive(form, fit.coefficients, points):
            curves.append(_constant(points))
        else:
            coefficients = tuple(map(float, fit.coefficients))
            curves.append(Curve(NAME, form, coefficients, points, _leave_one_out_error(fit, points), fit))
    return curves


def _constant(points: Points) -> Curve:
    form = forms_for(points.scales.shape[1], 1)[0]
    fit = solve(form, points)
    assert fit is not None
    deviation = _leave_one_out_error(fit, points) if len(points) > 1 else 0.0
    return Curve(NAME, form, tuple(map(float, fit.coefficients)), points, deviation, fit)


def _leave_one_out_error(fit: Solved, points: Points) -> float:
    """The root mean square of the leave-one-out errors, each as a part of its value."""
    size = np.maximum(np.abs(points.values), 1e-9 * np.abs(points.values).max() + TINY)
    return float(np.sqrt(np.mean(np.square(fit.left_out * points.errors / size))))
