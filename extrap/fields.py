"""One quantity of one node over all ranks of all traces: which ranks have alike values, by which formulas.

A field is a list of parts: a condition on a rank's place, and a shape with a formula per integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from extrap.counters import Chain, alike
from extrap.errors import ExtrapolationError
from extrap.expression import evaluate, names_of
from extrap.shapes import Parts, Shape, vec_from
from extrap.space import EVERYWHERE, Space

Ints = np.ndarray[Any, np.dtype[np.int64]]

CYCLE = "cycle"
"""Shape of a vec that repeats the same few values; a formula for each."""

INDEXED = "indexed"
"""Shape of a vec that follows a formula over the number `i` of an execution; its formulas: length, value."""

LOOPED = "looped"
"""Shape of a vec that follows a formula over the iterations of the loops around it (extrap/counters.py); its
formulas: how many of the innermost loops it depends on, value. Of a repeat, 0 is the same as nothing."""

MOST_INDEXED = 1 << 18
"""Values of a class that are looked at one by one."""

EFFORTS = PLAIN, BY_INDEX, BY_LOOPS, MIXED = range(4)
"""What is tried: values of one shape; also formulas over the number of an execution; over iterations of
loops; and classes in which some ranks run something and others do not."""

PER_PART = 3.0
"""What a further part of a field costs, in weights of formulas."""

PER_RANK = 40.0
"""What it costs when a formula has another value on each rank: the trace then holds one per rank."""

__all__ = ["EFFORTS", "MIXED", "Chains", "Field", "Part", "fit", "runs_once"]


@dataclass(frozen=True, slots=True)
class Part:
    """Ranks where `condition` holds have this shape and these formulas; shape and formulas None: nothing."""

    condition: str
    shape: Shape
    formulas: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Field:
    """The first part whose condition holds counts.

    Attributes:
        parts: in order.
        cost: what its formulas weigh, to choose between fields.
        unchecked: formulas, all of them plain, that no spare point confirms.
    """

    parts: tuple[Part, ...]
    cost: float = 0.0
    unchecked: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class _Class:
    """A part while it is sought: its points, and what all its formulas weigh together."""

    conditions: tuple[str, ...]
    points: Ints
    shape: Shape
    formulas: tuple[str, ...] | None
    weight: float
    unchecked: int = 0


Samples = Mapping[int, Parts | None]
"""Point -> its value; None: it takes no part. Points that are left out do not matter."""


Chains = Mapping[int, Chain | None]
"""Point -> the loops around what is sought; None: it runs once."""


@dataclass(frozen=True)
class _Sought:
    """What is to be explained: a value per point, and the loops around it.

    Attributes:
        position: where a point is in `values`, -1 for none.
        effort: how much is tried; see EFFORTS.
    """

    space: Space
    position: Ints
    values: list[Parts | None]
    chains: list[Chain | None]
    effort: int

    def of(self, points: Ints) -> list[Parts | None]:
        """The values of points."""
        return [self.values[i] for i in self.position[points]]

    def around(self, points: Ints) -> list[Chain | None]:
        """The loops of points."""
        return [self.chains[i] for i in self.position[points]]


def fit(
    space: Space,
    samples: Samples,
    chains: Chains | None = None,
    repeats: bool = False,
    efforts: Sequence[int] = EFFORTS,
) -> Field | None:
    """The field through all samples; None when no rule was found.

    Args:
        space: where the samples are.
        samples: the values.
        chains: the loops around each of them.
        repeats: whether values are how often something runs: None is then as good as 0.
        efforts: what is tried, one after the other.
    """
    order = np.array(sorted(samples), dtype=np.int64)
    values = [samples[int(point)] for point in order]
    if all(value == values[0] for value in values):
        return Field((_constant(EVERYWHERE, values[0]),))
    position = np.full(int(space.starts[-1]), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    around = [None if chains is None else chains[int(point)] for point in order]
    mixing = repeats and None in values and _runs_everywhere(space, samples)
    for effort in efforts:
        if effort == MIXED and not mixing:
            continue
        sought = _Sought(space, position, values, around, effort)
        for partition in space.partitions():
            classes = _classes(sought, partition)
            if classes is not None:
                return _field(_merged(sought, classes))
    return None


def _runs_everywhere(space: Space, samples: Samples) -> bool:
    """Whether something runs on some rank of every trace in which ranks meet it."""
    run_of = space.all_runs()
    met = {int(run_of[point]) for point in samples}
    return met == {int(run_of[point]) for point, value in samples.items() if value is not None}


def _constant(condition: str, value: Parts | None) -> Part:
    if value is None:
        return Part(condition, None, None)
    return Part(condition, value.shape, tuple(map(str, value.slots)))


def _classes(sought: _Sought, partition: Sequence[tuple[str, Ints]]) -> list[_Class] | None:
    found = []
    for condition, points in partition:
        points = points[sought.position[points] >= 0]
        if not len(points):
            continue
        one = _fitted(sought, (condition,), points)
        if one is None:
            return None
        found.append(one)
    return found


def _fitted(sought: _Sought, conditions: tuple[str, ...], points: Ints) -> _Class | None:
    """The class of these points, if one shape and a formula per integer serve all."""
    space, values = sought.space, sought.of(points)
    first = values[0]
    if first is None or any(value is None or value.shape != first.shape for value in values):
        if all(value is None for value in values):
            return _Class(conditions, points, None, None, 0)
        return _otherwise(sought, conditions, points)
    table = np.array([value.slots for value in values if value is not None], dtype=np.int64)
    over = space.points(points)
    formulas, weight, unchecked = [], 0.0, 0
    for column in table.T:
        solution = over.solve(np.ascontiguousarray(column))
        if solution is None:
            return _otherwise(sought, conditions, points)
        formulas.append(solution.text)
        weight += solution.weight
        unchecked += not solution.sure
    return _Class(conditions, points, first.shape, tuple(formulas), weight, unchecked)


def _otherwise(sought: _Sought, conditions: tuple[str, ...], points: Ints) -> _Class | None:
    """The class by the values themselves, where vecs look different from rank to rank."""
    space, values = sought.space, sought.of(points)
    given = [v for v in values if v is not None]
    if any(v.times < 1 or not _is_vec(v.shape) for v in given):
        return None
    found = None
    if len(given) == len(values):
        found = _by_cycle(space, conditions, points, given)
        if found is None and sought.effort == BY_INDEX:
            found = _by_index(space, conditions, points, given)
    elif sought.effort < MIXED:
        return None
    if found is None and sought.effort >= BY_LOOPS:
        found = _by_loops(sought, conditions, points)
    return found


def _by_cycle(
    space: Space, conditions: tuple[str, ...], points: Ints, values: Sequence[Parts]
) -> _Class | None:
    """The class as one of vecs that repeat the same few values: the neighbours in a loop over them."""
    width = values[0].width
    if width < 2 or any(v.width != width for v in values) or sum(v.times for v in values) > MOST_INDEXED:
        return None
    rows = []
    for value in values:
        listed = vec_from(value.shape, iter(value.slots)).first(value.times)
        if value.times % width or listed != listed[:width] * (value.times // width):
            return None
        rows.append(listed[:width])
    over = space.points(points)
    found = [over.solve(np.array(column, dtype=np.int64)) for column in zip(*rows, strict=True)]
    if any(solution is None for solution in found):
        return None
    weight = sum(solution.weight for solution in found if solution is not None)
    texts = tuple(solution.text for solution in found if solution is not None)
    return _Class(conditions, points, CYCLE, texts, weight + 0.5)


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


def _by_loops(sought: _Sought, conditions: tuple[str, ...], points: Ints) -> _Class | None:
    """The class as one of vecs whose values follow the iterations of the loops around them."""
    chains = sought.around(points)
    deep = {0 if chain is None else len(chain.levels) for chain in chains}
    if len(deep) != 1 or any(chain is not None and not chain.small for chain in chains):
        return None
    listed = []
    for value, chain in zip(sought.of(points), chains, strict=True):
        runs = 1 if chain is None else chain.runs
        if value is not None and value.times != runs:
            return None
        listed.append(_listed(value, runs))
    levels = deep.pop()
    if sum(map(len, listed)) > MOST_INDEXED:
        return None
    for depth in range(levels, -1, -1):
        periods = [_period(row, chain, depth) for row, chain in zip(listed, chains, strict=True)]
        if all(periods):
            columns = [{} if chain is None else chain.columns(depth) for chain in chains]
            rows = _cut(listed, periods)
            found = _counted(sought.space, conditions, points, columns, rows, levels - depth)
            if found is not None:
                return found
    return None


def _listed(value: Parts | None, runs: int) -> Ints:
    if value is None:
        return np.zeros(runs, dtype=np.int64)
    return np.array(vec_from(value.shape, iter(value.slots)).first(runs), dtype=np.int64)


def _period(row: Ints, chain: Chain | None, depth: int) -> int:
    """Values within an iteration of the loop at a depth, if they are the same in each; else 0."""
    if chain is None:
        return len(row)
    period = chain.period(depth)
    return period if period and alike(row, len(row) // period) else 0


def _cut(rows: Sequence[Ints], lengths: Sequence[int]) -> list[Ints]:
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def _counted(
    space: Space,
    conditions: tuple[str, ...],
    points: Ints,
    columns: Sequence[Mapping[str, Ints]],
    rows: Sequence[Ints],
    levels: int,
) -> _Class | None:
    """The class by a formula over counters."""
    numbers = {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}
    lengths = [len(row) for row in rows]
    value = space.solve_counted(np.repeat(points, lengths), numbers, np.concatenate(rows))
    if value is None:
        return None
    return _Class(conditions, points, LOOPED, (str(levels), value.text), value.weight + PER_PART)


def _is_vec(shape: Shape) -> bool:
    """Whether a shape is of integers only, as a vec's is."""
    return shape is None or (isinstance(shape, tuple) and all(map(_is_vec, shape)))


def _merged(sought: _Sought, classes: Sequence[_Class]) -> list[_Class]:
    """Classes that the same formulas serve, made one."""
    groups: list[_Class] = []
    for one in classes:
        for i, group in enumerate(groups):
            both = _union(sought, group, one)
            if both is not None:
                groups[i] = both
                break
        else:
            groups.append(one)
    return groups


def _union(sought: _Sought, a: _Class, b: _Class) -> _Class | None:
    if (a.formulas is None) != (b.formulas is None) or (
        a.shape != b.shape and not {INDEXED, CYCLE, LOOPED} & {a.shape, b.shape}
    ):
        return None
    points = np.sort(np.concatenate([a.points, b.points]))
    both = a.conditions + b.conditions
    if a.formulas == b.formulas and a.shape == b.shape:
        return _Class(both, points, a.shape, a.formulas, a.weight, a.unchecked)
    for one, other in ((a, b), (b, a)):
        if one.shape in (INDEXED, LOOPED) and _holds(sought, one, other.points):
            return _Class(both, points, one.shape, one.formulas, one.weight, one.unchecked)
    if {INDEXED, LOOPED} & {a.shape, b.shape}:
        return None
    found = _fitted(replace(sought, effort=PLAIN), both, points)
    if found is None or found.weight > max(a.weight, b.weight) + 1e-9:
        return None
    return found


def _holds(sought: _Sought, one: _Class, points: Ints) -> bool:
    """Whether the formulas of a class are true elsewhere."""
    values, chains = sought.of(points), sought.around(points)
    assert one.formulas is not None
    first, text = one.formulas
    for point, value, chain in zip(points, values, chains, strict=True):
        place = {name: numbers[point] for name, numbers in sought.space.columns.items()}
        if value is None or value.times < 1 or not _is_vec(value.shape):
            return False
        row = _listed(value, value.times)
        if one.shape == INDEXED:
            count = int(evaluate(first, place))
            numbers: Mapping[str, Any] = {"i": np.arange(len(row))}
        elif chain is None or not chain.small or chain.runs != len(row):
            return False
        else:
            depth = len(chain.levels) - int(first)
            count = _period(row, chain, depth)
            numbers = chain.columns(depth) if count else {}
        if count < 1 or (one.shape == INDEXED and count != len(row)):
            return False
        expected = np.broadcast_to(evaluate(text, {**place, **numbers}), (count,))
        if not np.array_equal(expected, row[:count]):
            return False
    return True


def _field(groups: Sequence[_Class]) -> Field:
    """Parts of the groups; the one with the most conditions becomes what holds elsewhere."""
    ordered = sorted(groups, key=lambda group: len(group.conditions))
    cost = PER_PART * (len(groups) - 1)
    parts = []
    for group in ordered:
        condition = EVERYWHERE if group is ordered[-1] else "+".join(f"({c})" for c in group.conditions)
        parts.append(Part(condition, group.shape, group.formulas))
        cost += group.weight + sum(PER_RANK for text in group.formulas or () if depends_on_rank(text))
    return Field(tuple(parts), cost, sum(group.unchecked for group in groups))


def runs_once(repeat: Field) -> bool:
    """Whether a repeat is 1 everywhere: then no loop is counted."""
    return len(repeat.parts) == 1 and repeat.parts[0].shape is None and repeat.parts[0].formulas == ("1",)


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
