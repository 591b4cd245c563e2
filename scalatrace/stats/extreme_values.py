"""Expected maxima: EMMA, and the generalised extreme value distribution with its fits.

EMMA (Sun and Peterson 2012) estimates the expected maximum of several samples by a quantile of their
distribution. The GEV distribution is that of maxima of many samples (Dominguez-Trujillo §2.3).

The shape has the sign of the thesis's equation 2.1: above 0 a heavy tail (Fréchet, type II), 0 Gumbel (type
I), below 0 an upper bound (Weibull, type III). The formulas of Hosking, Wallis and Wood (1985) are in
k = -shape, and so are the thesis's 2.2 to 2.8. Two of those are taken as the originals have them: PWM need
b_0, b_1, b_2 (2.6 and 2.7 print the moments' symbols), and the root in 2.3 is a square root.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from math import gamma, inf, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError

__all__ = [
    "FITS",
    "Gev",
    "ProjectedMaximum",
    "emma",
    "fit_gev",
    "fit_mom",
    "fit_pwm",
    "fits_agree",
    "project_maxima",
]

EMMA_P = 0.570376002
"""exp(-exp(-gamma)): the mean of a maximum is near this quantile of its distribution."""
EULER = float(np.euler_gamma)
GUMBEL_SKEWNESS = 1.1395470994046486
FLAT = 1e-6
"""Shapes nearer to 0 are Gumbel's: the general formulas of moments lose their digits there."""
MAX_SHAPE = 0.95
"""From 1 on the mean is infinite; shapes are kept below."""
SHAPE_VARIANCE = 0.5633
"""Variance of the shape of a fit by PWM, times the number of samples, for Gumbel's distribution (Hosking,
Wallis and Wood 1985, table 1)."""
MAX_MOM_SHAPE = 1 / 3 - 1e-4
"""From 1/3 on the skewness is infinite."""


def emma(quantile: Callable[[float], Any], m: float) -> float:
    """Return about what the largest of m samples is expected to be, F^-1(0.570376002^(1/m)).

    Args:
        quantile: F^-1 of the samples' distribution.
        m: how many samples, above 0; not necessarily a whole number when the samples are maxima themselves.
    """
    if m <= 0:
        raise UsageError(f"a maximum is of more than {m} samples")
    return float(quantile(EMMA_P ** (1 / m)))


@dataclass(frozen=True, slots=True)
class Gev:
    """A GEV distribution.

    Attributes:
        shape: kappa.
        location: xi, in the samples' unit; the quantile of 1/e.
        scale: alpha, in the samples' unit; 0 when all samples are equal.
    """

    shape: float
    location: float
    scale: float

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The value that a part q of the samples, above 0 and below 1, stays below."""
        from scipy.stats import genextreme

        probabilities = np.asarray(q, float)
        if self.scale == 0:  # not allowed by scipy
            return np.full(probabilities.shape, self.location)
        return np.asarray(genextreme.ppf(probabilities, -self.shape, self.location, self.scale))

    @property
    def mean(self) -> float:
        """The expectation; infinite for shapes from 1 on."""
        if self.shape >= 1:
            return inf
        if abs(self.shape) < FLAT:
            return self.location + self.scale * EULER
        return self.location + self.scale * (gamma(1 - self.shape) - 1) / self.shape

    @property
    def kind(self) -> str:
        """The type by the shape."""
        return "I" if abs(self.shape) < FLAT else "II" if self.shape > 0 else "III"

    def sample(self, random: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Independent samples."""
        return self.quantile(random.uniform(1e-16, 1.0 - 1e-16, size))

    def maximum_of(self, times: float) -> Gev:
        """The distribution of the largest of so many independent samples: a GEV again (max-stability)."""
        if abs(self.shape) < FLAT:
            return Gev(self.shape, self.location + self.scale * log(times), self.scale)
        grown = times**self.shape
        return Gev(self.shape, self.location + self.scale * (grown - 1) / self.shape, self.scale * grown)


def fit_pwm(samples: npt.ArrayLike) -> Gev:
    """Fit by probability-weighted moments b_0, b_1, b_2 (unbiased estimates), equations 2.5 to 2.8.

    Raises:
        UsageError: fewer than three samples.
    """
    x = _sort_samples(samples)
    n, rank = len(x), np.arange(len(x))
    b0 = float(x.mean())
    b1 = float((rank * x).sum() / (n * (n - 1)))
    b2 = float((rank * (rank - 1) * x).sum() / (n * (n - 1) * (n - 2)))
    spread = 2 * b1 - b0
    if spread <= 1e-12 * abs(b0):
        return Gev(0.0, b0, 0.0)
    c = spread / (3 * b2 - b0) - log(2) / log(3)
    k = max(7.8590 * c + 2.9554 * c * c, -MAX_SHAPE)
    if abs(k) < FLAT:
        alpha = spread / log(2)
        return Gev(0.0, b0 - EULER * alpha, alpha)
    alpha = spread * k / (gamma(1 + k) * (1 - 2**-k))
    return Gev(-k, b0 + alpha * (gamma(1 + k) - 1) / k, alpha)


def fit_mom(samples: npt.ArrayLike) -> Gev:
    """Fit by mean, standard deviation and skewness (equations 2.2 to 2.4).

    The skewness falls steadily with k, so the shape is found by bisection, where the thesis minimises.

    Raises:
        UsageError: fewer than three samples.
    """
    x = _sort_samples(samples)
    mean, deviation = float(x.mean()), float(x.std(ddof=1))
    if deviation <= 1e-12 * abs(mean):
        return Gev(0.0, mean, 0.0)
    k = _k_of_skewness(float(np.mean((x - mean) ** 3)) / float(x.std()) ** 3)
    if abs(k) < 1e-4:  # the variance's formula loses its digits before the others do
        alpha = deviation * sqrt(6) / np.pi
        return Gev(0.0, mean - EULER * alpha, alpha)
    g1, g2 = gamma(1 + k), gamma(1 + 2 * k)
    alpha = deviation * abs(k) / sqrt(g2 - g1 * g1)
    return Gev(-k, mean - alpha / k * (1 - g1), alpha)


FITS: dict[str, Callable[[npt.ArrayLike], Gev]] = {"pwm": fit_pwm, "mom": fit_mom}


def fits_agree(fits: Collection[Gev], nsamples: int) -> bool:
    """Return whether fits by several methods give the same type of distribution (Dominguez-Trujillo §3.4.1).

    Shapes of different sign within two standard errors of each other count as equal. If the types differ, the
    samples do not follow the distribution, and predictions from its tail are not to be trusted.

    Args:
        nsamples: number of maxima that the fits are of.
    """
    kinds, shapes = {fit.kind for fit in fits}, [fit.shape for fit in fits]
    return len(kinds) == 1 or max(shapes) - min(shapes) <= 2 * sqrt(SHAPE_VARIANCE / nsamples)


def fit_gev(samples: npt.ArrayLike, method: str = "pwm") -> Gev:
    """Return the distribution fitted to maxima by the method `pwm` or `mom`."""
    if method not in FITS:
        raise UsageError(f"there is no fit {method!r}; choose one of {', '.join(FITS)}")
    return FITS[method](samples)


@dataclass(frozen=True, slots=True)
class ProjectedMaximum:
    """The expected slowest of `nprocs` ranks, and that as a part of the mean over ranks."""

    nprocs: int
    slowest: float
    over_mean: float


def project_maxima(
    maxima: npt.ArrayLike, nprocs_in: int, targets: Iterable[int], fit: str = "pwm"
) -> list[ProjectedMaximum]:
    """Return how the mean of interval maxima over `nprocs_in` ranks grows; parts are of that mean."""
    x = np.asarray(maxima, float)
    distribution, mean = fit_gev(x, fit), float(x.mean())
    values = [(nprocs, emma(distribution.quantile, nprocs / nprocs_in)) for nprocs in targets]
    return [ProjectedMaximum(nprocs, value, value / mean if mean else 1.0) for nprocs, value in values]


def _k_of_skewness(wanted: float) -> float:
    """The k with a skewness (equation 2.2), within where skewness is finite and computable."""
    low, high = -MAX_MOM_SHAPE, 5.0
    for _ in range(60):
        k = (low + high) / 2
        if _skewness(k) > wanted:
            low = k
        else:
            high = k
    return (low + high) / 2


def _skewness(k: float) -> float:
    if abs(k) < 1e-4:
        return GUMBEL_SKEWNESS
    g1, g2, g3 = gamma(1 + k), gamma(1 + 2 * k), gamma(1 + 3 * k)
    sign = 1 if k > 0 else -1
    return float(sign * (-g3 + 3 * g1 * g2 - 2 * g1**3) / (g2 - g1 * g1) ** 1.5)


def _sort_samples(samples: npt.ArrayLike) -> Floats:
    """The samples in ascending order."""
    x: Floats = np.sort(np.asarray(samples, float).ravel())
    if len(x) < 3 or not np.isfinite(x).all():
        raise UsageError(f"an extreme value distribution needs three samples or more, not {len(x)}")
    return x
