"""Models of kernels (Cornebize, section 5.1): mean M-0, M-1 or M-2, noise N-0, N-1 or N-2, by host or not.

M-0  T = a                          N-0  none
M-1  T = a S + b, S = m n k         N-1  normal, of one deviation
M-2  T = a mnk + b mn + ... + e     N-2  half-normal, deviation a polynomial too (5.1)

Files of kernel models are TOML with a table per kernel and host:

format = 1

[[kernels]]
name = "dgemm"
parameters = ["m", "n", "k"]
model = "M-1"
noise = "N-2"
measured_up_to = 2e8
mean_ns = {"m*n*k" = 0.0321, "1" = 410.0}
deviation_ns = {"m*n*k" = 0.0009, "1" = 0.0}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import inf, pi, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from scalatrace.errors import FormatError, UsageError
from scalatrace.files import write_file
from scalatrace.predict.kernels.toml_tables import check_table, number_map, read_document

__all__ = [
    "CONSTANT", "MEANS", "NOISES", "KernelModel", "KernelModels", "Polynomial", "read_kernels", "terms_of",
    "write_kernels",
]  # fmt: skip

CONSTANT = "1"
MEANS = ("M-0", "M-1", "M-2")
NOISES = ("N-0", "N-1", "N-2")
_HALF_MEAN = sqrt(2 / pi)
_HALF_DEVIATION = sqrt(1 - 2 / pi)


def terms_of(model: str, parameters: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms of a mean: products of parameters as `m*n`, and "1".

    M-2 has the product of all parameters, the products without one of them, and the constant.
    """
    product = "*".join(parameters)
    if model == "M-0" or not parameters:
        return (CONSTANT,)
    if model == "M-1" or len(parameters) == 1:
        return (product, CONSTANT)
    return (
        product,
        *("*".join(factors) for factors in combinations(parameters, len(parameters) - 1)),
        CONSTANT,
    )


@dataclass(frozen=True)
class Polynomial:
    """A sum of coefficients times products of parameters; `coefficients`: term -> ns."""

    coefficients: Mapping[str, float]

    @property
    def without_constant(self) -> Polynomial:
        """The terms that depend on parameters: 0 for a call with nothing to do."""
        return Polynomial({term: a for term, a in self.coefficients.items() if term != CONSTANT})

    def at(self, params: Mapping[str, Any]) -> Any:
        """Return the value, an array if parameters are. Raises UsageError when a parameter is missing."""
        try:
            return sum(
                a * (1 if term == CONSTANT else prod(params[name] for name in term.split("*")))
                for term, a in self.coefficients.items()
            )
        except KeyError as error:
            names = ", ".join(params) or "none"
            raise UsageError(
                f"the kernel model needs the parameter {error.args[0]!r}; given: {names}"
            ) from None


@dataclass(frozen=True)
class KernelModel:
    """The duration of one kernel on one host.

    Attributes:
        parameters: names, in the order of the calls.
        model, noise: one of MEANS and of NOISES.
        mean_ns, deviation_ns: of the duration.
        host: "": all hosts.
        measured_up_to: largest product of the parameters of the calls; 0: not known.
    """

    name: str
    parameters: tuple[str, ...]
    model: str
    noise: str
    mean_ns: Polynomial
    deviation_ns: Polynomial
    host: str = ""
    measured_up_to: float = 0.0

    def __post_init__(self) -> None:
        for value, choices in ((self.model, MEANS), (self.noise, NOISES)):
            if value not in choices:
                raise UsageError(f"kernel {self.name}: {value!r} is unknown; use one of {', '.join(choices)}")

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


_FORMAT = 1
_TYPES = {
    "name": str, "parameters": list, "model": str, "noise": str, "mean_ns": dict, "deviation_ns?": dict,
    "host?": str, "measured_up_to?": float,
}  # fmt: skip


def read_kernels(path: str | Path) -> KernelModels:
    """Read kernel models.

    Raises:
        FormatError: the file cannot be read, or a key or value is wrong; names it.
    """
    raw = read_document(path, "a file of kernel models", _FORMAT)
    tables = check_table(raw, {"kernels": list}, "file", path)["kernels"]
    try:
        return KernelModels(_model(table, f"kernels[{i}]", path) for i, table in enumerate(tables))
    except UsageError as error:
        raise FormatError(str(error), path) from None


def _model(raw: object, where: str, path: str | Path) -> KernelModel:
    table = check_table(raw, _TYPES, where, path)
    parameters = tuple(table["parameters"])
    if not all(isinstance(name, str) for name in parameters):
        raise FormatError(f"{where}.parameters must be an array of texts", path)
    measured_up_to = float(table.get("measured_up_to", 0))
    if not 0 <= measured_up_to < inf:
        raise FormatError(f"{where}.measured_up_to is {measured_up_to}, not a size", path)
    polynomials = {}
    for key in ("mean_ns", "deviation_ns"):
        polynomials[key] = Polynomial(number_map(table.get(key, {}), f"{where}.{key}", path))
        for term in polynomials[key].coefficients:
            if term != CONSTANT and not set(term.split("*")) <= set(parameters):
                raise FormatError(f"{where}.{key}: the term {term!r} has a factor that is no parameter", path)
    return KernelModel(
        table["name"], parameters, table["model"], table["noise"],
        polynomials["mean_ns"], polynomials["deviation_ns"], table.get("host", ""),
        measured_up_to,
    )  # fmt: skip


def write_kernels(path: str | Path, kernels: KernelModels) -> None:
    """Write kernel models. Raises ScalatraceError."""
    document = tomlkit.document()
    document.add("format", tomlkit.item(_FORMAT))
    array = tomlkit.aot()
    for model in kernels.models:
        table = tomlkit.table()
        values: dict[str, object] = {
            "name": model.name,
            "host": model.host,
            "parameters": list(model.parameters),
        }
        values |= {"model": model.model, "noise": model.noise, "measured_up_to": model.measured_up_to}
        for key, value in values.items():
            if value not in ("", 0):
                table.add(key, value)
        for key in ("mean_ns", "deviation_ns"):
            inline = tomlkit.inline_table()
            for term, coefficient in getattr(model, key).coefficients.items():
                inline.add(term, coefficient)
            table.add(key, inline)
        array.append(table)
    document.add("kernels", array)
    write_file(path, tomlkit.dumps(document).encode())
