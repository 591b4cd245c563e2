"""Proofs of the identities that formulas of grids rely on; wrong ones have counterexamples."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scalatrace.errors import FormulaError
from scalatrace.formula import Const, Expr, Var, evaluate, parse_condition, sub
from scalatrace.formula.domain import Domain
from scalatrace.formula.prove import (
    MAX_PROOF_STEPS,
    Checked,
    Counterexample,
    Proved,
    available,
    prove,
)

needs_z3 = pytest.mark.skipif(not available(), reason="z3 is not installed (extra [prove])")


def grid(*sides: str, loops: tuple[str, ...] = (), sizes: tuple[str, ...] = ()) -> Domain:
    """Sides of at least 1, coordinates within them; loop variables and sizes from 0 and 1 on."""
    domain = Domain()
    one = Const(1)
    lower: dict[Var, Expr] = {Var(side): one for side in sides} | {Var(size): one for size in sizes}
    lower |= {Var(loop): Const(0) for loop in loops}
    domain = Domain(lower, {})
    for side in sides:
        domain = domain.within(Var(side.lower()), Const(0), sub(Var(side), one))
    return domain


PROVED = [
    ("(i*X+x)%X==x", grid("X", loops=("i",))),
    ("(y*X+x)//X==y", grid("X", "Y")),
    ("(n//X)//X==n//(X*X)", grid("X", sizes=("n",))),
    ("block(n,X,x)==n//X+(x<n%X)", grid("X", sizes=("n",))),
    ("((x+1)%X-1)%X==x", grid("X")),  # ring: the neighbour's neighbour
    ("((x+1)%X*Y+y)//Y==(x+1)%X", grid("X", "Y")),  # torus, in coordinates
    ("(((x+1)%X+X-1)%X)*Y+y==x*Y+y", grid("X", "Y")),
    ("(y*X+x)%X==x", grid("X", "Y")),  # transpose
    ("((r^1)^1)==r", Domain({Var("r"): Const(0)})),
    ("((r^4)&4)!=(r&4)", Domain({Var("r"): Const(0)})),
    ("((x*Y+y)*Z+z)//Z==x*Y+y", grid("X", "Y", "Z")),  # three dimensions, in coordinates
    ("min(x,X-1)==x", grid("X")),
]


@needs_z3
@pytest.mark.parametrize(("claim", "domain"), PROVED, ids=[claim for claim, _ in PROVED])
def test_proved(claim: str, domain: Domain) -> None:
    assert isinstance(prove(parse_condition(claim), domain, 10 * MAX_PROOF_STEPS), Proved)


WRONG = [
    ("(i*X+x)%X==x", Domain({Var("X"): Const(1), Var("x"): Const(0), Var("i"): Const(0)}, {})),
    ("(n//X)*X==n", grid("X", sizes=("n",))),
    ("x+1<X", grid("X")),
    ("(x+1)%X!=x", grid("X")),  # a ring of one rank
    ("(r^2)==r+2", Domain({Var("r"): Const(0)})),
    ("n//(X-1)>=0", grid("X", sizes=("n",))),  # divides by zero for X = 1
]


@pytest.mark.parametrize("by_z3", [pytest.param(True, marks=needs_z3), False])
@pytest.mark.parametrize(("claim", "domain"), WRONG, ids=[claim for claim, _ in WRONG])
def test_counterexamples(monkeypatch: pytest.MonkeyPatch, claim: str, domain: Domain, by_z3: bool) -> None:
    """They are confirmed by the evaluator, whoever found them."""
    if not by_z3:
        monkeypatch.setattr("scalatrace.formula.prove.available", lambda: False)
    found = prove(parse_condition(claim), domain)
    assert isinstance(found, Counterexample)
    assert not _holds(claim, found.values)


def _holds(claim: str, values: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(parse_condition(claim), values))
    except FormulaError:  # it divides by zero
        return False


def test_without_z3_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalatrace.formula.prove.available", lambda: False)
    found = prove(parse_condition("(y*X+x)//X==y"), grid("X", "Y"))
    assert isinstance(found, Checked)
    assert found.up_to >= 8
    assert str(found).startswith("checked for variables up to")


def test_functions_that_z3_is_not_told_are_checked() -> None:
    found = prove(parse_condition("log2(1<<k)==k"), Domain({}, {Var("k"): Const(61)}))
    assert isinstance(found, Checked)
    assert found.count == 62


def test_finite_domains_are_checked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalatrace.formula.prove.available", lambda: False)
    domain = Domain({}, {Var("k"): Const(9)})
    assert prove(parse_condition("k<10"), domain) == Checked(9, 10)
