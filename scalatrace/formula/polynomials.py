"""Quotients and remainders of expressions whose sizes are known at run time only.

`(i1 * X + i2) % X` is `i2` where i2 counts from 0 to below X: expressions are polynomials, divided as such,
and what is left is compared with the divisor by the limits of the variables in it.
"""

from __future__ import annotations

from scalatrace.formula.arithmetic import add, mul, sub
from scalatrace.formula.bounds import bounds
from scalatrace.formula.domain import Domain
from scalatrace.formula.functions import FUNCTIONS
from scalatrace.formula.nodes import Binary, Called, Const, Expr, Var

__all__ = ["Monomial", "monomials", "nonnegative", "quotient", "remainder"]

MAX_DIVISION_STEPS = 32
"""Of a division: polynomials of programs are short."""

Monomial = tuple[Expr, ...]
Poly = dict[Monomial, int]


def combine(op: str, a: Expr, b: Expr, domain: Domain | None = None) -> Expr:
    """Return `a op b`, with simplified sums and products.

    Args:
        domain: of the variables; quotients and remainders are simplified by it, whose divisor has to be
            positive. None: they stay as they are.
    """
    match op:
        case "+":
            return add(a, b)
        case "-":
            return sub(a, b)
        case "*":
            return mul(a, b)
        case "//" if domain is not None:
            return quotient(a, b, domain)
        case "%" if domain is not None:
            return remainder(a, b, domain)
    return Binary(op, a, b)


def quotient(a: Expr, b: Expr, domain: Domain) -> Expr:
    """Return a / b rounded down, for b > 0."""
    if b == Const(1):
        return a
    multiple, remainder = _divide(_poly(a), _poly(b))
    divisor = _poly(b)
    if not remainder or (_nonnegative(remainder, domain) and _nonnegative(_less(divisor, remainder), domain)):
        return _expr(multiple)
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value // b.value)
    op = "/" if _nonnegative(remainder, domain) else "//"
    return add(_expr(multiple), Binary(op, _expr(remainder), b))


def remainder(a: Expr, b: Expr, domain: Domain) -> Expr:
    """Return a % b, never negative, for b > 0."""
    divisor = _poly(b)
    _, remaining = _divide(_poly(a), divisor)
    if not remaining:
        return Const(0)
    if _nonnegative(remaining, domain) and _nonnegative(_less(divisor, remaining), domain):
        return _expr(remaining)
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value % b.value)
    dividend = sub(a, b) if not _nonnegative(remaining, domain) and nonnegative(sub(a, b), domain) else a
    return Binary("%", _expr(remaining) if _nonnegative(remaining, domain) else dividend, b)


def monomials(e: Expr) -> dict[Monomial, int]:
    """Return an expression as a sum: products of atoms, and their coefficients."""
    return _poly(e)


def nonnegative(e: Expr, domain: Domain) -> bool:
    """Return whether an expression is known to be never negative."""
    return _nonnegative(_poly(e), domain)


def _less(divisor: Poly, remainder: Poly) -> Poly:
    """divisor - 1 - rest."""
    return _sum(_sum(divisor, remainder, -1), {(): 1}, -1)


def _poly(e: Expr) -> Poly:
    match e:
        case Const(value):
            return {(): value} if value else {}
        case Binary("+" | "-" as op, a, b):
            return _sum(_poly(a), _poly(b), 1 if op == "+" else -1)
        case Binary("*", a, b):
            return _product(_poly(a), _poly(b))
    return {(e,): 1}


def _sum(a: Poly, b: Poly, sign: int = 1) -> Poly:
    total = dict(a)
    for monomial, k in b.items():
        total[monomial] = total.get(monomial, 0) + sign * k
    return {monomial: k for monomial, k in total.items() if k}


def _product(a: Poly, b: Poly) -> Poly:
    product: Poly = {}
    for m, k in a.items():
        for n, j in b.items():
            factors = tuple(sorted((*m, *n), key=repr))
            product[factors] = product.get(factors, 0) + k * j
    return {monomial: k for monomial, k in product.items() if k}


def _expr(p: Poly) -> Expr:
    total: Expr = Const(p.get((), 0))
    for monomial, k in p.items():
        if monomial:
            part, *more = _outer_first(monomial)
            for factor in more:
                part = Binary("*", part, factor)
            total = add(total, mul(part, Const(k)))
    return total


def _outer_first(monomial: Monomial) -> list[Expr]:
    """Coordinates and loop variables before sizes: `x * Y`."""
    return sorted(monomial, key=lambda e: (isinstance(e, Var) and e.name[:1].isupper(), repr(e)))


def _divide(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Quotient and rest by the divisor's leading monomial: the rest has no multiple of it."""
    lead = max(b, key=lambda m: (len(m), repr(m)), default=())
    quotient_terms: Poly = {}
    for _ in range(MAX_DIVISION_STEPS if b.get(lead, 0) > 0 else 0):
        quotient_term = next(((m, n) for m in a if _has(m, lead) and (n := _turns(m, a[m], b[lead]))), None)
        if quotient_term is None:
            break
        variables = list(quotient_term[0])
        for factor in lead:
            variables.remove(factor)
        step: Poly = {tuple(variables): quotient_term[1]}
        quotient_terms, a = _sum(quotient_terms, step), _sum(a, _product(step, b), -1)
    return quotient_terms, a


def _turns(monomial: Monomial, k: int, divisor: int) -> int:
    """Return how often a divisor goes into a coefficient: rounded down in a constant, towards 0 elsewhere."""
    return k // divisor if k > 0 or not monomial else -(-k // divisor)


def _has(monomial: Monomial, lead: Monomial) -> bool:
    remaining = list(monomial)
    for factor in lead:
        if factor not in remaining:
            return False
        remaining.remove(factor)
    return True


def _nonnegative(p: Poly, domain: Domain) -> bool:
    for variable in reversed(list(domain.upper)):
        if not any(variable in monomial for monomial in p):
            continue
        slope: Poly = {}
        other_terms: Poly = {}
        for monomial, k in p.items():
            if variable in monomial:
                factors = list(monomial)
                factors.remove(variable)
                slope[tuple(factors)] = k
            else:
                other_terms[monomial] = k
        if any(variable in monomial for monomial in slope):
            return all(k > 0 for k in p.values()) and _plain(p)
        if _nonnegative(slope, domain):
            end = domain.lower.get(variable, Const(0))
        elif _nonnegative({m: -k for m, k in slope.items()}, domain):
            end = domain.upper[variable]
        else:
            return False
        p = _sum(other_terms, _product(slope, _poly(end)))
    return _plain(_shift_variables(p))


def _shift_variables(p: Poly) -> Poly:
    """In terms of how much larger than its least value each variable is."""
    shifted: Poly = {}
    for monomial, k in p.items():
        part: Poly = {(): k}
        for factor in monomial:
            limits = bounds(factor)
            least = limits[0] if limits else 0
            part = _product(part, {(factor,): 1, (): least} if least else {(factor,): 1})
        shifted = _sum(shifted, part)
    return shifted


def _plain(p: Poly) -> bool:
    """Return whether all terms are positive numbers times what is never negative."""
    return all(k > 0 and all(_never_negative(factor) for factor in monomial) for monomial, k in p.items())


def _never_negative(e: Expr) -> bool:
    match e:
        case Var(_, _, least):
            return least >= 0
        case Binary("/" | "+" | "*" | ">>" | "<<", a, b):
            return _never_negative(a) and _never_negative(b)
        case Binary("%", _, _):
            return True
        case Called("log2" | "block" | "diagonal", _):  # as programs call them
            return True
        case Called(name, arguments):
            return name in FUNCTIONS and FUNCTIONS[name].nonnegative and all(map(_never_negative, arguments))
    limits = bounds(e)
    return limits is not None and limits[0] >= 0
