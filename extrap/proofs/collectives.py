"""Proofs that all members of a communicator make the same collective calls, whatever the sizes."""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.extrap.grid.model import FamilyRule
from scalatrace.extrap.proofs.halves import Path
from scalatrace.extrap.proofs.prover import Prover
from scalatrace.extrap.proofs.scenario import OTHER
from scalatrace.extrap.proofs.values import Unprovable, loops_of, positive, total
from scalatrace.formula import TRUE, Cond, Expr, Var, all_of, compare, names_in
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
        """Whether all ranks make the calls of a node, equally often."""
        times = loops_of(prover.scenario, path).times()
        return not names_in(times) & set(prover.scenario.grid.coords)

    def require_members(self) -> None:
        """Prove that any two members make equally many calls. Raises Refuted or Unprovable."""
        times = total([(TRUE, loops_of(self.prover.scenario, path).times()) for path in self.paths])
        self._require_same("another member makes as many calls", TRUE, times)

    def require_agreement(self, path: Path) -> None:
        """Prove that any two members of a call name one root, and equally many elements.

        Raises:
            Refuted, Unprovable: they may not.
        """
        loops = loops_of(self.prover.scenario, path)
        runs = all_of(*(positive(row.trips) for row in loops.rows))
        for name in self.agreed:
            param = next((param for param in path[-1].params if param.name == name), None)
            if param is not None:
                value, _ = loops.number(param.field)
                self._require_same(f"another member gives the same {name}", runs, value)

    def _require_same(self, what: str, given: Cond, value: Expr) -> None:
        if not names_in(value) & self._names:
            return
        there = self._other.number(value)
        both = all_of(given, self._other.condition(given))
        self.prover.require(what, both, compare("==", value, there))
