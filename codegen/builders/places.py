"""Conditions on a rank's place as a person would write them: `x > 0 && y == Y - 1`.

A set of ranks is a mask over the sample. Its condition is about the ranks that can come to it, the universe:
among those with `x > 0` the last row is `x == X - 1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.builders.sample import Mask, RankSample
from scalatrace.codegen.errors import GenerateError
from scalatrace.formula import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Binary,
    Compare,
    Cond,
    Const,
    Expr,
    Var,
    add,
    all_of,
    either,
    negate,
)

__all__ = ["RankPlaces", "atoms_of"]

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class RankPlaces:
    """Finds conditions; `more` are those that formulas use beyond borders, corners and parities."""

    def __init__(self, sample: RankSample, more: Sequence[Cond]) -> None:
        self.sample = sample
        names = sample.shape.variables()
        pairs = zip(sample.shape.sizes, sample.shape.coords, strict=True)
        atoms: list[Cond] = []
        for size, coord in pairs:
            atoms += _borders(names[coord], names[size])
        atoms += [Compare("==", names["r"], Const(0)), Compare("!=", names["r"], Const(0))]
        last = add(names["P"], Const(-1))
        atoms += [Compare("==", names["r"], last), Compare("<", names["r"], last)]
        atoms += [c for cond in more for c in (cond, opposite(cond))]
        self.atoms = list(dict.fromkeys(atoms))

    def cond(self, ranks: Mask, universe: Mask, otherwise: Cond = TRUE) -> Cond:
        """The condition under which a rank of the universe is one of `ranks`.

        Args:
            otherwise: what holds there, if no simpler condition is found.
        """
        outside = universe & ~ranks
        if not outside.any():
            return TRUE
        if not ranks.any():
            return FALSE
        if (cond := self._conjunction(ranks, outside)) is not None:
            return cond
        if (cond := self._conjunction(outside, ranks)) is not None:
            return opposite(cond)
        cond = self._alternatives(ranks, outside) or otherwise
        if bool(((self.sample.mask(cond) ^ ranks) & universe).any()):
            raise GenerateError(
                "no condition on the rank's coordinates selects the ranks that take part; "
                "use a trace of one size (`scalatrace extrapolate FILE.stx -P N`)"
            )
        return cond

    def _conjunction(self, ranks: Mask, outside: Mask) -> Cond | None:
        """As few atoms as can be that all hold on the ranks, and nowhere among the rest all of them."""
        true = [(atom, mask) for atom in self.atoms if not (ranks & ~(mask := self.sample.mask(atom))).any()]
        chosen: list[tuple[Cond, Mask]] = []
        remaining = outside
        while remaining.any():
            best = min(true, key=lambda atom_mask: int((remaining & atom_mask[1]).sum()), default=None)
            if best is None or not (remaining & ~best[1]).any():
                return None
            chosen.append(best)
            remaining = remaining & best[1]
        for atom_mask in list(chosen):  # what later ones made superfluous
            masks = [mask for atom, mask in chosen if atom != atom_mask[0]]
            remaining = outside
            for mask in masks:
                remaining = remaining & mask
            if masks and not remaining.any():
                chosen.remove(atom_mask)
        order = {atom: n for n, (atom, _) in enumerate((a, None) for a in self.atoms)}
        return all_of(*sorted((atom for atom, _ in chosen), key=order.__getitem__))

    def _alternatives(self, ranks: Mask, outside: Mask) -> Cond | None:
        """A few conjunctions, each for as many of the ranks as can be."""
        alternatives: list[Cond] = []
        remaining = ranks
        while remaining.any():
            if len(alternatives) == MAX_CONJUNCTIONS:
                return None
            best = self._largest(remaining, outside)
            if best is None:
                return None
            alternatives.append(best[0])
            remaining = remaining & ~best[1]
        return either(*alternatives)

    def _largest(self, remaining: Mask, outside: Mask) -> tuple[Cond, Mask] | None:
        """A conjunction of one or two atoms that holds nowhere among the rest, and on many of those left."""
        masks = [(atom, self.sample.mask(atom)) for atom in self.atoms]
        useful = [(atom, mask) for atom, mask in masks if (mask & remaining).any()]
        best: tuple[int, Cond, Mask] | None = None
        for i, (a, first_mask) in enumerate(useful):
            if not (first_mask & outside).any():
                n = int((first_mask & remaining).sum()) * 2
                best = max(best, (n, a, first_mask), key=lambda b: b[0]) if best else (n, a, first_mask)
            for b, second_mask in useful[i + 1 :]:
                joint = first_mask & second_mask
                if not (joint & outside).any() and (n := int((joint & remaining).sum())):
                    cond = all_of(a, b)
                    best = max(best, (n, cond, joint), key=lambda b: b[0]) if best else (n, cond, joint)
        return best and (best[1], best[2])


MAX_CONJUNCTIONS = 4
"""Conjunctions that a condition is made of at most; beyond that the trace's own is taken."""


def _borders(coord: Var, size: Var) -> list[Cond]:
    last = add(size, Const(-1))
    return [
        Compare("==", coord, Const(0)),
        Compare(">", coord, Const(0)),
        Compare("==", coord, last),
        Compare("<", coord, last),
    ]


def opposite(cond: Cond) -> Cond:
    """The opposite, as it would be written: `x > 0` of `x == 0`, `x < X - 1` of `x == X - 1`."""
    match cond:
        case Compare("==", Var() as a, b) if b == Const(0):
            return Compare(">", a, b)
        case Compare("==", Var() as a, b) if _is_last(a, b):
            return Compare("<", a, b)
        case Compare(">", a, b) if b == Const(0):
            return Compare("==", a, b)
        case Compare("<", Var() as a, b) if _is_last(a, b):
            return Compare("==", a, b)
        case Compare(op, a, b):
            return Compare(_OPPOSITE[op], a, b)
        case AllOf(parts):
            return either(*map(opposite, parts))
        case AnyOf(parts):
            return all_of(*map(opposite, parts))
    return negate(cond)


def _is_last(coord: Var, e: Expr) -> bool:
    """Whether an expression is the last place that a coordinate can have."""
    names = {"rank": ("P", "X")}.get(coord.name, (coord.name.upper(),))
    match e:
        case Binary("-", Var(size), b):
            return size in names and b == Const(1)
    return False


def atoms_of(cond: Cond) -> list[Cond]:
    """The comparisons that a condition is made of."""
    match cond:
        case AllOf(parts) | AnyOf(parts):
            return [atom for part in parts for atom in atoms_of(part)]
        case Compare():
            return [cond]
    return []
