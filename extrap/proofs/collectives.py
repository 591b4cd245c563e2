"""Proofs that all members of a communicator make the same collective calls, for all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from scalatrace.extrap.grid.model import FamilyRule
from scalatrace.extrap.proofs.halves import Path
from scalatrace.extrap.proofs.prover import Prover
from scalatrace.extrap.proofs.scenario import OTHER
from scalatrace.extrap.proofs.values import Unprovable, loops_of, renamed, total
from scalatrace.formula import TRUE, Cond, Expr, Var, all_of, compare, names_in
from scalatrace.formula.prove import Proved
from scalatrace.formula.substitute import Substitution

__all__ = ["Collectives"]


class Collectives:
    """The calls of one collective operation on one communicator (and window or file)."""

    def __init__(
        self, prover: Prover, family: FamilyRule, paths: Sequence[Path], agreed: Sequence[str]
    ) -> None:
        if family.slices is None and any(not self._by_all(prover, path) for path in paths):
            raise Unprovable("its communicator is no slice of the grid")
        self.prover, self.paths, self.agreed = prover, paths, agreed
        names = [
            prover.scenario.grid.coords[axis] for axis in family.slices or range(len(prover.scenario.sides))
        ]
        self._other = Substitution({name: Var(name + OTHER) for name in names})
        self._names = set(names)

    @staticmethod
    def _by_all(prover: Prover, path: Path) -> bool:
        """Return whether all ranks make the calls of a node, equally often."""
        times = loops_of(prover.scenario, path).times()
        return not names_in(times) & set(prover.scenario.grid.coords)

    def require_members(self) -> None:
        """Prove that any two members make equally many calls. Raises Refuted or Unprovable."""
        if not self._is_in_step:
            times = total([(TRUE, loops_of(self.prover.scenario, path).times()) for path in self.paths])
            self._require_same("another member makes as many calls", TRUE, times, TRUE, times)

    def require_agreement(self, path: Path) -> None:
        """Prove that any two members of a call name one root, and equally many elements.

        Where all members make the same calls in the same order, they are compared with each other, else all
        with all.

        Raises:
            Refuted, Unprovable: they may not.
        """
        for other in [path] if self._is_in_step else self.paths:
            for name in self.agreed:
                runs, value = self._value(path, name)
                there, others = self._value(other, name)
                if value is None or others is None:
                    continue
                if not self._is_in_step:
                    by = renamed(names_in(there, others))
                    there, others = by.condition(there), by.number(others)
                self._require_same(f"another member gives the same {name}", runs, value, there, others)

    def _value(self, path: Path, name: str) -> tuple[Cond, Expr | None]:
        """When a call is made, and a parameter of it."""
        loops = loops_of(self.prover.scenario, path)
        param = next((param for param in path[-1].params if param.name == name), None)
        return loops.active(), None if param is None else loops.number(param.field)[0]

    @cached_property
    def _is_in_step(self) -> bool:
        """Whether all members make each of the calls, equally often in each iteration of the loops around."""
        trips = (row.trips for path in self.paths for row in loops_of(self.prover.scenario, path).rows)
        return all(
            isinstance(self.prover.holds(TRUE, compare("==", e, self._other.number(e))), Proved)
            for e in trips
            if names_in(e) & self._names
        )

    def _require_same(self, what: str, given: Cond, value: Expr, there: Cond, others: Expr) -> None:
        """Prove that a value is that of another member, wherever both have one."""
        others, there = self._other.number(others), self._other.condition(there)
        if value != others:
            self.prover.require(what, all_of(given, there), compare("==", value, others))
