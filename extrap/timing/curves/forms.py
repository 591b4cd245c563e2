"""Candidate forms of the normal form: one or two terms of few exponents, and a constant."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, product

from scalatrace.extrap.timing.curves.terms import Factor, Form, Term, one

__all__ = ["forms_for", "nterms"]

POWERS = "-2 -3/2 -4/3 -1 -3/4 -2/3 -1/2 -1/3 -1/4 0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 3"
LOGS = {0: (1, 2), 1: (0, 1, 2), -1: (0, 1)}
"""Exponents of the logarithm beside a power; beside the others none or one."""
SIMPLE = 1.5
"""Terms of at most this complexity are also tried two at a time."""
SIMPLE_MANY = 1.0
"""The same with several parameters, where there are many more."""


@cache
def forms_for(nparams: int, npoints: int) -> tuple[Form, ...]:
    """Return the forms that so many points of so many parameters may have, the simplest first.

    At least one point more than coefficients is asked for: without one nothing speaks against a form.
    """
    constant = one(nparams)
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
def nterms(nparams: int) -> int:
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
