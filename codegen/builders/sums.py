"""Sums of formulas over the executions before: how often what stands in a loop has run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scalatrace.codegen.builders.formula import FormulaReader
from scalatrace.codegen.errors import GenerateError
from scalatrace.formula import (
    Binary,
    Called,
    Choose,
    Compare,
    Const,
    Expr,
    Value,
    Var,
    add,
    choose,
    compare,
    format_text,
    mul,
    names_in,
    sub,
)
from scalatrace.formula.domain import Domain
from scalatrace.formula.polynomials import nonnegative, quotient, remainder
from scalatrace.formula.summation import sum_over

__all__ = ["no_rule", "sum_of_formula", "sum_of_turns"]

ITERATION, LEFT = "i1", "l1"
"""The counters of the innermost loop (`scalatrace.trace.symbolic.counters`)."""


def sum_of_formula(formula: Expr, n: Expr, reader: FormulaReader, facts: Domain) -> Expr:
    """Return the sum of a formula over i in [0, n). Raises GenerateError if it has no closed formula."""
    return _Sums("i", reader, facts, {}).of(formula, n)


def sum_of_turns(
    formula: Expr, n: Expr, times: Expr, reader: FormulaReader, facts: Domain, names: Mapping[str, Expr]
) -> Expr:
    """The sum over the first n turns of a loop of a formula of its counters.

    Args:
        n: how many; `times`, or fewer.
        times: turns of the loop.
        names: counters of loops further out.

    Raises:
        GenerateError: no closed formula, or one for the last iteration of a loop that may not run at all.
    """
    sums = _Sums(ITERATION, reader, facts, names)
    last = sub(times, Const(1))
    total: Expr = Const(0)
    for sign, factors in _terms(formula, 1):
        plain = [factor for factor in factors if _ends(factor) is None]
        ends = {end for factor in factors if (end := _ends(factor)) is not None}
        if ends and n == times and not nonnegative(last, facts):
            raise no_rule(formula)
        if "==" in ends:  # the last turn alone, which is not among the first ones
            at_last = {**names, ITERATION: last, LEFT: Const(0)}
            part = _product(reader.number(f, facts, at_last) for f in plain)
            part = part if n == times and len(ends) == 1 else Const(0)
        else:
            part = sums.of_product(plain, last if ends and n == times else n)
        total = add(total, mul(part, Const(sign)))
    return total


def _ends(factor: Expr) -> str | None:
    """`>` of "not the last turn", `==` of "the last turn", None of all else."""
    match factor:
        case Choose(Compare(">" | "==" as op, Var("l1"), Const(0)), Const(1), Const(0)):
            return op
    return None


def _terms(e: Expr, sign: int) -> Iterator[tuple[int, list[Expr]]]:
    """A formula as a sum of products: signs, and factors."""
    match e:
        case Binary("+", a, b):
            yield from _terms(a, sign)
            yield from _terms(b, sign)
        case Binary("-", a, b):
            yield from _terms(a, sign)
            yield from _terms(b, -sign)
        case Binary("*", Const(-1), inner):
            yield from _terms(inner, -sign)
        case Binary("*", a, b):
            for left_term, left in _terms(a, sign):
                for right_term, right in _terms(b, 1):
                    yield left_term * right_term, [*left, *right]
        case _:
            yield sign, [e]


def _product(factors: Iterator[Expr]) -> Expr:
    product: Expr = Const(1)
    for factor in factors:
        product = mul(product, factor)
    return product


def no_rule(formula: Value) -> GenerateError:
    """Return the error for a sum that has no closed formula."""
    return GenerateError(
        f"the number of earlier executions has no closed formula: the sum of {format_text(formula)}"
    )


@dataclass(frozen=True)
class _Sums:
    """Sums over one name.

    Attributes:
        names: what other names stand for that are not the reader's own.
    """

    name: str
    reader: FormulaReader
    facts: Domain
    names: Mapping[str, Expr]

    def of(self, e: Expr, n: Expr) -> Expr:
        """The sum over the name from 0 to below n."""
        if not self._varies(e):
            return mul(n, self._number(e))
        match e:
            case Var(self.name):
                return self._triangle(n)
            case Binary("+" | "-" as op, a, b):
                combine = add if op == "+" else sub
                return combine(self.of(a, n), self.of(b, n))
            case Binary("*", a, b):
                return self.of_product([a, b], n)
            case Binary("%", Var(self.name), m) if not self._varies(m):
                period = self._number(m)
                turns, part = quotient(n, period, self.facts), remainder(n, period, self.facts)
                return add(mul(turns, self._triangle(period)), self._triangle(part))
            case Choose(Compare(op, Binary("%", a, m), c), Const(1), Const(0)) if not (
                self._varies(m) or self._varies(c)
            ):
                offset = self._offset(a)
                period, bound = self._number(m), self._number(c)
                counted = self._count_below(op, add(n, offset), period, bound)
                return sub(counted, self._count_below(op, offset, period, bound))
        raise no_rule(e)

    def of_product(self, factors: Sequence[Expr], n: Expr) -> Expr:
        """The sum of a product, of which one factor may vary."""
        varying = [factor for factor in factors if self._varies(factor)]
        if len(varying) > 1:
            return self._of_polynomial(factors, n)
        fixed = _product(self._number(factor) for factor in factors if not self._varies(factor))
        return mul(self.of(varying[0], n) if varying else n, fixed)

    def _of_polynomial(self, factors: Sequence[Expr], n: Expr) -> Expr:
        """The sum of a product that is a polynomial in the name."""
        variable = Var(self.name)
        names = {**self.names, self.name: variable}
        if LEFT in names_in(*factors):
            raise no_rule(factors[0])
        e = _product(self.reader.number(factor, self.facts, names) for factor in factors)
        result = sum_over(e, variable, n, self.facts)
        if result is None:
            raise no_rule(factors[0])
        return result

    def _varies(self, e: Expr) -> bool:
        return bool(names_in(e) & ({self.name, LEFT} if self.name == ITERATION else {self.name}))

    def _number(self, e: Expr) -> Expr:
        return self.reader.number(e, self.facts, self.names)

    def _offset(self, e: Expr) -> Expr:
        """What is added to the name; an error for any other formula of it."""
        match e:
            case Var(self.name):
                return Const(0)
            case Binary("+", Var(self.name), Const(k)) if k >= 0:
                return Const(k)
        raise no_rule(e)

    def _triangle(self, n: Expr) -> Expr:
        return quotient(mul(n, sub(n, Const(1))), Const(2), self.facts)

    def _count_below(self, op: str, n: Expr, period: Expr, bound: Expr) -> Expr:
        """How many numbers below n compare so with a bound, modulo a period."""
        turns = quotient(n, period, self.facts)
        if op == ">" and bound == Const(0):
            return sub(n, quotient(add(n, sub(period, Const(1))), period, self.facts))
        if op == "<" and sub(period, bound) == Const(1):
            return sub(n, turns)
        part = remainder(n, period, self.facts)
        count = nonnegative(bound, self.facts)
        if op == "<":
            bound = bound if count else Called("max", (bound, Const(0)))
            if not nonnegative(sub(period, bound), self.facts):
                bound = Called("min", (bound, period))
            return add(mul(turns, bound), Called("min", (part, bound)))
        if op == "==":
            counted = add(turns, choose(Compare(">", part, bound), Const(1), Const(0)))
            counted = counted if count else choose(compare(">=", bound, Const(0)), counted, Const(0))
            if nonnegative(sub(sub(period, Const(1)), bound), self.facts):
                return counted
            return choose(compare("<", bound, period), counted, Const(0))
        raise GenerateError("the number of earlier executions has no closed formula")
