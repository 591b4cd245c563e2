"""Sizes of the grids that a program can run on, as far as its traces show."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from scalatrace.extrap.errors import InputError
from scalatrace.extrap.grid.target import target_grid
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["grids_like"]


def grids_like(seen: Sequence[Grid], nprocs: int, target: Grid | None = None) -> list[Grid]:
    """Return grids shaped like those of the traces, from the smallest trace's to `nprocs` ranks, in order.

    Where all sides of the traces' grids are powers of two, or multiples of a number, so are these.

    Args:
        target: another grid that the program runs on.
    """
    known = [*seen, *(() if target is None else (target,))]
    sides = [side for grid in known for side in grid.dims]
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
