"""Terms p^(i/j) * log2(p)^l of the performance model normal form, and forms that consist of them.

Calotoiu et al., "Using automated performance modeling to find scalability bugs in complex codes" (SC 2013);
with several parameters a term is a product of one such factor per parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from scalatrace.extrap.timing.curves.points import Array

__all__ = ["Factor", "Form", "Term", "one"]


@dataclass(frozen=True)
class Factor:
    """p^power * log2(p)^log."""

    power: Fraction = Fraction(0)
    log: int = 0

    @property
    def complexity(self) -> float:
        """How unusual it is: 0 for 1, p and 1/p; more for other powers, roots and logarithms."""
        size, denominator = abs(self.power), self.power.denominator
        root = {1: 0.0, 2: 1.0, 3: 2.0}.get(denominator, 3.0)
        return root + (float(size) - 1 if size > 1 else 0.0) + self.log * (1.0 if self.log < 2 else 1.5)

    def at(self, p: Array) -> Array:
        """The factor's values."""
        value: Array = p ** float(self.power) * np.log2(p) ** self.log
        return value

    def text(self, name: str) -> str:
        """The factor of a parameter as text, "" for 1."""
        power = "" if not self.power else name if self.power == 1 else f"{name}^{_exponent(self.power)}"
        log = "" if not self.log else f"log2({name})" + (f"^{self.log}" if self.log > 1 else "")
        return " * ".join(part for part in (power, log) if part)


@dataclass(frozen=True)
class Term:
    """A product of one factor per parameter."""

    factors: tuple[Factor, ...]

    @cached_property
    def complexity(self) -> float:
        """The sum over the factors."""
        return sum(factor.complexity for factor in self.factors)

    @property
    def is_one(self) -> bool:
        """Whether it is the constant."""
        return all(not factor.power and not factor.log for factor in self.factors)

    def at(self, scales: Array) -> Array:
        """The values at scales: a row per point, a column per parameter."""
        product: Array = np.prod(
            [factor.at(scales[:, i]) for i, factor in enumerate(self.factors)], axis=0, dtype=float
        )
        return product

    def text(self, names: tuple[str, ...]) -> str:
        """The term without its coefficient, "" for the constant."""
        parts = (factor.text(name) for factor, name in zip(self.factors, names, strict=True))
        return " * ".join(part for part in parts if part)


@dataclass(frozen=True)
class Form:
    """A sum of terms, each with a coefficient that is to be found; the constant, if any, stands first."""

    terms: tuple[Term, ...]

    def __hash__(self) -> int:
        return self._hash  # forms are keys of caches

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    @cached_property
    def complexity(self) -> float:
        """The sum over the terms."""
        return sum(term.complexity for term in self.terms)

    def design(self, scales: Array) -> Array:
        """The design matrix: a row per point, a column per term."""
        return np.stack([term.at(scales) for term in self.terms], axis=1)

    def text(self, coefficients: tuple[float, ...], names: tuple[str, ...]) -> str:
        """The formula: `12.5 + 3 * p * log2(p)`."""
        out = ""
        for c, term in zip(coefficients, self.terms, strict=True):
            number, rest = f"{abs(c):.6g}", term.text(names)
            part = f"{number} * {rest}" if rest else number
            sign = ("-" if c < 0 else "") if not out else (" - " if c < 0 else " + ")
            out += sign + part
        return out


def _exponent(power: Fraction) -> str:
    whole = power.denominator == 1 and power > 0
    return str(power) if whole else f"({power})"


def one(nparams: int) -> Term:
    """Return the constant for so many parameters."""
    return Term((Factor(),) * nparams)
