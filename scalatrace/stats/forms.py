"""Points and candidate forms of curves over scales: the input of every timing model.

A scale is the number of ranks P, or several parameters such as (n, P). A form is a sum of terms
p^(i/j) * log2(p)^l: the performance model normal form of Calotoiu et al., "Using automated performance
modeling to find scalability bugs in complex codes" (SC 2013). With several parameters a term is a product of
one such factor per parameter. Candidates have one or two terms of few exponents, and a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, product

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.errors import UsageError

__all__ = [
    "ROUNDING", "TINY", "Factor", "Form", "Points", "Scale", "Term", "as_row", "constant_term",
    "count_terms", "forms_for",
]  # fmt: skip

Scale = float | Sequence[float]
"""P alone, or one number per parameter."""

ROUNDING = 2.0**-11
"""Least relative error of every value: the file rounds means of times (docs/reference/format.md)."""
TINY = 1e-30
"""Where all values are 0 their errors are this: 0 would weigh infinitely."""

POWERS = "-2 -3/2 -4/3 -1 -3/4 -2/3 -1/2 -1/3 -1/4 0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 3"
LOGS = {0: (1, 2), 1: (0, 1, 2), -1: (0, 1)}
"""Exponents of the logarithm beside a power; beside the others none or one."""
SIMPLE = 1.5
"""Terms of at most this complexity are also tried two at a time."""
SIMPLE_MANY = 1.0
"""The same with several parameters, where there are many more."""


def as_row(scale: Scale) -> tuple[float, ...]:
    """Return a scale as one number per parameter."""
    return tuple(float(x) for x in scale) if isinstance(scale, Sequence) else (float(scale),)


@dataclass(frozen=True, slots=True)
class Points:
    """One quantity at several scales.

    Attributes:
        scales: a row per point, a column per parameter; all positive.
        values: in any unit.
        errors: standard error of each value in that unit, at least what rounding does.
        known: the errors were measured; otherwise they are only the rounding.
        names: of the parameters, for formulas; "p" when there is one and nothing else was said.
    """

    scales: Floats
    values: Floats
    errors: Floats
    known: bool
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        scales: Sequence[Scale],
        values: Sequence[float],
        errors: Sequence[float] | None = None,
        names: Sequence[str] = (),
    ) -> Points:
        """Check and convert.

        Raises:
            UsageError: no points, or numbers that no model can take.
        """
        rows = [as_row(scale) for scale in scales]
        y = np.array(values, float)
        if not rows or len(rows) != len(y) or len({len(row) for row in rows}) != 1:
            raise UsageError(f"{len(rows)} scales and {len(y)} values: one of each per trace is needed")
        x = np.array(rows)
        if not (np.isfinite(x).all() and np.isfinite(y).all()) or (x <= 0).any():
            raise UsageError("scales must be positive and values finite numbers")
        width = x.shape[1]
        labels = tuple(names) or (("p",) if width == 1 else ("n", "p") if width == 2 else ())
        if len(labels) != width:
            raise UsageError(f"{width} parameters need {width} names, not {len(labels)}")
        return cls(x, y, _errors(y, errors), errors is not None and any(errors), labels)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def top(self) -> Floats:
        """The largest value of each parameter."""
        top: Floats = self.scales.max(axis=0)
        return top


def _errors(values: Floats, errors: Sequence[float] | None) -> Floats:
    """Standard errors with the rounding in them."""
    errors_of_values = np.zeros(len(values)) if errors is None else np.array(errors, float)
    if (
        len(errors_of_values) != len(values)
        or not np.isfinite(errors_of_values).all()
        or (errors_of_values < 0).any()
    ):
        raise UsageError("errors must be numbers from 0, one per value")
    largest = float(np.abs(values).max())
    floor = ROUNDING * np.maximum(np.abs(values), 1e-3 * largest) + TINY
    total: Floats = np.hypot(errors_of_values, floor)
    return total


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

    def at(self, p: Floats) -> Floats:
        """The factor's values."""
        value: Floats = p ** float(self.power) * np.log2(p) ** self.log
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

    def at(self, scales: Floats) -> Floats:
        """The values at scales: a row per point, a column per parameter."""
        product: Floats = np.prod(
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

    def design(self, scales: Floats) -> Floats:
        """The design matrix: a row per point, a column per term."""
        return np.stack([term.at(scales) for term in self.terms], axis=1)

    def text(self, coefficients: tuple[float, ...], names: tuple[str, ...]) -> str:
        """The formula: `12.5 + 3 * p * log2(p)`."""
        out = ""
        for c, term in zip(coefficients, self.terms, strict=True):
            number, factors = f"{abs(c):.6g}", term.text(names)
            part = f"{number} * {factors}" if factors else number
            sign = ("-" if c < 0 else "") if not out else (" - " if c < 0 else " + ")
            out += sign + part
        return out


def _exponent(power: Fraction) -> str:
    is_integer = power.denominator == 1 and power > 0
    return str(power) if is_integer else f"({power})"


def constant_term(nparams: int) -> Term:
    """Return the constant for so many parameters."""
    return Term((Factor(),) * nparams)


@cache
def forms_for(nparams: int, npoints: int) -> tuple[Form, ...]:
    """Return the forms that so many points of so many parameters may have, the simplest first.

    At least one point more than coefficients is asked for: without one nothing speaks against a form.
    """
    constant = constant_term(nparams)
    terms = _terms(nparams)
    forms = [Form((constant,))]
    if npoints >= 2:
        forms += [Form((term,)) for term in terms]
    simple = [term for term in terms if term.complexity <= (SIMPLE if nparams == 1 else SIMPLE_MANY)]
    if npoints >= 3:
        forms += [Form((constant, term)) for term in terms]
        forms += [Form(pair) for pair in combinations(simple, 2)]
    if npoints >= 5:
        forms += [Form((constant, *pair)) for pair in combinations(simple, 2)]
    return tuple(sorted(forms, key=lambda form: (len(form), form.complexity)))


@cache
def count_terms(nparams: int) -> int:
    """Return how many terms there are to choose from."""
    return len(_terms(nparams))


def _terms(nparams: int) -> list[Term]:
    """All terms but the constant."""
    factors = [
        Factor(power, log)
        for power in map(Fraction, POWERS.split())
        for log in ((0, *LOGS[0]) if not power else LOGS.get(power, (0, 1)))  # type: ignore[call-overload]
    ]
    if nparams > 1:
        factors = [factor for factor in factors if factor.complexity <= 2]
    products = (Term(chosen) for chosen in product(factors, repeat=nparams))
    return [term for term in products if not term.is_one and (nparams == 1 or term.complexity <= 3)]
