"""The sizes that a proof holds for, and the names of formulas as expressions over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from scalatrace.formula import Compare, Cond, Const, Expr, Var, add, format_text, mul, sub
from scalatrace.formula.domain import Domain
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.symbolic.grid import Grid

MAX_RATIOS = 2
"""Ratios of two sides of a grid that proofs distinguish."""

MAX_SIDE = 12
"""Sides of the grids on which places of peers are guessed."""

MAX_SAMPLES = 6
"""Grids on which places of peers are guessed."""

OTHER = "_other"
"""Behind the names of coordinates: those of another member of a communicator."""

__all__ = ["OTHER", "Scenario", "mixed_radix", "scenarios"]


@dataclass(frozen=True, eq=False)
class Scenario:
    """Sizes of grids: sides that are independent, or multiples of the first one.

    Attributes:
        model: that the proofs are about.
        sides: per dimension its size as an expression of the free sides.
        least: smallest value of each free side and of each parameter.
        powers: whether all sides are powers of two.
    """

    model: SymbolicTrace
    sides: tuple[Expr, ...]
    least: dict[str, int]
    powers: bool

    @property
    def grid(self) -> Grid:
        """Any grid of the model, for names."""
        return Grid(self.model.seen[0][0], self.model.column_major)

    @property
    def coords(self) -> tuple[Var, ...]:
        """The coordinates."""
        return tuple(map(Var, self.grid.coords))

    @cached_property
    def nprocs(self) -> Expr:
        """The number of ranks."""
        return reduce(mul, self.sides)

    def rank_of(self, place: Sequence[Expr]) -> Expr:
        """Return the rank at a place."""
        pairs = list(zip(place, self.sides, strict=True))
        return mixed_radix(pairs[::-1] if self.model.column_major else pairs)

    @cached_property
    def names(self) -> dict[str, Expr]:
        """Expressions of the names in formulas."""
        result = dict(zip(self.grid.sizes, self.sides, strict=True))
        return {**result, "P": self.nprocs, "r": self.rank_of(self.coords)}

    @cached_property
    def here(self) -> Substitution:
        """Formulas at a rank's own place."""
        return Substitution(self.names, self.domain)

    def at(self, place: Sequence[Expr]) -> Substitution:
        """Return the substitution of a rank's own place by another place; () leaves it unchanged."""
        return Substitution({v.name: e for v, e in zip(self.coords, place, strict=False)}, self.domain)

    @cached_property
    def domain(self) -> Domain:
        """Limits of sides, parameters and coordinates."""
        lower: dict[Var, Expr] = {Var(name): Const(least) for name, least in self.least.items()}
        upper: dict[Var, Expr] = {}
        for coord, side in zip(self.coords, self.sides, strict=True):
            for one in (coord, Var(coord.name + OTHER)):
                lower[one], upper[one] = Const(0), sub(side, Const(1))
        return Domain(lower, upper)

    @cached_property
    def divisors(self) -> frozenset[str]:
        """Names of sides and coordinates, of which quotients are computed."""
        others = (coord + OTHER for coord in self.grid.coords)
        return frozenset((*self.grid.sizes, *self.grid.coords, *others))

    def inside(self, place: Sequence[Expr]) -> list[Cond]:
        """Return the condition that a place is on the grid."""
        zero = Const(0)
        result: list[Cond] = []
        for own, e, side in zip(self.coords, place, self.sides, strict=True):
            if e != own:
                result += [Compare(">=", e, zero), Compare("<", e, side)]
        return result

    @cached_property
    def samples(self) -> list[Grid]:
        """Small grids of these sizes, the traces' first."""
        grids = [Grid(dims, self.model.column_major) for dims, _ in self.model.seen if self._fits(dims)]
        shapes: Iterator[tuple[int, ...]] = (
            tuple(side for side in dims)
            for n in range(2, MAX_SIDE)
            for dims in ([self._dims(n, skew) for skew in (0, 1)])
        )
        for dims in shapes:
            if all(self._least_side(d) <= side for d, side in enumerate(dims)):
                grids.append(Grid(dims, self.model.column_major))
        return list(dict.fromkeys(grids))[:MAX_SAMPLES]

    def _least_side(self, dimension: int) -> int:
        return min(dims[dimension] for dims, _ in self.model.seen)

    def _dims(self, n: int, skew: int) -> tuple[int, ...]:
        free = {name: n + skew * k for k, name in enumerate(self.free)}
        if self.powers:
            free = dict.fromkeys(self.free, 1 << n - 1)
        evaluated = (Substitution({k: Const(v) for k, v in free.items()}).number(side) for side in self.sides)
        return tuple(side.value for side in evaluated if isinstance(side, Const))

    def _fits(self, dims: Sequence[int]) -> bool:
        given = Substitution({name: Const(side) for name, side in zip(self.grid.sizes, dims, strict=True)})
        return all(given.number(e) == Const(side) for e, side in zip(self.sides, dims, strict=True))

    @property
    def free(self) -> list[str]:
        """The sides that are no multiples of others."""
        return [name for name, side in zip(self.grid.sizes, self.sides, strict=True) if side == Var(name)]

    def __str__(self) -> str:
        texts = []
        for name in self.free:
            same = [name, *(other for other, e in self._others() if e == Var(name))]
            texts.append(f"{' = '.join(same)} >= {self.least[name]}")
        texts += [f"{name} = {format_text(e)}" for name, e in self._others() if not isinstance(e, Var)]
        texts += [f"{name} >= {self.least[name]}" for name in self.model.inputs]
        return ", ".join(texts) + (", powers of two" if self.powers else "")

    def _others(self) -> list[tuple[str, Expr]]:
        pairs = zip(self.grid.sizes, self.sides, strict=True)
        return [(name, side) for name, side in pairs if side != Var(name)]


def mixed_radix(pairs: Sequence[tuple[Expr, Expr]]) -> Expr:
    """Return the number of digits, each with its radix, the most significant first."""
    result: Expr = Const(0)
    for digit, side in pairs:
        result = add(mul(result, side), digit)
    return result


def scenarios(model: SymbolicTrace) -> list[Scenario]:
    """Return the sizes to prove a model for, related as those of the traces.

    Sides that are in the same few ratios in all traces stay so; others are independent.
    """
    names = Grid(model.seen[0][0]).sizes
    shapes = [dims for dims, _ in model.seen]
    powers = all(side & (side - 1) == 0 for dims in shapes for side in dims)
    least = {name: min(dims[d] for dims in shapes) for d, name in enumerate(names)}
    least |= {name: min(inputs[name] for _, inputs in model.seen) for name in model.inputs}
    columns = [_ratios([(dims[0], dims[d]) for dims in shapes]) for d in range(1, len(names))]
    choices: list[tuple[Expr, ...]] = [(Var(names[0]),)]
    for name, ratios in zip(names[1:], columns, strict=True):
        options: list[Expr] = [mul(Var(names[0]), Const(k)) for k in ratios] if ratios else [Var(name)]
        choices = [(*chosen, option) for chosen in choices for option in options]
    return [Scenario(model, sides, least, powers) for sides in choices]


def _ratios(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the ratios of a side to the first one; none when there are too many, or the sizes show none."""
    if len(set(pairs)) < 2 or any(other % first for first, other in pairs):
        return []
    found = sorted({other // first for first, other in pairs})
    firsts = {first for first, _ in pairs}
    return found if len(found) <= MAX_RATIOS and len(firsts) > 1 and len(found) < len(set(pairs)) else []
