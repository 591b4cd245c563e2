"""Proofs about formulas for all values of their variables, by z3 where it is installed.

    pip install 'scalatrace[prove]'

Without z3, and where it finds no answer in time, all values up to a size are checked one by one. Such a
result is `Checked` and says how far it reaches; it never counts as a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scalatrace.errors import FormulaError
from scalatrace.formula.domain import Domain
from scalatrace.formula.evaluate import evaluate
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
    Member,
    Truth,
    Var,
)
from scalatrace.formula.parts import children, variables

__all__ = ["Checked", "Counterexample", "Proof", "Proved", "available", "prove", "prove_equal"]

TIMEOUT_MS = 2_000
"""Time for one proof."""

MAX_CHECKED = 20_000
"""Combinations of values that are checked one by one, about."""

BITS = 64
BIT_LIMIT = 1 << 31
"""Proofs with bit operations hold for variables from -BIT_LIMIT to below BIT_LIMIT."""


@dataclass(frozen=True, slots=True)
class Proved:
    """It holds for all values of the domain; `limit`: of variables up to this size, None for all."""

    limit: int | None = None

    def __str__(self) -> str:
        return "proved" if self.limit is None else f"proved for variables below {self.limit:,}"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Values of the variables for which it does not hold, or has no value."""

    values: Mapping[str, int]

    def __str__(self) -> str:
        return "wrong for " + ", ".join(f"{name} = {value}" for name, value in self.values.items())


@dataclass(frozen=True, slots=True)
class Checked:
    """It holds for all values up to a size above the least ones; nothing is known of larger ones."""

    up_to: int
    count: int

    def __str__(self) -> str:
        return f"checked for variables up to {self.up_to:,} above the least ({self.count:,} cases)"


Proof = Proved | Counterexample | Checked


def available() -> bool:
    """Whether z3 is installed."""
    from importlib.util import find_spec

    return find_spec("z3") is not None


def prove_equal(a: Expr, b: Expr, domain: Domain, timeout_ms: int = TIMEOUT_MS) -> Proof:
    """Return whether two expressions are equal everywhere in a domain."""
    return prove(Compare("==", a, b), domain, timeout_ms)


def prove(claim: Cond, domain: Domain, timeout_ms: int = TIMEOUT_MS) -> Proof:
    """Return whether a condition holds, and has a value, everywhere in a domain.

    Args:
        claim: the condition.
        domain: limits of the variables; those of none are integers from `Var.least` on.
        timeout_ms: how long z3 may take.
    """
    if available():
        result = _by_z3(claim, domain, timeout_ms)
        if result is not None:
            return result
    return _one_by_one(claim, domain)


def _variables(claim: Cond, domain: Domain) -> list[Var]:
    """All variables of a claim and of their limits, each behind those that its limits mention."""
    result: dict[Var, None] = {}

    def add(variable: Var) -> None:
        for limit in (domain.lower.get(variable), domain.upper.get(variable)):
            for inner in variables(limit) if limit is not None else ():
                if inner != variable:
                    add(inner)
        result.setdefault(variable)

    for variable in (*domain.lower, *domain.upper, *variables(claim)):
        add(variable)
    return list(result)


def _limits(variable: Var, domain: Domain) -> tuple[Expr, Expr | None]:
    low = domain.lower.get(variable, Const(variable.least))
    high = domain.upper.get(variable)
    if high is None and variable.limit is not None:
        high = Const(variable.limit - 1)
    return low, high


# One by one


def _one_by_one(claim: Cond, domain: Domain) -> Proof:
    order = _variables(claim, domain)
    reached, count = -1, 0
    for up_to in range(1 << 12):
        cases = 0
        for values in _cases(order, domain, up_to, {}):
            cases += 1
            if not _holds(claim, values):
                return Counterexample(values)
            if cases > MAX_CHECKED:
                return Checked(max(reached, 0), max(count, cases))
        if cases == count and reached >= 0:
            return Checked(reached, count)  # the domain is no larger
        reached, count = up_to, cases
    return Checked(reached, count)


def _cases(order: list[Var], domain: Domain, up_to: int, values: dict[str, int]) -> Iterator[dict[str, int]]:
    """The values of the variables, none of them more than `up_to` above its least."""
    if len(values) == len(order):
        yield dict(values)
        return
    variable = order[len(values)]
    low, high = _limits(variable, domain)
    least = int(evaluate(low, values))
    most = least + up_to if high is None else min(int(evaluate(high, values)), least + up_to)
    for value in range(least, most + 1):
        yield from _cases(order, domain, up_to, {**values, variable.name: value})


def _holds(claim: Cond, values: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(claim, values))
    except FormulaError:
        return False


# z3


def _by_z3(claim: Cond, domain: Domain, timeout_ms: int) -> Proof | None:
    """The answer of z3; None when it has none."""
    import z3  # type: ignore[import-untyped]

    order = _variables(claim, domain)
    limits = [(variable, *_limits(variable, domain)) for variable in order]
    bits = _has_bits(claim)
    writer: _Integers = _Bits(z3) if bits else _Integers(z3)
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    try:
        for variable, low, high in limits:
            name = writer.variable(variable.name)
            if bits:
                solver.add(name >= -BIT_LIMIT, name < BIT_LIMIT)
            solver.add(name >= writer.expr(low))
            if high is not None:
                solver.add(name <= writer.expr(high))
        assumed = list(writer.defined)
        writer.defined.clear()
        goal = writer.cond(claim)
    except _Untranslatable:
        return None
    solver.add(*assumed)
    solver.add(z3.Not(z3.And(*writer.defined, goal)))
    answer = solver.check()
    if answer == z3.unsat:
        return Proved(BIT_LIMIT if bits else None)
    if answer != z3.sat:
        return None
    model = solver.model()
    values = {
        v.name: writer.number(model.eval(writer.variable(v.name), model_completion=True)) for v in order
    }
    return None if _holds(claim, values) else Counterexample(values)


def _has_bits(part: Any) -> bool:
    own = isinstance(part, Binary) and part.op in ("^", "&", "<<", ">>")
    return own or any(map(_has_bits, children(part)))


class _Untranslatable(Exception):  # noqa: N818 - z3 is not asked then
    """A part of a formula that z3 is not told."""


class _Integers:
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
        """A value of a model."""
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
                return self._called(name, arguments)
            case Binary(op, a, b):
                return self.binary(op, self.expr(a), self.expr(b))
        raise _Untranslatable

    def _called(self, name: str, arguments: tuple[Expr, ...]) -> Any:
        match name, arguments:
            case (("min" | "max"), (a, b)):
                x, y = self.expr(a), self.expr(b)
                return self.z3.If(x <= y if name == "min" else x >= y, x, y)
            case "block", (n, parts, k):
                more = Compare("<", Binary("%", k, parts), Binary("%", n, parts))
                return self.expr(Binary("+", Binary("//", n, parts), Choose(more, Const(1), Const(0))))
            case "block_start", (n, parts, k):
                rest = Called("min", (k, Binary("%", n, parts)))
                return self.expr(Binary("+", Binary("*", k, Binary("//", n, parts)), rest))
        raise _Untranslatable

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


class _Bits(_Integers):
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
        truncated, rest = a / b, z3.SRem(a, b)
        inexact = z3.And(rest != 0, (rest < 0) != (b < 0))
        quotient = z3.If(inexact, truncated - 1, truncated)
        return quotient if op in ("/", "//") else z3.If(inexact, rest + b, rest)
