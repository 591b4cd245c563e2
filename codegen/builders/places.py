"""Conditions on a rank's place as a person would write them: `x > 0 && y == Y - 1`.

A set of ranks is a mask over the sample. Its condition is about the ranks that can come to it, the universe:
among those with `x > 0` the last row is `x == X - 1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.builders.sample import GridSample, Mask
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

__all__ = ["PlaceConditions", "atoms_of"]

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class PlaceConditions:
    """Finds conditions; `more` are those that formulas use beyond borders, corners and parities."""

    def __init__(self, sample: GridSample, more: Sequence[Cond]) -> None:
        self.sample = sample
        names = sample.shape.variables()
        pairs = zip(sample.shape.sizes, sample.shape.coords, strict=True)
        found: list[Cond] = []
        for size, coord in pairs:
            found += _borders(names[coord], names[size])
        found += [Compare("==", names["r"], Const(0)), Compare("!=", names["r"], Const(0))]
        last = add(names["P"], Const(-1))
        found += [Compare("==", names["r"], last), Compare("<", names["r"], last)]
        found += [c for cond in more for c in (cond, opposite(cond))]
        self.atoms = list(dict.fromkeys(found))

    def cond(self, ranks: Mask, universe: Mask, otherwise: Cond = TRUE) -> Cond:
        """The condition under which a rank of the universe is one of `ranks`.

        Args:
            otherwise: what holds there, if no simpler condition is found.
        """
        rest = universe & ~ranks
        if not rest.any():
            return TRUE
        if not ranks.any():
            return FALSE
        if (result := self._conjunction(ranks, rest)) is not None:
            return result
        if (result := self._conjunction(rest, ranks)) is not None:
            return opposite(result)
        result = self._alternatives(ranks, rest) or otherwise
        if bool(((self.sample.mask(result) ^ ranks) & universe).any()):
            raise GenerateError(
                "no condition on the rank's coordinates selects the ranks that take part; "
                "use a trace of one size (`scalatrace instantiate`)"
            )
        return result

    def _conjunction(self, ranks: Mask, rest: Mask) -> Cond | None:
        """As few atoms as can be that all hold on the ranks, and nowhere among the rest all of them."""
        true = [(atom, mask) for atom in self.atoms if not (ranks & ~(mask := self.sample.mask(atom))).any()]
        chosen: list[tuple[Cond, Mask]] = []
        left = rest
        while left.any():
            best = min(true, key=lambda one: int((left & one[1]).sum()), default=None)
            if best is None or not (left & ~best[1]).any():
                return None
            chosen.append(best)
            left = left & best[1]
        for one in list(chosen):  # what later ones made superfluous
            others = [mask for atom, mask in chosen if atom != one[0]]
            left = rest
            for mask in others:
                left = left & mask
            if others and not left.any():
                chosen.remove(one)
        order = {atom: n for n, (atom, _) in enumerate((a, None) for a in self.atoms)}
        return all_of(*sorted((atom for atom, _ in chosen), key=order.__getitem__))

    def _alternatives(self, ranks: Mask, rest: Mask) -> Cond | None:
        """A few conjunctions, each for as many of the ranks as can be."""
        found: list[Cond] = []
        left = ranks
        while left.any():
            if len(found) == MAX_CONJUNCTIONS:
                return None
            best = self._largest(left, ranks, rest)
            if best is None:
                return None
            found.append(best[0])
            left = left & ~best[1]
        return either(*found)

    def _largest(self, left: Mask, ranks: Mask, rest: Mask) -> tuple[Cond, Mask] | None:
        """A conjunction of one or two atoms that holds nowhere among the rest, and on many of those left."""
        masks = [(atom, self.sample.mask(atom)) for atom in self.atoms]
        useful = [(atom, mask) for atom, mask in masks if (mask & left).any()]
        best: tuple[int, Cond, Mask] | None = None
        for i, (a, one) in enumerate(useful):
            if not (one & rest).any():
                n = int((one & left).sum()) * 2
                best = max(best, (n, a, one), key=lambda b: b[0]) if best else (n, a, one)
            for b, other in useful[i + 1 :]:
                both = one & other
                if not (both & rest).any() and (n := int((both & left).sum())):
                    cond = all_of(a, b)
                    best = max(best, (n, cond, both), key=lambda b: b[0]) if best else (n, cond, both)
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
