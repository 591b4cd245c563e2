"""Expressions and conditions as terms of z3."""

from __future__ import annotations

from typing import Any

from scalatrace.formula.nodes import (
    AllOf,
    AnyOf,
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Member,
    Truth,
    Var,
)
from scalatrace.formula.parts import children, names_in

__all__ = ["BIT_LIMIT", "Bits", "Integers", "Opaque", "Untranslatable", "has_bits"]

BITS = 64
BIT_LIMIT = 1 << 31
"""Proofs with bit operations hold for variables from -BIT_LIMIT to below BIT_LIMIT."""

BIT_OPS = ("^", "&", "<<", ">>")


def has_bits(part: Any) -> bool:
    """Return whether a part of a formula is a bit operation."""
    return (isinstance(part, Binary) and part.op in BIT_OPS) or any(map(has_bits, children(part)))


class Untranslatable(Exception):  # noqa: N818 - z3 is not asked then
    """Internal signal: a part of a formula has no z3 translation."""


class Integers:
    """Expressions as z3's unbounded integers.

    Attributes:
        defined: what has to hold for the expressions to have values.
    """

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.defined: list[Any] = []
        self._known: dict[Expr, Any] = {}

    def variable(self, name: str) -> Any:
        return self.z3.Int(name)

    def constant(self, value: int) -> Any:
        return self.z3.IntVal(value)

    def number(self, value: Any) -> int:
        """Return a value of a z3 model as an integer."""
        return int(value.as_long())

    def expr(self, e: Expr) -> Any:
        if e not in self._known:
            self._known[e] = self._expr(e)
        return self._known[e]

    def _expr(self, e: Expr) -> Any:
        match e:
            case Const(value):
                return self.constant(value)
            case Var(name):
                return self.variable(name)
            case Choose(cond, a, b):
                return self.z3.If(self.cond(cond), self.expr(a), self.expr(b))
            case Called(name, arguments):
                return self._translate_call(name, arguments)
            case Binary(op, a, b):
                return self.binary(op, self.expr(a), self.expr(b))
        raise Untranslatable

    def _translate_call(self, name: str, arguments: tuple[Expr, ...]) -> Any:
        match name, arguments:
            case (("min" | "max"), (a, b)):
                x, y = self.expr(a), self.expr(b)
                return self.z3.If(x <= y if name == "min" else x >= y, x, y)
            case "block", (n, parts, k):
                more = Compare("<", Binary("%", k, parts), Binary("%", n, parts))
                return self.expr(Binary("+", Binary("//", n, parts), Choose(more, Const(1), Const(0))))
            case "block_start", (n, parts, k):
                remainder = Called("min", (k, Binary("%", n, parts)))
                return self.expr(Binary("+", Binary("*", k, Binary("//", n, parts)), remainder))
        raise Untranslatable

    def binary(self, op: str, a: Any, b: Any) -> Any:
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
        self.defined.append(b != 0)
        quotient = self.z3.If(b > 0, a / b, -a / -b)  # z3 rounds down for positive divisors
        return quotient if op in ("/", "//") else a - b * quotient

    def cond(self, cond: Cond) -> Any:
        match cond:
            case Truth(value):
                return self.z3.BoolVal(value)
            case Compare(op, a, b):
                x, y = self.expr(a), self.expr(b)
                return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]
            case AllOf(parts):
                return self.z3.And(*map(self.cond, parts))
            case AnyOf(parts):
                return self.z3.Or(*map(self.cond, parts))
            case Member(e, values, outside):
                x = self.expr(e)
                within = self.z3.Or(*(x == self.constant(value) for value in values))
                return self.z3.Not(within) if outside else within


class Bits(Integers):
    """Expressions as bit vectors, for those with bit operations; sums and products must not overflow."""

    def variable(self, name: str) -> Any:
        return self.z3.BitVec(name, BITS)

    def constant(self, value: int) -> Any:
        return self.z3.BitVecVal(value, BITS)

    def number(self, value: Any) -> int:
        return int(value.as_signed_long())

    def binary(self, op: str, a: Any, b: Any) -> Any:
        z3 = self.z3
        match op:
            case "+":
                self.defined += [z3.BVAddNoOverflow(a, b, True), z3.BVAddNoUnderflow(a, b)]
                return a + b
            case "-":
                self.defined += [z3.BVSubNoOverflow(a, b), z3.BVSubNoUnderflow(a, b, True)]
                return a - b
            case "*":
                self.defined += [z3.BVMulNoOverflow(a, b, True), z3.BVMulNoUnderflow(a, b)]
                return a * b
            case "^":
                return a ^ b
            case "&":
                return a & b
            case "<<" | ">>":
                amount = z3.If(b < 0, self.constant(0), z3.If(b > 62, self.constant(62), b))
                if op == "<<":
                    self.defined.append((a << amount) >> amount == a)
                return a << amount if op == "<<" else a >> amount
        self.defined.append(b != 0)
        truncated, remainder = a / b, z3.SRem(a, b)
        inexact = z3.And(remainder != 0, (remainder < 0) != (b < 0))
        quotient = z3.If(inexact, truncated - 1, truncated)
        return quotient if op in ("/", "//") else z3.If(inexact, remainder + b, remainder)


class Opaque(Integers):
    """Expressions as integers; of functions that z3 does not know, only that they are functions.

    What is proved so holds for whatever these functions are. A counterexample need not be one.

    Args:
        z3: the module.
        divisors: names that quotients are made of; those with other names are such functions too.

    Attributes:
        lemmas: what holds for the bit operations in the expressions.
    """

    def __init__(self, z3: Any, divisors: frozenset[str]) -> None:
        super().__init__(z3)
        self._divisors = divisors
        self.lemmas: list[Any] = []
        self._powers: list[tuple[Any, Any]] = []
        self._logarithms: list[tuple[str, Any, Any]] = []

    def _expr(self, e: Expr) -> Any:
        match e:
            case Binary("/" | "//" | "%" as op, a, b) if not names_in(a, b) <= self._divisors:
                return self._function("//" if op == "/" else op, a, b)
            case Binary("^" | "&" | "<<" | ">>" as op, a, b):
                return self._bits(op, a, b)
            case Item(table, index):
                x = self.expr(index)
                term = self.constant(table[-1])
                for n, value in reversed(list(enumerate(table[:-1]))):
                    term = self.z3.If(x == n, self.constant(value), term)
                return term
        return super()._expr(e)

    def _bits(self, op: str, a: Expr, b: Expr) -> Any:
        result = self._function(op, a, b)
        x, y = self.expr(a), self.expr(b)
        positive = self.z3.And(x >= 0, y >= 0)
        self.lemmas.append(self.z3.Implies(positive, result >= 0))
        if op == ">>":
            self.lemmas.append(self.z3.Implies(self.z3.And(positive, y > 0), 2 * result <= x))
        if op == "<<":
            self.lemmas.append(self.z3.Implies(positive, result >= x))
            if a == Const(1):
                self._powers.append((y, result))
        return result

    def about_logarithms(self) -> list[Any]:
        """Return axioms that relate powers of two and logarithms."""
        z3, facts = self.z3, []
        for name, x, logarithm in self._logarithms:
            facts.append(z3.Implies(x >= 1, logarithm >= 0))
            for exponent, power in self._powers:
                less = z3.And(x >= 1, exponent >= 0, exponent < logarithm)
                facts.append(z3.Implies(less, (2 * power if name == "log2" else power + 1) <= x))
        return facts

    def _translate_call(self, name: str, arguments: tuple[Expr, ...]) -> Any:
        if name in ("min", "max", "block"):
            return super()._translate_call(name, arguments)
        if name == "block_start" and names_in(*arguments) <= self._divisors:
            return super()._translate_call(name, arguments)
        if name == "diagonal":  # depends on the remainder of the shift only
            count, parts, shift, *more = arguments
            return self._function(name, count, parts, Binary("%", shift, parts), *more)
        result = self._function(name, *arguments)
        if name in ("log2", "ceil_log2"):
            self._logarithms.append((name, self.expr(arguments[0]), result))
        return result

    def _function(self, name: str, *arguments: Expr) -> Any:
        sorts = [self.z3.IntSort()] * (len(arguments) + 1)
        return self.z3.Function(name, *sorts)(*map(self.expr, arguments))
