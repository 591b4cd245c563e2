"""Peers of one call site in a loop over the neighbours of a rank: those inside the grid, in one order.

A rank at a border has a shorter list. The k-th peer is in the k-th direction that leads to a rank of the
grid. So the directions and their order, which all ranks confirm together, give the lists on any grid. Counts
of the same calls may differ from direction to direction: those of faces, edges and corners.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.fit.fit_types import MAX_INDEXED_VALUES, PER_PART, Class, FitInput
from scalatrace.extrap.fit.sequences import list_values
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.solve.points import Solution
from scalatrace.formula import Cond, Const, Expr, Var, format_text, parse_number
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.symbolic.field import ELEMENTS, EVERYWHERE, LOOPED, Field, Part
from scalatrace.trace.symbolic.shapes import is_vec

Direction = tuple[int, ...]

MAX_STEP = 2
"""Steps along a dimension that lead to a neighbour at most."""

MAX_DIRECTIONS = 26

__all__ = ["by_neighbours", "fit_neighbour_arrays"]


def by_neighbours(
    fit_input: FitInput, conditions: tuple[Cond, ...], points: Ints, counts: FitInput | None = None
) -> Class | None:
    """Fit the class as relative peers that are a list of neighbours in each iteration.

    Args:
        fit_input: the peers.
        counts: another parameter of the same calls, of which the class is to be; the peers' unless given.
    """
    space = fit_input.space
    rows = _lists(fit_input, points)
    if rows is None or len(set(map(len, rows))) < 2:
        return None  # lists of one length have simpler formulas
    listed = _listed_directions(space, points, rows)
    if listed is None:
        return None
    order, directions = listed
    rivals: list[Rival] = []
    texts = {direction: _distance(space, direction) for direction in order}
    if counts is not None:
        solved = _by_direction(counts, points, directions)
        if solved is None:
            return None
        texts = {
            direction: format_text(own_directions.formula) for direction, own_directions in solved.items()
        }
        rivals = [pair for own_directions in solved.values() for pair in own_directions.pairs]
    formula = _formula(space, order, texts, "i1")
    weight = PER_PART + 2.0 * len(order)
    return Class(conditions, points, LOOPED, (Const(1), formula), weight, rivals=tuple(rivals))


def fit_neighbour_arrays(space: Space, arrays: Mapping[int, IntArray]) -> Field | None:
    """Return the field of arrays of the neighbours inside the grid, in one order; None for others."""
    points = np.array(sorted(arrays), dtype=np.int64)
    rows = []
    for point, rank in zip(points.tolist(), space.columns["r"][points].tolist(), strict=True):
        array = arrays[point]
        if array.relative or array.summed or array.length > MAX_DIRECTIONS:
            return None
        rows.append(tuple(value - rank for value in array.vec.first(array.length)))
    if len(set(map(len, rows))) < 2 or (listed := _listed_directions(space, points, rows)) is None:
        return None
    order, _ = listed
    distances = {direction: _distance(space, direction) for direction in order}
    length = parse_number("+".join(f"({present})" for present in _present(space, order)))
    element = Var("r") + _formula(space, order, distances, "i")
    return Field((Part(EVERYWHERE, ELEMENTS, (Const(0), length, element)),))


def _listed_directions(
    space: Space, points: Ints, rows: Sequence[Sequence[int]]
) -> tuple[list[Direction], list[list[Direction]]] | None:
    """Return the order of all directions, and the directions of each rank; None if lists follow no order."""
    places = np.array([space.columns[name][points] for name in space.names.coords]).T
    runs = space.all_runs()[points]
    directions = []
    for place, run, row in zip(places, runs, rows, strict=True):
        own_directions = _directions(space, int(run), place, row)
        if own_directions is None:
            return None
        directions.append(own_directions)
    order = _order(directions)
    if order is None or len(order) < 2 or not _seen_in_several_runs(order, directions, runs):
        return None
    for place, run, own_directions in zip(places, runs, directions, strict=True):
        if own_directions != [d for d in order if _inside(space, int(run), place, d)]:
            return None
    return order, directions


def _by_direction(
    counts: FitInput, points: Ints, directions: Sequence[Sequence[Direction]]
) -> dict[Direction, Solution] | None:
    """The formula of each direction, over all ranks with a neighbour there; None: one has no formula."""
    rows = _lists(counts, points)
    if rows is None or list(map(len, rows)) != list(map(len, directions)):
        return None
    values: dict[Direction, dict[int, int]] = {}
    for point, row, own_directions in zip(points.tolist(), rows, directions, strict=True):
        for direction, value in zip(own_directions, row, strict=True):
            values.setdefault(direction, {})[point] = value
    result = {}
    for direction, by_point in values.items():
        over = counts.space.points(np.array(list(by_point), dtype=np.int64))
        solution = over.solve(np.array(list(by_point.values()), dtype=np.int64))
        if solution is None or min(by_point.values()) < 0:
            return None
        result[direction] = solution
    return result


def _lists(fit_input: FitInput, points: Ints) -> list[tuple[int, ...]] | None:
    """Return the values of each rank in one execution of the innermost loop, the same in all of them."""
    result = []
    for value, chain in zip(fit_input.of(points), fit_input.around(points), strict=True):
        if value is None or chain is None or not is_vec(value.shape) or chain.repeat.constant is None:
            return None
        width = chain.repeat.constant
        if not 0 < width <= MAX_DIRECTIONS or value.times != chain.runs or value.times > MAX_INDEXED_VALUES:
            return None
        row = list_values(value, value.times)
        if row[width:] != row[:-width]:
            return None
        result.append(row[:width])
    return result


def _directions(space: Space, run: int, place: Ints, row: Sequence[int]) -> list[Direction] | None:
    """Return the steps in each dimension to the ranks at these distances; None: one is outside, or far."""
    grid = space.runs[run].grid
    rank = grid.rank(place.tolist())
    result = []
    for distance in row:
        if not 0 <= rank + distance < grid.nprocs:
            return None
        there = grid.place(rank + distance)
        step = tuple(there[name] - int(here) for name, here in zip(grid.coords, place, strict=True))
        if not any(step) or max(map(abs, step)) > MAX_STEP:
            return None
        result.append(step)
    return result


def _order(lists: Sequence[Sequence[Direction]]) -> list[Direction] | None:
    """Return all directions in the order that the lists have; None if they show none, or several."""
    after: dict[Direction, set[Direction]] = {}
    for directions in lists:
        if len(set(directions)) != len(directions):
            return None
        for k, direction in enumerate(directions):
            after.setdefault(direction, set()).update(directions[:k])
    try:
        order = list(TopologicalSorter(after).static_order())
    except CycleError:
        return None
    return order if all(one in after[then] for one, then in pairwise(order)) else None


def _seen_in_several_runs(
    order: Sequence[Direction], lists: Sequence[Sequence[Direction]], runs: Ints
) -> bool:
    seen: dict[Direction, set[int]] = {direction: set() for direction in order}
    for one, run in zip(lists, runs.tolist(), strict=True):
        for direction in one:
            seen[direction].add(run)
    return all(len(found) > 1 for found in seen.values())


def _inside(space: Space, run: int, place: Ints, direction: Direction) -> bool:
    dims = space.runs[run].grid.dims
    return all(0 <= c + d < side for c, d, side in zip(place.tolist(), direction, dims, strict=True))


def _formula(space: Space, order: Sequence[Direction], given: Mapping[Direction, str], number: str) -> Expr:
    """Return a formula of the number of a neighbour in the list: the formula of its direction."""
    present = _present(space, order)
    terms = []
    for k, direction in enumerate(order):
        before = "+".join(f"({one})" for one in present[:k]) or "0"
        terms.append(f"({given[direction]})*({present[k]})*({number}=={before})")
    return parse_number("+".join(terms))


def _present(space: Space, order: Sequence[Direction]) -> list[str]:
    """Return for each direction the formula that is 1 where a neighbour is there, else 0."""
    return ["*".join(_conditions(space, direction)) for direction in order]


def _conditions(space: Space, direction: Direction) -> Iterator[str]:
    for c, size, step in zip(space.names.coords, space.names.sizes, direction, strict=True):
        if step < 0:
            yield f"({c}>{-step - 1})"
        elif step > 0:
            yield f"({c}<{size}-{step})"


def _distance(space: Space, direction: Direction) -> str:
    """Return the distance in ranks of steps in each dimension."""
    sizes = space.names.sizes
    fastest_first = range(len(sizes)) if space.runs[0].grid.column_major else range(len(sizes) - 1, -1, -1)
    terms, stride = [], ""
    for axis in fastest_first:
        if direction[axis]:
            terms.append(f"{direction[axis]}{stride}")
        stride += f"*{sizes[axis]}"
    return "+".join(terms).replace("+-", "-")
