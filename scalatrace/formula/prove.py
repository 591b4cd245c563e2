"""Proofs about formulas for all values of their variables, by z3 where it is installed.

    pip install 'scalatrace[prove]'

Without z3, and where it finds no answer within its limit of work, all values up to a size are checked one by
one. Such a result is `Checked` and says how far it reaches; it never counts as a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scalatrace.errors import FormulaError
from scalatrace.formula.domain import Domain
from scalatrace.formula.evaluate import evaluate
from scalatrace.formula.nodes import (
    Cond,
    Const,
    Expr,
    Var,
)
from scalatrace.formula.parts import variables
from scalatrace.formula.z3_terms import BIT_LIMIT, Bits, Integers, Opaque, Untranslatable, has_bits

__all__ = [
    "Checked",
    "Counterexample",
    "Proof",
    "Proved",
    "available",
    "prove",
    "prove_opaque",
]

MAX_PROOF_STEPS = 10_000_000
"""Work of z3 for one proof, in its units (`rlimit`), a few seconds: the same result on a busy machine."""

MAX_CHECKED = 20_000
"""Combinations of values that are checked one by one, about."""


@dataclass(frozen=True, slots=True)
class Proved:
    """Result: the claim holds for all values of the domain; `limit`: of variables up to it (None: all)."""

    limit: int | None = None

    def __str__(self) -> str:
        return "proved" if self.limit is None else f"proved for variables below {self.limit:,}"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Result: values of the variables for which the claim is false, or has no value."""

    values: Mapping[str, int]

    def __str__(self) -> str:
        return "wrong for " + ", ".join(f"{name} = {value}" for name, value in self.values.items())


@dataclass(frozen=True, slots=True)
class Checked:
    """Result: the claim holds for all values up to a size above the least ones; larger ones are unknown."""

    up_to: int
    count: int

    def __str__(self) -> str:
        return f"checked for variables up to {self.up_to:,} above the least ({self.count:,} cases)"


Proof = Proved | Counterexample | Checked


def available() -> bool:
    """Return whether z3 is installed."""
    from importlib.util import find_spec

    return find_spec("z3") is not None


def prove(claim: Cond, domain: Domain, max_steps: int = MAX_PROOF_STEPS) -> Proof:
    """Return whether a condition holds, and has a value, everywhere in a domain.

    Args:
        claim: the condition.
        domain: limits of the variables; those of none are integers from `Var.least` on.
        max_steps: how much work z3 may do, in its units.
    """
    if available():
        result = _by_z3(claim, domain, max_steps)
        if result is not None:
            return result
    return _one_by_one(claim, domain)


def _variables(claim: Cond, domain: Domain) -> list[Var]:
    """Return all variables of a claim and of their limits, each behind those that its limits mention."""
    found_variables: dict[Var, None] = {}

    def add(variable: Var) -> None:
        for limit in (domain.lower.get(variable), domain.upper.get(variable)):
            for inner in variables(limit) if limit is not None else ():
                if inner != variable:
                    add(inner)
        found_variables.setdefault(variable)

    for variable in (*domain.lower, *domain.upper, *variables(claim)):
        add(variable)
    return list(found_variables)


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
    """Yield the values of the variables, none of them more than `up_to` above its least."""
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


def _by_z3(claim: Cond, domain: Domain, max_steps: int) -> Proof | None:
    """Return the answer of z3; None when it has none."""
    import z3  # type: ignore[import-untyped]

    bits = has_bits(claim)
    writer: Integers = Bits(z3) if bits else Integers(z3)
    try:
        goal = writer.cond(claim)
        goal = z3.And(*writer.defined, goal)
    except Untranslatable:
        return None
    answer = _answer(claim, goal, domain, max_steps, writer)
    return Proved(BIT_LIMIT) if bits and answer == Proved() else answer


def prove_opaque(claim: Cond, domain: Domain, divisors: frozenset[str]) -> Proved | Counterexample | None:
    """Return whether a condition holds wherever its formulas have values, for whatever its functions are.

    Quotients by other names than `divisors`, bit operations and functions are known by their arguments only:
    the same ones have the same value. A counterexample is confirmed by evaluation.

    Returns:
        None when z3 finds neither, or is not installed.
    """
    if not available():
        return None
    import z3

    writer = Opaque(z3, divisors)
    try:
        return _answer(claim, writer.cond(claim), domain, MAX_PROOF_STEPS, writer)
    except Untranslatable:
        return None


def _answer(
    claim: Cond, goal: Any, domain: Domain, max_steps: int, writer: Integers
) -> Proved | Counterexample | None:
    """Return the answer of z3 to whether a goal, which is a claim's, holds everywhere in a domain."""
    import z3

    order = _variables(claim, domain)
    solver = z3.Solver()
    solver.set("rlimit", max_steps)
    writer.defined.clear()
    for variable in order:
        low, high = _limits(variable, domain)
        name = writer.variable(variable.name)
        if isinstance(writer, Bits):
            solver.add(name >= -BIT_LIMIT, name < BIT_LIMIT)
        solver.add(name >= writer.expr(low))
        if high is not None:
            solver.add(name <= writer.expr(high))
    solver.add(*writer.defined)
    if isinstance(writer, Opaque):
        solver.add(*writer.lemmas, *writer.about_logarithms())
    solver.add(z3.Not(goal))
    answer = solver.check()
    if answer == z3.unsat:
        return Proved()
    if answer != z3.sat:
        return None
    model = solver.model()
    values = {
        v.name: writer.number(model.eval(writer.variable(v.name), model_completion=True)) for v in order
    }
    return None if _holds(claim, values) else Counterexample(values)
