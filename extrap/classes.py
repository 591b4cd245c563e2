"""Classes of ranks with alike values: for each class one shape, and a formula per integer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from extrap.shapes import Parts, vec_from
from extrap.space import Space
from scalatrace.trace.symbolic import CYCLE, INDEXED, Shape

Ints = np.ndarray[Any, np.dtype[np.int64]]

LONGEST_CYCLE = 64
"""Values that a cycle has at most."""

MOST_INDEXED = 1 << 18
"""Values of a class that are looked at one by one."""

PER_PART = 3.0
"""What a further part of a field costs, in weights of formulas."""

__all__ = ["PER_PART", "Class", "classes_of", "merged", "rows_of"]


@dataclass(frozen=True, slots=True)
class Class:
    """A part while it is sought: its points, and what all its formulas weigh together."""

    conditions: tuple[str, ...]
    points: Ints
    shape: Shape
    formulas: tuple[str, ...] | None
    weight: float


def classes_of(
    space: Space, partition: Sequence[tuple[str, Ints]], position: Ints, values: Sequence[Parts | None]
) -> list[Class] | None:
    found = []
    for condition, points in partition:
        points = points[position[points] >= 0]
        if not len(points):
            continue
        one = _fitted(space, (condition,), points, [values[i] for i in position[points]])
        if one is None:
            return None
        found.append(one)
    return found


def _fitted(
    space: Space,
    conditions: tuple[str, ...],
    points: Ints,
    values: Sequence[Parts | None],
    indexed: bool = True,
) -> Class | None:
    """The class of these points, if one shape and a formula per integer serve all.

    `indexed`: whether formulas over the number of an execution are looked for; that takes longest.
    """
    first = values[0]
    if first is None or any(value is None or value.shape != first.shape for value in values):
        if all(value is None for value in values):
            return Class(conditions, points, None, None, 0)
        return _otherwise(space, conditions, points, values, indexed)
    table = np.array([value.slots for value in values if value is not None], dtype=np.int64)
    over = space.points(points)
    formulas, weight = [], 0.0
    for column in table.T:
        solution = over.solve(np.ascontiguousarray(column))
        if solution is None:
            return _otherwise(space, conditions, points, values, indexed)
        formulas.append(solution.text)
        weight += solution.weight
    return Class(conditions, points, first.shape, tuple(formulas), weight)


def _otherwise(
    space: Space, conditions: tuple[str, ...], points: Ints, values: Sequence[Parts | None], indexed: bool
) -> Class | None:
    """The class by the values themselves, where vecs look different from rank to rank."""
    given = [v for v in values if v is not None]
    if len(given) < len(values) or any(v.times < 1 or not _is_vec(v.shape) for v in given):
        return None
    found = _by_cycle(space, conditions, points, given)
    return _by_index(space, conditions, points, given) if found is None and indexed else found


def _by_cycle(
    space: Space, conditions: tuple[str, ...], points: Ints, values: Sequence[Parts]
) -> Class | None:
    """The class as one of vecs that repeat the same few values: the neighbours in a loop over them."""
    if sum(v.times for v in values) > MOST_INDEXED:
        return None
    rows = rows_of(values)
    if rows is None:
        return None
    over = space.points(points)
    found = [over.solve(np.array(column, dtype=np.int64)) for column in zip(*rows, strict=True)]
    if any(solution is None for solution in found):
        return None
    weight = sum(solution.weight for solution in found if solution is not None)
    texts = tuple(solution.text for solution in found if solution is not None)
    return Class(conditions, points, CYCLE, texts, weight + 0.5)


def rows_of(values: Sequence[Parts]) -> list[tuple[int, ...]] | None:
    """The few values that each vec repeats, as many for all.

    They are as many as belong to one execution of what is around, or in a loop with other calls as few as do.
    """
    width = values[0].width
    known = {value: vec_from(value.shape, iter(value.slots)).first(value.times) for value in values}
    if width < 2 or any(v.width != width or v.times % width for v in values):
        width = max(map(_period, known.values()))
    if width < 2 or width > LONGEST_CYCLE:
        return None
    for listed in known.values():
        if len(listed) < width or listed[width:] != listed[:-width]:
            return None
    return [known[value][:width] for value in values]


@lru_cache(maxsize=1 << 12)
def _period(listed: tuple[int, ...]) -> int:
    """The fewest values that the others repeat; all of them when they are not repeated."""
    for width in range(1, min(LONGEST_CYCLE, len(listed) - 1) + 1):
        if listed[width:] == listed[:-width]:
            return width
    return len(listed)


def _by_index(
    space: Space, conditions: tuple[str, ...], points: Ints, values: Sequence[Parts]
) -> Class | None:
    """The class as one of vecs whose values follow their number: 1 2 4 8, or round robin."""
    lengths = np.array([v.times for v in values], dtype=np.int64)
    if lengths.sum() > MOST_INDEXED or lengths.max() < 2:
        return None
    length = space.points(points).solve(lengths)
    if length is None:
        return None
    listed = [vec_from(v.shape, iter(v.slots)).first(v.times) for v in values]
    index = np.concatenate([np.arange(n) for n in lengths])
    flat = np.concatenate([np.array(row, dtype=np.int64) for row in listed])
    value = space.solve_indexed(np.repeat(points, lengths), index, flat)
    if value is None:
        return None
    return Class(
        conditions, points, INDEXED, (length.text, value.text), length.weight + value.weight + PER_PART
    )


def _is_vec(shape: Shape) -> bool:
    """Whether a shape is of integers only, as a vec's is."""
    return shape is None or (isinstance(shape, tuple) and all(map(_is_vec, shape)))


def merged(
    space: Space, classes: Sequence[Class], position: Ints, values: Sequence[Parts | None]
) -> list[Class]:
    """Classes that the same formulas serve, made one."""
    groups: list[Class] = []
    for one in classes:
        for i, group in enumerate(groups):
            both = _union(space, group, one, position, values)
            if both is not None:
                groups[i] = both
                break
        else:
            groups.append(one)
    return groups


def _union(space: Space, a: Class, b: Class, position: Ints, values: Sequence[Parts | None]) -> Class | None:
    if (a.formulas is None) != (b.formulas is None) or (
        a.shape != b.shape and not {INDEXED, CYCLE} & {a.shape, b.shape}
    ):
        return None
    points = np.sort(np.concatenate([a.points, b.points]))
    if a.formulas == b.formulas and a.shape == b.shape:
        return Class(a.conditions + b.conditions, points, a.shape, a.formulas, a.weight)
    conditions, some = a.conditions + b.conditions, [values[i] for i in position[points]]
    both = _fitted(space, conditions, points, some, INDEXED in (a.shape, b.shape))
    if both is None or both.weight > max(a.weight, b.weight) + 1e-9:
        return None
    return both
