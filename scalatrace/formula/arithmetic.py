"""Constructors of sums, products, quotients and remainders, simplified.

Sums are linear forms: a constant and terms times integers, each term once.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.formula.bounds import bounds
from scalatrace.formula.nodes import Binary, Const, Expr

__all__ = ["Terms", "add", "div", "linear", "linear_combination", "mod", "mul", "sub", "xor"]

Terms = dict[Expr, int]


def linear(e: Expr) -> tuple[int, Terms]:
    """Return an expression as a constant and a sum of terms times integers; do not change the terms."""
    if not isinstance(e, Binary):
        return (e.value, {}) if isinstance(e, Const) else (0, {e: 1})
    try:
        return e._linear
    except AttributeError:
        result = _linear(e)
        object.__setattr__(e, "_linear", result)
        return result


def _linear(e: Binary) -> tuple[int, Terms]:
    match e:
        case Binary("+" | "-" as op, a, b):
            sign = 1 if op == "+" else -1
            (m, left), (n, right) = linear(a), linear(b)
            return m + sign * n, _sum(left, right, sign)
        case Binary("*", a, Const(factor)):
            n, terms = linear(a)
            return n * factor, {term: k * factor for term, k in terms.items()}
    return 0, {e: 1}


def _sum(left: Terms, right: Terms, sign: int) -> Terms:
    terms = dict(left)
    for term, k in right.items():
        terms[term] = terms.get(term, 0) + sign * k
    return {term: k for term, k in terms.items() if k}


def _built(constant: int, terms: Terms) -> Expr:
    """Return the expression of a linear form: what is added first, then what is taken away."""
    total: Expr | None = None
    if terms and constant > 0 and all(k < 0 for k in terms.values()):
        total, constant = Const(constant), 0
    for term, k in sorted(terms.items(), key=lambda item: item[1] < 0):
        part: Expr = term if abs(k) == 1 else Binary("*", term, Const(abs(k)))
        if total is None:
            total = part if k > 0 else Binary("*", term, Const(k))
        else:
            total = Binary("+" if k > 0 else "-", total, part)
    if total is None or constant == 0:
        return Const(constant) if total is None else total
    return Binary("+" if constant > 0 else "-", total, Const(abs(constant)))


def add(a: Expr, b: Expr) -> Expr:
    """Return a + b."""
    (m, left), (n, right) = linear(a), linear(b)
    return _built(m + n, _sum(left, right, 1))


def sub(a: Expr, b: Expr) -> Expr:
    """Return a - b."""
    return add(a, mul(b, Const(-1)))


def mul(a: Expr, b: Expr) -> Expr:
    """Return a * b."""
    if isinstance(a, Const):
        a, b = b, a
    if not isinstance(b, Const):
        return Binary("*", a, b)
    n, terms = linear(a)
    return _built(n * b.value, {term: k * b.value for term, k in terms.items() if b.value})


def _split_multiples(e: Expr, m: int) -> tuple[Expr, Expr]:
    """Return an expression as m times the first plus the second, which has no terms that m divides."""
    n, terms = linear(e)
    multiples = {term: k // m for term, k in terms.items() if k % m == 0}
    remainder = {term: k for term, k in terms.items() if k % m}
    return _built(n // m, multiples), _built(n % m, remainder)


def _within(e: Expr, m: int) -> bool:
    interval = bounds(e)
    return interval is not None and interval[0] >= 0 and interval[1] < m


def mod(e: Expr, m: int) -> Expr:
    """Return e % m for an e >= 0 (or one whose negative part m divides)."""
    _, remainder = _split_multiples(e, m)
    if _within(remainder, m):
        return remainder
    if (
        isinstance(remainder, Binary)
        and remainder.op == "%"
        and isinstance(remainder.right, Const)
        and remainder.right.value % m == 0
    ):
        return mod(remainder.left, m)
    return Const(remainder.value % m) if isinstance(remainder, Const) else Binary("%", remainder, Const(m))


def div(e: Expr, m: int) -> Expr:
    """Return e / m without remainder for an e >= 0."""
    if m == 1:
        return e
    multiples, remainder = _split_multiples(e, m)
    if _within(remainder, m):
        return multiples
    return add(multiples, Binary("/", remainder, Const(m)))


def xor(a: Expr, b: Expr) -> Expr:
    """Return a ^ b."""
    if b == Const(0):
        return a
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value ^ b.value)
    return Binary("^", a, b)


def linear_combination(
    constant: int, coefficients: Sequence[int], terms: Sequence[Expr], denominator: int = 1
) -> Expr:
    """Return (sum of coefficients times terms + constant) // denominator, terms as they are.

    Unlike `add` it merges no terms: each stays the term that was fitted.
    """
    total: Expr | None = None
    for k, term in zip(coefficients, terms, strict=True):
        part: Expr = term if abs(k) == 1 else Binary("*", Const(abs(k)), term)
        if total is None:
            total = part if k > 0 else Binary("*", Const(k), term)
        else:
            total = Binary("+" if k > 0 else "-", total, part)
    if total is None:
        total = Const(constant)
    elif constant:
        total = Binary("+" if constant > 0 else "-", total, Const(abs(constant)))
    return total if denominator == 1 else Binary("//", total, Const(denominator))
