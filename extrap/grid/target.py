"""Grids of extrapolated traces: their choice, whether the traces show their consequences, their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from scalatrace.extrap.errors import AmbiguousGridError, InputError, UnseenSideError
from scalatrace.trace.symbolic.grid import Grid, balanced
from scalatrace.trace.values.ranklist import MAX_RANK

__all__ = ["check_dimensions", "check_sides", "grids_like", "target_grid"]

MIN_EQUAL_SIDES = 3
"""Number of grids that must have a side in common, before only the others grow."""


def target_grid(grids: Sequence[Grid], nprocs: int, dims: Sequence[int] | None = None) -> Grid:
    """Return the grid of `nprocs` ranks with these sides, or with sides chosen like those of the inputs.

    Raises:
        InputError: there is none, or none follows from the inputs; the user has to give it.
    """
    if not 0 < nprocs <= MAX_RANK:
        raise InputError(f"{nprocs:,} ranks: can be 1 to {MAX_RANK:,}")
    grid = Grid(tuple(dims), grids[0].column_major) if dims else _like(grids, nprocs)
    if grid.nprocs != nprocs:
        raise InputError(f"a grid of {grid} has {grid.nprocs} ranks, not {nprocs}")
    return grid


def check_dimensions(grid: Grid, ndims: int) -> None:
    """Raise InputError where a grid has another number of dimensions than the traces."""
    if len(grid.dims) != ndims:
        raise InputError(f"the traces are of a {ndims}-dimensional grid; {grid} is not")


def check_sides(grid: Grid, seen: Sequence[tuple[int, ...]]) -> None:
    """Raise UnseenSideError where no trace shows what follows from a side of the grid.

    Args:
        seen: the sides of the traces' grids.
    """
    for name, side, *sides in zip(grid.sizes, grid.dims, *seen, strict=True):
        _check_side(name, side, sides, grid)


def _check_side(name: str, side: int, seen: Sequence[int], grid: Grid) -> None:
    """Raise UnseenSideError where no trace shows what follows from a side of the grid."""
    if side == 1 and len(grid.dims) > 1 and 1 not in seen:
        raise UnseenSideError(f"a grid of {grid} has {name} = 1: no trace shows what borders do there")
    if len(set(seen)) == 1 and side != seen[0]:
        raise UnseenSideError(
            f"all traces have {name} = {seen[0]}, a grid of {grid} has {side}: none shows what follows "
            f"from {name}"
        )
    if all((size - seen[0]) % 2 == 0 for size in seen) and (side - seen[0]) % 2:
        seen_parity, parity = ("odd", "even") if seen[0] % 2 else ("even", "odd")
        raise UnseenSideError(
            f"{name} is {seen_parity} in all traces and {parity} on a grid of {grid}: programs may do "
            "something else there"
        )


def _like(grids: Sequence[Grid], nprocs: int) -> Grid:
    """Return the grid of so many ranks that is made as those of the inputs were.

    Raises:
        InputError: none is; the user has to say it.
    """
    ndims, column_major = len(grids[0].dims), grids[0].column_major
    if ndims == 1:
        return Grid((nprocs,))
    if all(len(set(grid.dims)) == 1 for grid in grids):
        side = round(nprocs ** (1 / ndims))
        if side**ndims == nprocs:
            return Grid((side,) * ndims, column_major)
        raise InputError(
            f"all traces are of {'squares' if ndims == 2 else 'cubes'} of ranks; {nprocs} is none. "
            f"Give -P as one, or --dims"
        )
    by_rules = _balanced_sides(grids, nprocs), _with_fixed_sides(grids, nprocs)
    candidates = [Grid(sides, column_major) for sides in by_rules if sides is not None]
    if not candidates and (cube := _cube(grids, nprocs)) is not None:
        return Grid(cube, column_major)
    if len({grid.dims for grid in candidates}) > 1:
        raise AmbiguousGridError(
            f"the traces' grids ({', '.join(map(str, grids))}) follow two rules, which give "
            f"{' and '.join(map(str, candidates))} for {nprocs} ranks: give the one of the result with --dims"
        )
    if candidates:
        return candidates[0]
    raise AmbiguousGridError(
        f"the traces' grids ({', '.join(map(str, grids))}) follow no rule for {nprocs} ranks: "
        "give the one of the result with --dims"
    )


def _balanced_sides(grids: Sequence[Grid], nprocs: int) -> tuple[int, ...] | None:
    """Return the sides that MPI_Dims_create gives, in the order of the grids; None: those are other ones."""
    ndims = len(grids[0].dims)
    for rule in (balanced, lambda n, d: balanced(n, d)[::-1]):
        if all(grid.dims == rule(grid.nprocs, ndims) for grid in grids):
            return rule(nprocs, ndims)
    return None


def _cube(grids: Sequence[Grid], nprocs: int) -> tuple[int, ...] | None:
    """Return the sides of a cube, if it is balanced as the grids are in whichever order; None: it is not."""
    ndims = len(grids[0].dims)
    cube = balanced(nprocs, ndims)
    is_balanced = all(sorted(grid.dims) == sorted(balanced(grid.nprocs, ndims)) for grid in grids)
    return cube if len(set(cube)) == 1 and is_balanced else None


def _with_fixed_sides(grids: Sequence[Grid], nprocs: int) -> tuple[int, ...] | None:
    """Return the sides that all grids have in common, and others made as theirs; None: there are none."""
    seen = list(enumerate(zip(*(grid.dims for grid in grids), strict=True)))
    fixed = {k: sides[0] for k, sides in seen if len(set(sides)) == 1}
    number = prod(fixed.values())
    if not 0 < len(fixed) < len(seen) or len(grids) < MIN_EQUAL_SIDES or nprocs % number:
        return None
    reduced = [Grid(tuple(side for k, side in enumerate(grid.dims) if k not in fixed)) for grid in grids]
    try:
        free_sides = iter(_like(reduced, nprocs // number).dims)
    except InputError:
        return None
    return tuple(fixed[k] if k in fixed else next(free_sides) for k, _ in seen)


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
    return side.bit_count() == 1
