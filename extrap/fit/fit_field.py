"""Fit one quantity of one node over all ranks of all traces.

The result is a field: a list of parts, each with a condition on a rank's place and a shape with formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.errors import NoFormulaError, PollingError, SeenValues, UnconfirmedError
from scalatrace.extrap.fit.classes import classes_of, merge_classes
from scalatrace.extrap.fit.columns import COARSE, by_columns
from scalatrace.extrap.fit.conditions import SimpleConditions
from scalatrace.extrap.fit.fit_types import (
    EFFORTS,
    MAX_INDEXED_VALUES,
    MIXED,
    PER_PART,
    PLAIN,
    Chains,
    Class,
    FitInput,
    Samples,
)
from scalatrace.extrap.fit.lists.neighbour_lists import by_neighbours
from scalatrace.extrap.fit.sequences import list_values
from scalatrace.extrap.fit.table_values import TABLES, named_entries
from scalatrace.extrap.fit.undetermined.rivals import apart
from scalatrace.extrap.fit.undetermined.unseen import constants_of_one_side
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import TRUE, Cond, Const, Value, either, indicator, names_in
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.requests import POLLING
from scalatrace.trace.symbolic.counters import Chain
from scalatrace.trace.symbolic.field import EVERYWHERE, RANKWISE, Field, Part, Step
from scalatrace.trace.symbolic.shapes import Parts, is_vec, join
from scalatrace.trace.symbolic.special_values import constant
from scalatrace.trace.values.vec import special_name

PER_RANK = 40.0
"""Penalty for a formula of the rank: the trace stores one value per rank."""

__all__ = ["PER_RANK", "fit", "fit_neighbours", "has_few_sides", "no_formula_error", "shown"]


def fit(
    space: Space,
    samples: Samples,
    chains: Chains | None = None,
    repeats: bool = False,
    efforts: Sequence[int] = EFFORTS,
    until: Step | None = None,
) -> Field | None:
    """Fit a field to all samples; None if no rule was found.

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
        part = _constant(EVERYWHERE, values[0])
        rivals = (
            pair for formula in part.formulas or () for pair in constants_of_one_side(space, order, formula)
        )
        return Field((replace(part, rivals=tuple(rivals)),))
    around = [None if chains is None else chains[int(point)] for point in order]
    seen = tuple(None if value is None else (value, value.times, value.width) for value in values)
    key = order.tobytes(), seen, tuple(around), repeats, tuple(efforts), until
    if key not in space.known:  # sends and receives, halves of an exchange: many quantities are alike
        mixing = repeats and None in values and _runs_everywhere(space, samples)
        efforts = [effort for effort in efforts if effort != MIXED or mixing]
        if not (repeats or space.names.stages) and all(map(_is_constant, values)):
            efforts = [effort for effort in efforts if effort == PLAIN]  # no value depends on iterations
        space.known[key] = _search(space, order, values, around, efforts, until)
    return space.known[key]


def fit_neighbours(
    space: Space,
    peers: Samples,
    chains: Chains,
    counts: Samples | None = None,
    of_counts: Space | None = None,
) -> Field | None:
    """Fit a field of relative peers that are lists of neighbours of different lengths.

    Args:
        counts: another parameter of the same calls, of which the field is to be; the peers' unless given.
        of_counts: the space of their formulas, if it is another one.
    """
    order = np.array(sorted(peers), dtype=np.int64)
    around = [chains[int(point)] for point in order]
    inputs = [
        _input(space_of_samples, order, [samples[int(point)] for point in order], around, PLAIN)
        for space_of_samples, samples in ((space, peers), (of_counts or space, counts))
        if samples is not None
    ]
    result = by_neighbours(inputs[0], (TRUE,), order, *inputs[1:])
    return None if result is None else _field(space, order, [result])


def _input(
    space: Space, order: Ints, values: list[Parts | None], around: list[Chain | None], effort: int
) -> FitInput:
    position = np.full(int(space.starts[-1]), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    return FitInput(space, position, values, around, effort)


def _search(
    space: Space,
    order: Ints,
    values: list[Parts | None],
    around: list[Chain | None],
    efforts: Sequence[int],
    until: Step | None,
) -> Field | None:
    """Return the first rule that is found, the cheapest efforts and the coarsest classes first."""
    tried = False
    most = 1 if _is_of_sizes(space, order, values) else None
    for effort in efforts:
        fit_input = _input(space, order, values, around, effort)
        for number, partition in enumerate(islice(space.partitions(), most)):
            step = effort, number
            if until is not None and step > until:
                return None
            if len(partition) > COARSE and not tried:
                tried = True
                columns = by_columns(space, order, fit_input.position, values, around)
                if columns is not None:
                    part, cost = columns
                    part = replace(part, rivals=apart(space, part.rivals, EVERYWHERE))
                    return Field((part,), cost + PER_PART, cost + PER_PART, step)
            classes = classes_of(fit_input, partition)
            groups = None if classes is None else merge_classes(fit_input, classes)
            if groups is not None:
                return replace(_field(space, order, groups), step=step)
    return None


def _is_of_sizes(space: Space, order: Ints, values: list[Parts | None]) -> bool:
    """Return whether all ranks of a trace have one value, so that classes of ranks explain nothing."""
    run_of = space.all_runs()[order].tolist()
    first: dict[int, Parts | None] = {}
    return all(first.setdefault(run, value) == value for run, value in zip(run_of, values, strict=True))


def _is_constant(value: Parts | None) -> bool:
    """Return whether a rank has one value in several calls, or none."""
    return value is None or (value.shape is None and value.times > 1)


def _runs_everywhere(space: Space, samples: Samples) -> bool:
    """Return whether something runs on some rank of every trace in which ranks meet it."""
    run_of = space.all_runs()
    entered = {int(run_of[point]) for point in samples}
    return entered == {int(run_of[point]) for point, value in samples.items() if value is not None}


def _constant(condition: Cond, value: Parts | None) -> Part:
    if value is None:
        return Part(condition, None, None)
    return Part(condition, value.shape, tuple(map(constant, value.slots)))


def _simple_conditions(space: Space) -> SimpleConditions:
    if "conditions" not in space.memo:
        space.memo["conditions"] = SimpleConditions(space)
    result: SimpleConditions = space.memo["conditions"]
    return result


def _field(space: Space, order: Ints, groups: Sequence[Class]) -> Field:
    """Parts of the groups; the one with the most conditions becomes what holds elsewhere."""
    ordered = sorted(groups, key=lambda group: len(group.conditions))
    weight, cost = PER_PART * (len(groups) - 1), 0.0
    parts = []
    for group in ordered:
        condition = EVERYWHERE
        condition_rivals: tuple[Rival, ...] = ()
        if group is not ordered[-1]:
            condition = either(*group.conditions)
            if (simple := _simple_conditions(space).simplest(order, group.points)) is not None:
                condition, condition_rivals = simple
        else:
            condition_rivals = ((Const(1), indicator(_seen(groups))),)
        rivals = (*apart(space, group.rivals, condition), *apart(space, condition_rivals, TRUE))
        parts.append(Part(condition, group.shape, group.formulas, rivals))
        weight += group.weight
        cost += sum(PER_RANK for formula in group.formulas or () if depends_on_rank(formula))
    return Field(tuple(parts), weight + cost, weight)


def _seen(groups: Sequence[Class]) -> Cond:
    """Return the places that the traces have: no class of theirs says what holds on others."""
    return either(*(condition for group in groups for condition in group.conditions))


def depends_on_rank(formula: Value) -> bool:
    """Return whether a formula has different values on different ranks."""
    return bool(names_in(formula) & RANKWISE)


def no_formula_error(
    what: str, samples: Samples, space: Space, op: str, name: str, kind: Kind | None
) -> NoFormulaError:
    """Return the error for a quantity without a rule, with its values in each trace.

    Args:
        what: the quantity, for the message.
        op: of the call; "" for a loop.
        name: of the parameter; "repeat" for how often the call or the loop runs.
        kind: of the parameter.
    """
    lines, groups_of = [], []
    for k, run in enumerate(space.runs):
        ranks_of: dict[str, list[int]] = {}
        for point in range(int(space.starts[k]), int(space.starts[k + 1])):
            if point in samples:
                ranks_of.setdefault(shown(samples[point], kind), []).append(point - int(space.starts[k]))
        groups = sorted(ranks_of.items(), key=lambda group: -len(group[1]))
        groups_of.append(groups)
        seen = "; ".join(f"{_ranks(ranks)}: {value}" for value, ranks in groups[:MAX_SHOWN_GROUPS])
        hidden_count = len(groups) - MAX_SHOWN_GROUPS
        inputs = "".join(f", {n} = {v}" for n, v in sorted(run.inputs.items()) if n in space.varied)
        lines.append(
            f"  {run.grid.nprocs} ranks ({run.grid}{inputs}): "
            f"{seen}{f'; {hidden_count} more values' if hidden_count > 0 else ''}"
        )
    text = "\n".join([f"no formula found for {what}", *lines])
    if op in POLLING:
        return PollingError(text, _values(samples, space, op, name, kind))
    error = UnconfirmedError if has_few_sides(space) else NoFormulaError
    return error(text, _values(samples, space, op, name, kind))


def _values(samples: Samples, space: Space, op: str, name: str, kind: Kind | None) -> SeenValues:
    """Return the values of each trace, as numbers."""
    ranks, rows, agreed, unlike = [], [], True, False
    for start, end in pairwise(space.starts.tolist()):
        present = {point - start: value for point in range(start, end) if (value := samples.get(point))}
        numbers = [number for value in present.values() for number in _numbers(value)]
        different = len({(value, value.times) for value in present.values()})
        ranks.append(frozenset(present))
        rows.append(numbers or [0])
        agreed = agreed and different <= 1 and len(present) == end - start
        unlike = len(present) == different >= MIN_UNLIKE and any(len(v.slots) > 1 for v in present.values())
    return SeenValues(
        op, name, kind, tuple(ranks), tuple(map(sum, rows)), tuple(round(sum(r) / len(r)) for r in rows),
        tuple(map(max, rows)), agreed, unlike,
    )  # fmt: skip


def _numbers(value: Parts) -> Sequence[int]:
    """Return the integers of a value that are no constants of MPI."""
    whole = is_vec(value.shape) and 0 < value.times <= MAX_INDEXED_VALUES
    numbers = list_values(value, value.times) if whole else value.slots
    return [number for number in numbers if special_name(number) is None]


def has_few_sides(space: Space) -> bool:
    """Return whether one dimension has fewer sizes than another, so that fewer formulas are confirmed."""
    return len({len(set(space.columns[name].tolist())) for name in space.names.sizes}) > 1


MIN_UNLIKE = 4
"""Ranks that must all have other values before these are taken to depend on data."""

MAX_SHOWN_GROUPS = 4
"""Values of one trace that a message shows, each with its ranks."""


def _ranks(ranks: Sequence[int]) -> str:
    """Ranks as ranges, the first few of them."""
    ranges: list[list[int]] = []
    for rank in ranks:
        if ranges and rank == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], rank]
        else:
            ranges.append([rank])
    texts = ["-".join(map(str, span)) for span in ranges[:MAX_SHOWN_GROUPS]]
    more = ", ..." if len(ranges) > MAX_SHOWN_GROUPS else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(texts)}{more}"


def shown(value: Parts | None, kind: Kind | None = None) -> str:
    """Return a value for messages: datatypes by name, the first integers of others."""
    if value is None:
        return "none"
    if kind in TABLES and not is_vec(value.shape):
        return _shorten(named_entries(kind, join(value.shape, iter(value.slots))))
    whole = is_vec(value.shape) and 0 < value.times <= MAX_INDEXED_VALUES
    numbers = list_values(value, value.times) if whole else value.slots
    numbers = numbers[:1] if len(set(numbers)) == 1 else numbers
    return _shorten([special_name(number) or str(number) for number in numbers])


def _shorten(words: Sequence[str]) -> str:
    return " ".join(words[:MAX_SHOWN_VALUES]) + (" ..." if len(words) > MAX_SHOWN_VALUES else "")


MAX_SHOWN_VALUES = 12
"""Values of one rank that a message shows."""
