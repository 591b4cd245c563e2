"""Fit the models of a kernel to measured calls, and choose mean, noise and hosts by the BIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, prod, sqrt

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError
from scalatrace.predict.kernels.model import MEANS, NOISES, KernelModel, Polynomial, terms_of
from scalatrace.stats.least_squares import solve_nonnegative

__all__ = ["KernelCall", "fit_kernel"]

MIN_NOISE = 1e-6
"""Relative deviation below which residuals are rounding errors."""
MIN_CALLS_PER_TERM = 3
MAX_REFITS, REFIT_TOLERANCE = 20, 1e-4
"""Fits of the mean with new weights: at most so many, until no fitted time changes by a larger part."""
HALF_NORMAL_MEAN = sqrt(2 / pi)
"""Mean of the absolute value of a normal variable, in deviations."""


@dataclass(frozen=True)
class KernelCall:
    """A measured call: parameters, duration, host, and the number of calls that it stands for."""

    params: dict[str, int]
    ns: float
    host: str = ""
    count: float = 1


def fit_kernel(
    name: str,
    calls: Sequence[KernelCall],
    model: str | None = None,
    noise: str | None = None,
    per_host: bool | None = None,
) -> list[KernelModel]:
    """Fit the models of a kernel: one for all hosts, and with `per_host` one more for each.

    Args:
        model, noise, per_host: None: the BIC chooses.

    Raises:
        UsageError: there are no calls, or their parameters have different names.
    """
    if not calls:
        raise UsageError(f"kernel {name}: no calls to fit")
    parameters = tuple(calls[0].params)
    for call in calls:
        if tuple(call.params) != parameters:
            call_names, expected_names = ", ".join(call.params), ", ".join(parameters)
            raise UsageError(
                f"kernel {name}: parameters {call_names} in one call, {expected_names} in another"
            )
    hosts = sorted({call.host for call in calls})
    models = _list_means(MEANS, model, calls, parameters)
    model_of_all, score = _best(name, calls, models, noise, "")
    if len(hosts) < 2 or per_host is False:
        return [model_of_all]
    parts = [_best(name, [c for c in calls if c.host == host], models, noise, host) for host in hosts]
    if per_host is None and sum(part_score for _, part_score in parts) >= score:
        return [model_of_all]
    return [model_of_all, *(part for part, _ in parts)]


def _list_means(
    means: Sequence[str], chosen: str | None, calls: Sequence[KernelCall], parameters: tuple[str, ...]
) -> list[str]:
    """Return the means to try: those that the calls can determine."""
    if chosen is not None:
        if chosen not in means:
            raise UsageError(f"model {chosen!r} is unknown; use one of {', '.join(means)}")
        return [chosen]
    distinct = len({tuple(call.params.values()) for call in calls})
    enough = [m for m in means if len(terms_of(m, parameters)) * MIN_CALLS_PER_TERM <= distinct]
    return enough or [means[0]]


def _best(
    name: str, calls: Sequence[KernelCall], models: Sequence[str], noise: str | None, host: str
) -> tuple[KernelModel, float]:
    parameters = tuple(calls[0].params)
    ns = np.array([call.ns for call in calls])
    counts = np.array([call.count for call in calls])
    largest = max(float(prod(call.params.values())) for call in calls) if parameters else 0.0
    fits = []
    for model in models:
        terms = terms_of(model, parameters)
        design = _design(terms, calls)
        mean = _mean(design, ns, counts)
        fitted = design @ mean
        for kind in NOISES[1:] if noise in (None, "N-0") else [noise]:
            deviation = _deviation(design, fitted, ns, counts, kind)
            sigma = np.maximum(design @ deviation, MIN_NOISE * np.maximum(ns, 1.0))
            # A constant deviation is one parameter, a polynomial has one per term.
            count = len(terms) + (1 if kind == "N-1" else len(terms))
            score = _misfit(ns - fitted, sigma, counts) + count * float(np.log(len(ns)))
            shown = "N-0" if noise == "N-0" else kind
            polynomials = _polynomial(terms, mean), _polynomial(terms, deviation)
            fits.append((KernelModel(name, parameters, model, shown, *polynomials, host, largest), score))
    return min(fits, key=lambda result: result[1])


def _polynomial(terms: Sequence[str], coefficients: Floats) -> Polynomial:
    return Polynomial({term: float(c) for term, c in zip(terms, coefficients, strict=True)})


def _design(terms: Sequence[str], calls: Sequence[KernelCall]) -> Floats:
    columns = [[Polynomial({term: 1.0}).at(call.params) for call in calls] for term in terms]
    return np.array(columns, dtype=np.float64).T


def _mean(design: Floats, ns: Floats, counts: Floats) -> Floats:
    """Return the coefficients of the mean, by least squares that are weighted anew by each fitted mean.

    The weights are those of a variance that grows with the mean. So the fitted times have the sum of the
    measured ones. With weights from the measured times, slow calls would have too little weight.
    """
    floor = MIN_NOISE * max(ns.max(), 1.0)
    fitted, coefficients = np.maximum(ns, floor), np.zeros(0)
    for _ in range(MAX_REFITS):
        before = fitted
        coefficients = solve_nonnegative(design, ns, np.sqrt(counts / fitted))
        fitted = np.maximum(design @ coefficients, floor)
        if np.allclose(fitted, before, rtol=REFIT_TOLERANCE):
            break
    return coefficients


def _misfit(residuals: Floats, sigma: Floats, counts: Floats) -> float:
    """Return -2 log likelihood of residuals with exponential tails, but for a constant.

    In a normal distribution, one interrupted call would outweigh all others. The counts are relative, since
    calls of one histogram are not independent.
    """
    mean = sigma * HALF_NORMAL_MEAN
    return 2 * float(np.sum(counts / counts.mean() * (np.log(mean) + np.abs(residuals) / mean)))


def _deviation(design: Floats, mean: Floats, ns: Floats, counts: Floats, kind: str) -> Floats:
    """Return the coefficients of the deviation; the constant is the last one."""
    residuals = ns - mean
    if kind == "N-1":
        return np.append(np.zeros(design.shape[1] - 1), np.sqrt(np.average(residuals**2, weights=counts)))
    floor = MIN_NOISE * max(mean.max(), 1.0)
    return solve_nonnegative(
        design, np.abs(residuals) / HALF_NORMAL_MEAN, np.sqrt(counts / np.maximum(mean, floor))
    )
