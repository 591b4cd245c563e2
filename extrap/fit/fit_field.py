"""Fit one quantity of one node over all ranks of all traces.

The result is a field: a list of parts, each with a condition on a rank's place and a shape with formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.fit.classes import classes_of, merged
from scalatrace.extrap.fit.columns import COARSE, by_columns
from scalatrace.extrap.fit.fit_types import EFFORTS, MIXED, PER_PART, Chains, Class, FitInput, Ints, Samples
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Cond, Value, either, names_in
from scalatrace.trace.symbolic.counters import Chain
from scalatrace.trace.symbolic.field import EVERYWHERE, RANKWISE, Field, Part, Step
from scalatrace.trace.symbolic.shapes import Parts
from scalatrace.trace.symbolic.special_values import constant

PER_RANK = 40.0
"""What it costs when a formula has another value on each rank: the trace then holds one per rank."""

__all__ = ["PER_RANK", "fit", "no_formula_error", "shown"]


def fit(
    space: Space,
    samples: Samples,
    chains: Chains | None = None,
    repeats: bool = False,
    efforts: Sequence[int] = EFFORTS,
    until: Step | None = None,
) -> Field | None:
    """The field through all samples; None when no rule was found.

    Args:
        space: where the samples are.
        samples: the values.
        chains: the loops around each of them.
        repeats: whether values are how often something runs: None is then as good as 0.
        efforts: what is tried, one after the other.
        until: the last step of the search that is tried.
    """
    order = np.array(sorted(samples), dtype=np.int64)
    values = [samples[int(point)] for point in order]
    if all(value == values[0] for value in values):
        return Field((_constant(EVERYWHERE, values[0]),))
    around = [None if chains is None else chains[int(point)] for point in order]
    seen = tuple(None if value is None else (value, value.times, value.width) for value in values)
    key = order.tobytes(), seen, tuple(around), repeats, tuple(efforts), until
    if key not in space.known:  # sends and receives, halves of an exchange: many quantities are alike
        mixing = repeats and None in values and _runs_everywhere(space, samples)
        efforts = [effort for effort in efforts if effort != MIXED or mixing]
        space.known[key] = _search(space, order, values, around, efforts, until)
    return space.known[key]


def _search(
    space: Space,
    order: Ints,
    values: list[Parts | None],
    around: list[Chain | None],
    efforts: Sequence[int],
    until: Step | None,
) -> Field | None:
    """The first rule that is found, the cheapest efforts and the coarsest classes first."""
    position = np.full(int(space.starts[-1]), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    tried = False
    for effort in efforts:
        fit_input = FitInput(space, position, values, around, effort)
        for number, partition in enumerate(space.partitions()):
            step = effort, number
            if until is not None and step > until:
                return None
            if len(partition) > COARSE and not tried:
                tried = True
                columns = by_columns(space, order, position, values)
                if columns is not None:
                    shape, formulas, cost = columns
                    parts = (Part(EVERYWHERE, shape, formulas),)
                    return Field(parts, cost + PER_PART, cost + PER_PART, step)
            classes = classes_of(fit_input, partition)
            groups = None if classes is None else merged(fit_input, classes)
            if groups is not None:
                return replace(_field(groups), step=step)
    return None


def _runs_everywhere(space: Space, samples: Samples) -> bool:
    """Whether something runs on some rank of every trace in which ranks meet it."""
    run_of = space.all_runs()
    entered = {int(run_of[point]) for point in samples}
    return entered == {int(run_of[point]) for point, value in samples.items() if value is not None}


def _constant(condition: Cond, value: Parts | None) -> Part:
    if value is None:
        return Part(condition, None, None)
    return Part(condition, value.shape, tuple(map(constant, value.slots)))


def _field(groups: Sequence[Class]) -> Field:
    """Parts of the groups; the one with the most conditions becomes what holds elsewhere."""
    ordered = sorted(groups, key=lambda group: len(group.conditions))
    weight, cost = PER_PART * (len(groups) - 1), 0.0
    parts = []
    for group in ordered:
        condition = EVERYWHERE if group is ordered[-1] else either(*group.conditions)
        parts.append(Part(condition, group.shape, group.formulas))
        weight += group.weight
        cost += sum(PER_RANK for formula in group.formulas or () if depends_on_rank(formula))
    return Field(tuple(parts), weight + cost, weight)


def depends_on_rank(formula: Value) -> bool:
    """Whether a formula differs from rank to rank."""
    return bool(names_in(formula) & RANKWISE)


def no_formula_error(where: str, samples: Samples, space: Space) -> ExtrapolationError:
    """The error for a quantity that follows no rule: what was seen on the lowest ranks of each trace."""
    lines = []
    for k, run in enumerate(space.runs):
        start, stop = int(space.starts[k]), int(space.starts[k + 1])
        seen = [(p - start, samples[p]) for p in range(start, stop) if p in samples][:4]
        ranks = "; ".join(f"rank {rank}: {shown(value)}" for rank, value in seen)
        lines.append(f"  {run.grid.nprocs} ranks ({run.grid}): {ranks}")
    hint = "" if space.inputs else "\nIf it follows from a size of the problem: tell that (--inputs n=...)"
    return ExtrapolationError(f"no formula found for {where}\n" + "\n".join(lines) + hint)


def shown(value: Parts | None) -> str:
    """The first integers of a value, for messages."""
    if value is None:
        return "none"
    return " ".join(map(str, value.slots[:12])) + (" ..." if len(value.slots) > 12 else "")
