"""Sizes to check, and sizes to record next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from scalatrace.extrap.errors import InputError, UndeterminedError
from scalatrace.extrap.fit.undetermined.rivals import differing
from scalatrace.extrap.grid.target import target_grid
from scalatrace.trace.symbolic.grid import Grid

MAX_TIMES, MAX_SUGGESTED = 4, 5
"""How much larger than the largest trace a suggested size is at most; how many are suggested."""

MAX_MORE = 8
"""How much larger a parameter is that may tell two formulas apart."""

__all__ = ["MAX_SUGGESTED", "deciding", "deciding_input", "grids_like", "instructive"]


def grids_like(seen: Sequence[Grid], nprocs: int) -> list[Grid]:
    """The grids made as those of the traces were, from the smallest trace's to `nprocs` ranks, in order.

    Where all sides of the traces' grids are powers of two, or multiples of a number, so are these.
    """
    sides = [side for grid in seen for side in grid.dims]
    powers, step = all(map(_is_power, sides)), gcd(*sides)
    result = []
    for n in range(min(grid.nprocs for grid in seen), nprocs + 1):
        try:
            grid = target_grid(seen, n)
        except InputError:
            continue
        if all(_is_power(side) if powers else side % step == 0 for side in grid.dims):
            result.append(grid)
    return result


def _is_power(side: int) -> bool:
    return side & (side - 1) == 0


def deciding(seen: Sequence[Grid], error: UndeterminedError, inputs: Mapping[str, int]) -> Iterator[Grid]:
    """The sizes at which two formulas differ that the traces cannot tell apart, the smallest first."""
    for grid in _candidates(seen):
        if bool(differing(error.formula, error.rival, {**grid.columns, **inputs}).any()):
            yield grid


def deciding_input(
    seen: Sequence[Grid], error: UndeterminedError, inputs: Mapping[str, int]
) -> tuple[Grid, str, int] | None:
    """The smallest of the traces' sizes, and a parameter with its value, at which the two formulas differ.

    A problem that leaves a remainder on few ranks tells as much as a run on more ranks.
    """
    for grid in sorted(seen, key=lambda grid: grid.nprocs):
        for name, value in inputs.items():
            for more in range(1, MAX_MORE + 1):
                there = {**grid.columns, **inputs, name: value + more}
                if bool(differing(error.formula, error.rival, there).any()):
                    return grid, name, value + more
    return None


def instructive(seen: Sequence[Grid]) -> Iterator[Grid]:
    """Sizes with a side that no trace has, the smallest first; then all others that no trace has."""
    known = [{grid.dims[d] for grid in seen} for d in range(len(seen[0].dims))]

    def is_known(grid: Grid) -> bool:
        return all(side in sides for side, sides in zip(grid.dims, known, strict=True))

    yield from sorted(_candidates(seen), key=lambda grid: (is_known(grid), grid.nprocs))


def _candidates(seen: Sequence[Grid]) -> list[Grid]:
    limit = MAX_TIMES * max(grid.nprocs for grid in seen)
    dims = {grid.dims for grid in seen}
    least = min(min(grid.dims) for grid in seen)  # smaller sides may hide what others have
    return [grid for grid in grids_like(seen, limit) if grid.dims not in dims and min(grid.dims) >= least]
