"""Prover with a cache of answers and a time limit."""

from __future__ import annotations

from time import monotonic

from scalatrace.extrap.proofs.scenario import Scenario
from scalatrace.extrap.proofs.values import Unprovable
from scalatrace.formula import TRUE, Cond, Truth, either, negate
from scalatrace.formula.prove import Counterexample, Proved, prove_opaque

OUT_OF_TIME = "time is up"
"""Why claims are not proved after the deadline."""

__all__ = ["OUT_OF_TIME", "Prover", "Refuted"]


class Refuted(Exception):  # noqa: N818 - formulas that hold nowhere near are dropped
    """Internal signal: a claim is wrong for some sizes and places."""

    def __init__(self, what: str, found: Counterexample) -> None:
        super().__init__(what)
        self.found = found


class Prover:
    """Prover of claims for all sizes of a scenario.

    Args:
        deadline: by the monotonic clock; no proof begins later.
    """

    def __init__(self, scenario: Scenario, deadline: float) -> None:
        self.scenario, self.deadline = scenario, deadline
        self._known: dict[Cond, Proved | Counterexample | None] = {}

    def holds(self, given: Cond, goal: Cond) -> Proved | Counterexample | None:
        """Return whether a condition implies a goal; None: unknown."""
        claim = either(negate(given), goal)
        if claim == TRUE:
            return Proved()
        if claim not in self._known:
            self.require_time()
            self._known[claim] = prove_opaque(claim, self.scenario.domain, self.scenario.divisors)
        return self._known[claim]

    def is_over(self) -> bool:
        """Return whether the deadline has passed."""
        return monotonic() >= self.deadline

    def require_time(self) -> None:
        """Raise Unprovable when the deadline has passed: to prepare a claim takes time, too."""
        if self.is_over():
            raise Unprovable(OUT_OF_TIME)

    def require(self, what: str, given: Cond, goal: Cond) -> None:
        """Prove a claim. Raises Refuted or Unprovable, both with `what` in words."""
        if isinstance(given, Truth) and not given.value:
            return
        found = self.holds(given, goal)
        if isinstance(found, Counterexample):
            raise Refuted(what, found)
        if found is None:
            raise Unprovable(f"no proof was found that {what}")
