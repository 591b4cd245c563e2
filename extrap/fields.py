"""One quantity of one node over all ranks of all traces: which ranks have alike values, by which formulas.

A field is a list of parts: a condition on a rank's place, and a shape with a formula per integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from extrap.errors import ExtrapolationError
from extrap.expression import names_of
from extrap.shapes import Parts, Shape, vec_from
from extrap.space import EVERYWHERE, Space

Ints = np.ndarray[Any, np.dtype[np.int64]]

CYCLE = "cycle"
"""Shape of a vec that repeats the same few values; a formula for each."""

LONGEST_CYCLE = 64
"""Values that a cycle has at most."""

INDEXED = "indexed"
"""Shape of a vec that follows a formula over the number `i` of an execution; its formulas: length, value."""

MOST_INDEXED = 1 << 18
"""Values of a class that are looked at one by one."""

PER_PART = 3.0
"""What a further part of a field costs, in weights of formulas."""

PER_RANK = 40.0
"""What it costs when a formula has another value on each rank: the trace then holds one per rank."""

__all__ = ["Field", "Part", "fit"]


@dataclass(frozen=True, slots=True)
class Part:
    """Ranks where `condition` holds have this shape and these formulas; shape and formulas None: nothing."""

    condition: str
    shape: Shape
    formulas: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Field:
    """The first part whose condition holds counts."""

    parts: tuple[Part, ...]
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class _Class:
    """A part while it is sought: its points, and what all its formulas weigh together."""

    conditions: tuple[str, ...]
    points: Ints
    shape: Shape
    formulas: tuple[str, ...] | None
    weight: float


Samples = Mapping[int, Parts | None]
"""Point -> its value; None: it takes no part. Points that are left out do not matter."""


def fit(space: Space, samples: Samples) -> Field | None:
    """The field through all samples; None when no rule was found."""
    order = np.array(sorted(samples), dtype=np.int64)
    values = [samples[int(point)] for point in order]
    if all(value == values[0] for value in values):
        return Field((_constant(EVERYWHERE, values[0]),))
    position = np.full(int(space.starts[-1]), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    for partition in space.partitions():
        classes = _classes(space, partition, position, values)
        if classes is not None:
            return _field(_merged(space, classes, position, values))
    return None


def _constant(condition: str, value: Parts | None) -> Part:
    if value is None:
        return Part(condition, None, None)
    return Part(condition, value.shape, tuple(map(str, value.slots)))


def _classes(
    space: Space, partition: Sequence[tuple[str, Ints]], position: Ints, values: Sequence[Parts | None]
) -> list[_Class] | None:
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
    space: Space, conditions: tuple[str, ...], points: Ints, values: Sequence[Parts | None]
) -> _Class | None:
    """The class of these points, if one shape and a formula per integer serve all."""
    first = values[0]
    if first is None or any(value is None or value.shape != first.shape for value in values):
        if all(value is None for value in values):
            return _Class(conditions, points, None, None, 0)
        return _otherwise(space, conditions, points, values)
    table = np.array([value.slots for value in values if value is not None], dtype=np.int64)
    over = space.points(points)
    formulas, weight = [], 0.0
    for column in table.T:
        solution = over.solve(np.ascontiguousarray(column))
        if solution is None:
            return _otherwise(space, conditions, points, values)
        formulas.append(solution.text)
        weight += solution.weight
    return _Class(conditions, points, first.shape, tuple(formulas), weight)


def _otherwise(
    space: Space, conditions: tuple[str, ...], points: Ints, values: Sequence[Parts | None]
) -> _Class | None:
    """The class by the values themselves, where vecs look different from rank to rank."""
    given = [v for v in values if v is not None]
    if len(given) < len(values) or any(v.times < 1 or not _is_vec(v.shape) for v in given):
        return None
    found = _by_cycle(space, conditions, points, given)
    return _by_index(space, conditions, points, given) if found is None else found


def _by_cycle(
    space: Space, conditions: tuple[str, ...], points: Ints, values: Sequence[Parts]
) -> _Class | None:
    """The class as one of vecs that repeat the same few values: the neighbours in a loop over them."""
    if sum(v.times for v in values) > MOST_INDEXED:
        return None
    rows = _rows(values)
    if rows is None:
        return None
    over = space.points(points)
    found = [over.solve(np.array(column, dtype=np.int64)) for column in zip(*rows, strict=True)]
    if any(solution is None for solution in found):
        return None
    weight = sum(solution.weight for solution in found if solution is not None)
    texts = tuple(solution.text for solution in found if solution is not None)
    return _Class(conditions, points, CYCLE, texts, weight + 0.5)


def _rows(values: Sequence[Parts]) -> list[tuple[int, ...]] | None:
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
) -> _Class | None:
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
    return _Class(
        conditions, points, INDEXED, (length.text, value.text), length.weight + value.weight + PER_PART
    )


def _is_vec(shape: Shape) -> bool:
    """Whether a shape is of integers only, as a vec's is."""
    return shape is None or (isinstance(shape, tuple) and all(map(_is_vec, shape)))


def _merged(
    space: Space, classes: Sequence[_Class], position: Ints, values: Sequence[Parts | None]
) -> list[_Class]:
    """Classes that the same formulas serve, made one."""
    groups: list[_Class] = []
    for one in classes:
        for i, group in enumerate(groups):
            both = _union(space, group, one, position, values)
            if both is not None:
                groups[i] = both
                break
        else:
            groups.append(one)
    return groups


def _union(
    space: Space, a: _Class, b: _Class, position: Ints, values: Sequence[Parts | None]
) -> _Class | None:
    if (a.formulas is None) != (b.formulas is None) or (
        a.shape != b.shape and not {INDEXED, CYCLE} & {a.shape, b.shape}
    ):
        return None
    points = np.sort(np.concatenate([a.points, b.points]))
    if a.formulas == b.formulas and a.shape == b.shape:
        return _Class(a.conditions + b.conditions, points, a.shape, a.formulas, a.weight)
    both = _fitted(space, a.conditions + b.conditions, points, [values[i] for i in position[points]])
    if both is None or both.weight > max(a.weight, b.weight) + 1e-9:
        return None
    return both


def _field(groups: Sequence[_Class]) -> Field:
    """Parts of the groups; the one with the most conditions becomes what holds elsewhere."""
    ordered = sorted(groups, key=lambda group: len(group.conditions))
    cost = PER_PART * (len(groups) - 1)
    parts = []
    for group in ordered:
        condition = EVERYWHERE if group is ordered[-1] else "+".join(f"({c})" for c in group.conditions)
        parts.append(Part(condition, group.shape, group.formulas))
        cost += group.weight + sum(PER_RANK for text in group.formulas or () if depends_on_rank(text))
    return Field(tuple(parts), cost)


def depends_on_rank(text: str) -> bool:
    """Whether a formula differs from rank to rank."""
    return bool(names_of(text) & RANKWISE)


RANKWISE = frozenset("rxyzw")


def told(where: str, samples: Samples, space: Space) -> ExtrapolationError:
    """The error for a quantity that follows no rule: what was seen on the lowest ranks of each trace."""
    lines = []
    for k, run in enumerate(space.runs):
        start, stop = int(space.starts[k]), int(space.starts[k + 1])
        seen = [(p - start, samples[p]) for p in range(start, stop) if p in samples][:4]
        shown = "; ".join(f"rank {rank}: {_shown(value)}" for rank, value in seen)
        lines.append(f"  {run.grid.nprocs} ranks ({run.grid}): {shown}")
    hint = "" if space.inputs else "\nIf it follows from a size of the problem: tell that (--inputs n=...)"
    return ExtrapolationError(f"no formula found for {where}\n" + "\n".join(lines) + hint)


def _shown(value: Parts | None) -> str:
    if value is None:
        return "none"
    return " ".join(map(str, value.slots[:12])) + (" ..." if len(value.slots) > 12 else "")
