"""One quantity of one node over all ranks of all traces: which ranks have alike values, by which formulas.

A field is a list of parts: a condition on a rank's place, and a shape with a formula per integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from extrap.errors import ExtrapolationError
from extrap.expression import names_of
from extrap.sequences import by_cycle, by_index, by_loops, holds, is_vec
from extrap.shapes import Parts, Shape
from extrap.sought import (
    BY_INDEX,
    BY_LOOPS,
    CYCLE,
    EFFORTS,
    INDEXED,
    LOOPED,
    MIXED,
    PER_PART,
    PLAIN,
    Chains,
    Class,
    Ints,
    Samples,
    Sought,
)
from extrap.space import EVERYWHERE, Space

PER_RANK = 40.0
"""What it costs when a formula has another value on each rank: the trace then holds one per rank."""

__all__ = ["CYCLE", "INDEXED", "LOOPED", "RANKWISE", "Field", "Part", "Samples", "fit", "runs_once"]


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
        sought = Sought(space, position, values, around, effort)
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


def _classes(sought: Sought, partition: Sequence[tuple[str, Ints]]) -> list[Class] | None:
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


def _fitted(sought: Sought, conditions: tuple[str, ...], points: Ints) -> Class | None:
    """The class of these points, if one shape and a formula per integer serve all."""
    space, values = sought.space, sought.of(points)
    first = values[0]
    if first is None or any(value is None or value.shape != first.shape for value in values):
        if all(value is None for value in values):
            return Class(conditions, points, None, None, 0)
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
    return Class(conditions, points, first.shape, tuple(formulas), weight, unchecked)


def _otherwise(sought: Sought, conditions: tuple[str, ...], points: Ints) -> Class | None:
    """The class by the values themselves, where vecs look different from rank to rank."""
    space, values = sought.space, sought.of(points)
    given = [v for v in values if v is not None]
    if any(v.times < 1 or not is_vec(v.shape) for v in given):
        return None
    found = None
    if len(given) == len(values):
        found = by_cycle(space, conditions, points, given)
        if found is None and sought.effort == BY_INDEX:
            found = by_index(space, conditions, points, given)
    elif sought.effort < MIXED:
        return None
    if found is None and sought.effort >= BY_LOOPS:
        found = by_loops(sought, conditions, points)
    return found


def _merged(sought: Sought, classes: Sequence[Class]) -> list[Class]:
    """Classes that the same formulas serve, made one."""
    groups: list[Class] = []
    for one in classes:
        for i, group in enumerate(groups):
            both = _union(sought, group, one)
            if both is not None:
                groups[i] = both
                break
        else:
            groups.append(one)
    return groups


def _union(sought: Sought, a: Class, b: Class) -> Class | None:
    if (a.formulas is None) != (b.formulas is None) or (
        a.shape != b.shape and not {INDEXED, CYCLE, LOOPED} & {a.shape, b.shape}
    ):
        return None
    points = np.sort(np.concatenate([a.points, b.points]))
    both = a.conditions + b.conditions
    if a.formulas == b.formulas and a.shape == b.shape:
        return Class(both, points, a.shape, a.formulas, a.weight, a.unchecked)
    for one, other in ((a, b), (b, a)):
        if one.shape in (INDEXED, LOOPED) and holds(sought, one, other.points):
            return Class(both, points, one.shape, one.formulas, one.weight, one.unchecked)
    if {INDEXED, LOOPED} & {a.shape, b.shape} or _least(a, b) > max(a.weight, b.weight):
        return None
    found = _fitted(replace(sought, effort=PLAIN), both, points)
    if found is None or found.weight > max(a.weight, b.weight) + 1e-9:
        return None
    return found


def _least(a: Class, b: Class) -> float:
    """What formulas that serve both classes weigh at least: where both have constants, they are no longer."""
    if a.shape != b.shape or a.formulas is None or b.formulas is None:
        return 0.0
    pairs = zip(a.formulas, b.formulas, strict=True)
    return sum(1.0 for one, other in pairs if one != other and _is_number(one) and _is_number(other))


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _field(groups: Sequence[Class]) -> Field:
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
