"""Models of kernels (Cornebize, section 5.1): mean M-0, M-1 or M-2, noise N-0, N-1 or N-2, by host or not.

M-0  T = a                          N-0  none
M-1  T = a S + b, S = m n k         N-1  normal, of one deviation
M-2  T = a mnk + b mn + ... + e     N-2  half-normal, deviation a polynomial too (5.1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import pi, prod, sqrt
from typing import Any

import numpy as np

from scalatrace.errors import UsageError

__all__ = ["CONSTANT", "MEANS", "NOISES", "KernelModel", "KernelModels", "Polynomial", "terms_of"]

CONSTANT = "1"
MEANS = ("M-0", "M-1", "M-2")
NOISES = ("N-0", "N-1", "N-2")
_HALF_MEAN = sqrt(2 / pi)
_HALF_DEVIATION = sqrt(1 - 2 / pi)


def terms_of(model: str, parameters: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms of a mean: products of parameters as `m*n`, and "1".

    M-2 has the product of all parameters, the products without one of them, and the constant.
    """
    whole = "*".join(parameters)
    if model == "M-0" or not parameters:
        return (CONSTANT,)
    if model == "M-1" or len(parameters) == 1:
        return (whole, CONSTANT)
    return (whole, *("*".join(some) for some in combinations(parameters, len(parameters) - 1)), CONSTANT)


@dataclass(frozen=True)
class Polynomial:
    """A sum of coefficients times products of parameters; `coefficients`: term -> ns."""

    coefficients: Mapping[str, float]

    def at(self, params: Mapping[str, Any]) -> Any:
        """Return the value, an array if parameters are. Raises UsageError when a parameter is missing."""
        try:
            return sum(
                a * (1 if term == CONSTANT else prod(params[name] for name in term.split("*")))
                for term, a in self.coefficients.items()
            )
        except KeyError as error:
            given = ", ".join(params) or "none"
            raise UsageError(
                f"the kernel model needs the parameter {error.args[0]!r}; given: {given}"
            ) from None


@dataclass(frozen=True)
class KernelModel:
    """The duration of one kernel on one host.

    Attributes:
        parameters: names, in the order of the calls.
        model, noise: one of MEANS and of NOISES.
        mean_ns, deviation_ns: of the duration.
        host: "": all hosts.
    """

    name: str
    parameters: tuple[str, ...]
    model: str
    noise: str
    mean_ns: Polynomial
    deviation_ns: Polynomial
    host: str = ""

    def __post_init__(self) -> None:
        for value, known in ((self.model, MEANS), (self.noise, NOISES)):
            if value not in known:
                raise UsageError(f"kernel {self.name}: {value!r} is unknown; use one of {', '.join(known)}")

    def duration_ns(self, params: Mapping[str, float], random: np.random.Generator | None = None) -> float:
        """Return the mean duration, or a drawn one. Raises UsageError when a parameter is missing."""
        mean = max(0.0, float(self.mean_ns.at(params)))
        if random is None or self.noise == "N-0":
            return mean
        drawn = random.standard_normal()
        if self.noise == "N-2":
            drawn = (abs(drawn) - _HALF_MEAN) / _HALF_DEVIATION
        return max(0.0, mean + drawn * max(0.0, float(self.deviation_ns.at(params))))


class KernelModels:
    """Models of several kernels, some of them for single hosts."""

    def __init__(self, models: Iterable[KernelModel]) -> None:
        """Raise UsageError when two models are for one kernel and host."""
        self.models = tuple(models)
        self._by_key = {(m.name, m.host): m for m in self.models}
        if len(self._by_key) < len(self.models):
            names = [(m.name, m.host) for m in self.models]
            name, host = next(key for key in names if names.count(key) > 1)
            raise UsageError(f"kernel {name} has two models{f' for the host {host}' if host else ''}")

    def find(self, name: str, host: str = "") -> KernelModel | None:
        """Return the model of a kernel: the host's if there is one, else the general one, or None."""
        return self._by_key.get((name, host)) or self._by_key.get((name, ""))
