"""Levels 1 and 2 of a model: asymptotic growth, and dominant terms with coefficients (Hoefler 2010)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import sympy  # type: ignore[import-untyped]

from scalatrace.predict.models.symbols import BETA, GAP, LOG, PHI, RHO, TAU, P, S, as_latex, as_text

__all__ = ["Dominant", "asymptotic", "dominant"]

Growth = tuple[sympy.Rational, sympy.Rational, sympy.Rational]
"""Exponents of S, P and log P."""


@dataclass(frozen=True)
class Dominant:
    """Terms that grow most with S, or with P where none depends on S; and the growth of the others.

    Attributes:
        terms: with their coefficients.
        rest: growth of what is left out; 0: nothing.
    """

    terms: sympy.Expr
    rest: sympy.Expr

    def text(self) -> str:
        """Return `beta*S + O(log(P))`."""
        return as_text(self.terms) + (f" + O({as_text(self.rest)})" if self.rest else "")

    def latex(self) -> str:
        """Return the same as LaTeX."""
        remainder = rf" + \mathcal{{O}}\left({as_latex(self.rest)}\right)" if self.rest else ""
        return as_latex(self.terms) + remainder


def asymptotic(formula: sympy.Expr) -> sympy.Expr:
    """Return the growth of a model with S and P: the sum of the terms that no other one dominates."""
    return _sum(_find_dominant(_terms(formula)))


def dominant(formula: sympy.Expr) -> Dominant:
    """Return the terms of a model that count where S and P are large."""
    terms = _terms(formula)
    kept = _find_dominant(terms)
    most = max(growth[0] for growth in kept)
    chosen = [growth for growth in kept if growth[0] == most]
    if most == 0:
        chosen = [max(chosen, key=lambda growth: growth[1:])]
    remainder = _find_dominant(
        {growth: coefficient for growth, coefficient in terms.items() if growth not in chosen}
    )
    written = sum((_write_terms(growth) * sympy.factor(terms[growth]) for growth in chosen), sympy.Integer(0))
    hidden = [growth for growth in remainder if not _dominates_all(growth, chosen)]
    return Dominant(written, _sum(hidden))


def _dominates_all(growth: Growth, chosen: list[Growth]) -> bool:
    """Whether a term that is left out is only a part of the chosen ones, such as S / P of S."""
    return any(growth[0] == term[0] and growth[0] > 0 and growth[1:] < term[1:] for term in chosen)


def _terms(formula: sympy.Expr) -> dict[Growth, sympy.Expr]:
    """Return the coefficient of each power of S, P and log P; gaps grow as S beta + g."""
    for gap in (TAU, RHO, PHI):
        formula = formula.replace(gap, lambda size: BETA * size + GAP)
    terms: dict[Growth, sympy.Expr] = defaultdict(lambda: sympy.Integer(0))
    for term in sympy.Add.make_args(sympy.expand(formula)):
        powers = term.as_powers_dict()
        growth = tuple(sympy.nsimplify(powers.get(symbol, 0)) for symbol in (S, P, LOG))
        terms[growth] += term / (S ** growth[0] * P ** growth[1] * LOG ** growth[2])
    return {growth: coefficient for growth, coefficient in terms.items() if coefficient != 0}


def _find_dominant(terms: dict[Growth, sympy.Expr]) -> list[Growth]:
    """Return the powers that no other term exceeds for all large S and P, the largest first."""
    return sorted(
        (a for a in terms if not any(a != b and a[0] <= b[0] and a[1:] <= b[1:] for b in terms)), reverse=True
    )


def _write_terms(growth: Growth) -> sympy.Expr:
    return S ** growth[0] * P ** growth[1] * LOG ** growth[2]


def _sum(growths: list[Growth]) -> sympy.Expr:
    """Return a sum of powers without coefficients; rounds are written log(P)."""
    return sum((_write_terms(growth) for growth in growths), sympy.Integer(0)).subs(LOG, sympy.log(P))
