"""Divide ranks into classes with equal value vectors, for all kinds of elastic values, and sum up formulas.

All ranks of a binomial tree have value vectors of their own. How often they run a node is asked all the
same, so formulas are summed up for many ranks at once, without the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormatError, FormulaError, ScalatraceError, UsageError
from scalatrace.formula import Value, names_in
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups
from scalatrace.trace.symbolic.counters import MAX_RUNS, chain_of, is_counter
from scalatrace.trace.symbolic.field import CYCLE, INDEXED, LOOPED, Part, levels_of
from scalatrace.trace.symbolic.shapes import vec_from
from scalatrace.trace.symbolic.special_values import evaluate
from scalatrace.trace.values.from_arrays import MAX_INT64, distinct, first_values, ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = [
    "check_trip_counts",
    "class_numbers",
    "equal_places",
    "formula_totals",
    "multiply_counts",
    "rank_classes",
]

MAX_SINGLE_PLACES = 64
"""Places of a grid whose value vectors are made one by one; more are first grouped by equal values."""


def rank_classes(value: Elastic, ranks: RankList, max_classes: int) -> Iterator[tuple[RankList, Vec]]:
    """Yield the classes of some ranks with their value vectors; ranks without a value are left out.

    Raises:
        UsageError: there are more than `max_classes` different values, or places for formulas.
        FormatError: a formula has no value.
    """
    if isinstance(value, Vec):
        yield ranks, value
    elif isinstance(value, Groups):
        yield from ((common, vec) for group, vec in value.groups if (common := ranks & group))
    elif isinstance(value, Columns):
        yield from _by_number(value, ranks & value.ranks, max_classes)
    else:
        yield from _by_formulas(value, ranks & value.ranks, max_classes)


def class_numbers(value: Elastic, ranks: RankList, nprocs: int, max_classes: int) -> tuple[Ints, list[Vec]]:
    """Return the class number of each of all ranks (-1: none), and the value vector of each class.

    Raises:
        UsageError, FormatError: as `rank_classes`.
    """
    numbers, vecs = np.full(nprocs, -1), list[Vec]()
    for members, vec in rank_classes(value, ranks, max_classes):
        for start, stop in members.runs:
            numbers[start:stop] = len(vecs)
        vecs.append(vec)
    return numbers, vecs


def _by_number(value: Columns, ranks: RankList, max_classes: int) -> Iterator[tuple[RankList, Vec]]:
    where = ranks_in(ranks)
    everything = first_values(value.vec, len(value.ranks))
    numbers = everything[np.searchsorted(ranks_in(value.ranks), where)]
    distinct_numbers = np.unique(numbers)
    if len(distinct_numbers) > max_classes:
        raise UsageError(
            f"cannot examine each value: {len(ranks)} ranks have {len(distinct_numbers)} different values "
            f"of a parameter or repeat (limit {max_classes}); extrapolate to fewer ranks"
        )
    for number in distinct_numbers.tolist():
        yield ranks_of(where[numbers == number]), Vec(number)


def _by_formulas(value: Formulas, ranks: RankList, max_classes: int) -> Iterator[tuple[RankList, Vec]]:
    if not ranks:
        return
    where = ranks_in(ranks)
    loops = _loop_classes(value, ranks, where, max_classes)
    first, like = distinct(np.array([loops, *(value.grid.columns[name][where] for name in value.names())]))
    if len(first) > MAX_SINGLE_PLACES:
        fewer = _equal(value, where[first], loops[first], max_classes)
        if fewer is not None:
            first, like = first[fewer[0]], fewer[1][like]
    if len(first) > max_classes:
        raise UsageError(
            f"cannot examine each value: the formulas of a parameter or repeat differ at {len(first)} places "
            f"of the grid (limit {max_classes}); extrapolate to fewer ranks"
        )
    numbers: dict[Vec, int] = {}
    number_of = np.full(len(first), -1)
    for place, rank in enumerate(where[first].tolist()):
        if (vec := value.at(rank)) is not None:
            number_of[place] = numbers.setdefault(vec, len(numbers))
    vecs = list(numbers)
    for number in range(len(vecs)):
        yield ranks_of(where[number_of[like] == number]), vecs[number]


def _loop_classes(value: Formulas, ranks: RankList, where: Ints, max_classes: int) -> Ints:
    """Return a number for each of some ranks: those with equal numbers have equal loops around the value."""
    around = [
        class_numbers(repeat, ranks, value.grid.nprocs, max_classes)[0][where]
        for repeat in value.around
        if not isinstance(repeat, Vec)
    ]
    return distinct(np.array([np.zeros_like(where), *around]))[1]


def _equal(value: Formulas, ranks: Ints, loop_class: Ints, max_classes: int) -> tuple[Ints, Ints] | None:
    """Return places with equal values, as `equal_places`, of a rank for each place."""
    return equal_places(value.parts, *_surroundings(value, ranks, loop_class), max_classes)


def _surroundings(value: Formulas, ranks: Ints, loop_class: Ints) -> tuple[dict[str, Any], Ints, list[Loops]]:
    """Return what names stand for at some ranks, the class of loops of each, and the loops of each class."""
    coordinates = {name: value.grid.columns[name][ranks] for name in value.names()}
    place = {**value.grid.place(int(ranks[0])), **coordinates, **dict(value.inputs)}
    first, number = distinct(loop_class[None])
    return place, number, [value.loops(int(ranks[i])) for i in first]


MAX_EVALUATIONS = 1 << 28
"""Values that are computed of one formula, over all places and executions."""

Loops = tuple[Vec, ...] | None
"""How often the loops around run, the outermost first; None: not all of them run."""


def equal_places(
    parts: Sequence[Part],
    place: Mapping[str, Any],
    loop_class: Ints,
    loops: Sequence[Loops],
    max_classes: int,
) -> tuple[Ints, Ints] | None:
    """Return the first place of each class of equal values, and the class number of each place.

    Places in one class have equal values; the values of two classes may be equal.

    Args:
        parts: conditions with formulas; the first whose condition holds counts.
        place: the numbers that names stand for, or arrays with one for each place.
        loop_class: for each place the number of its entry in `loops`.

    Returns:
        None if there are more than `max_classes`, if they take too many evaluations, or if a formula has no
        value at a place.
    """
    nplaces, nclasses = len(loop_class), 0
    numbers = np.zeros(nplaces, dtype=np.int64)
    try:
        for mine, part, around, coordinates in _alike(parts, place, loop_class, loops):
            like = np.zeros(len(mine), dtype=np.int64)
            for column in _columns(part, coordinates, around):
                first, like = distinct(np.array([like, np.broadcast_to(column, mine.shape)]))
                if len(first) > max_classes:
                    return None
            numbers[mine] = nclasses + like
            nclasses += int(like.max()) + 1
    except (ScalatraceError, ValueError, RecursionError, _TooManyError):
        return None
    return distinct(numbers[None])


class _TooManyError(Exception):
    """Internal signal: more evaluations than MAX_EVALUATIONS."""


def _alike(
    parts: Sequence[Part], place: Mapping[str, Any], loop_class: Ints, loops: Sequence[Loops]
) -> Iterator[tuple[Ints, Part | None, Loops, dict[str, Any]]]:
    """Yield the places with the same part and the same loops, both, and what names stand for there."""
    part_of = _part_numbers(parts, place, len(loop_class))
    first, group_of = distinct(np.array([part_of, loop_class]))
    if len(first) == 1:  # arrays with a number for each rank are not copied
        part = parts[part_of[0]] if part_of[0] >= 0 else None
        yield np.arange(len(loop_class)), part, loops[loop_class[0]], dict(place)
        return
    for group, example in enumerate(first.tolist()):
        mine = np.flatnonzero(group_of == group)
        place_of_group = {name: value[mine] if np.ndim(value) else value for name, value in place.items()}
        part = parts[part_of[example]] if part_of[example] >= 0 else None
        yield mine, part, loops[loop_class[example]], place_of_group


def _part_numbers(parts: Sequence[Part], place: Mapping[str, Any], nplaces: int) -> Ints:
    """Return the part that counts at each place; -1 for none."""
    number = np.full(nplaces, -1)
    for i, part in enumerate(parts):
        holds = np.broadcast_to(np.asarray(evaluate(part.condition, place), dtype=bool), (nplaces,))
        number[holds & (number < 0)] = i
    return number


def _columns(part: Part | None, place: Mapping[str, Any], loops: Loops) -> Iterator[Any]:
    """Yield the integers that determine the value vector of a part at each place."""
    if part is None or part.formulas is None:
        return
    if part.shape == INDEXED:
        length, value = part.formulas
        lengths = evaluate(length, place)
        yield lengths
        longest = int(np.max(lengths))
        _check(longest, place)
        yield from (values for values, _ in _over(value, place, {"i": np.arange(longest)}))
    elif part.shape == LOOPED and (levels := levels_of(part)):
        if loops is None:
            return
        chain = chain_of(loops[-levels:])
        assert chain is not None
        if not chain.small:
            raise _TooManyError
        if chain.runs:
            yield from (values for values, _ in _over(part.formulas[1], place, chain.columns(0)))
    elif part.shape == LOOPED:
        yield evaluate(part.formulas[1], place)
    else:
        yield from (evaluate(formula, place) for formula in part.formulas)


def _over(
    formula: Value, place: Mapping[str, Any], counters: Mapping[str, Ints]
) -> Iterator[tuple[Any, Ints]]:
    """Yield the values of a formula for each combination of its counters, and the executions that have it."""
    names = [name for name in sorted(names_in(formula)) if is_counter(name) and name in counters]
    if not names:
        yield evaluate(formula, place), np.arange(len(next(iter(counters.values()), ())))
        return
    rows, like = np.unique(np.array([counters[name] for name in names]), axis=1, return_inverse=True)
    _check(rows.shape[1], place)
    in_order = np.argsort(like.reshape(-1), kind="stable")
    executions = np.split(in_order, np.cumsum(np.bincount(like.reshape(-1)))[:-1])
    for row, where in zip(rows.T.tolist(), executions, strict=True):
        yield evaluate(formula, {**place, **dict(zip(names, row, strict=True))}), where


def _check(evaluations: int, place: Mapping[str, Any]) -> None:
    """Raise _TooManyError if a formula is evaluated too often at these places."""
    if evaluations * max(map(np.size, place.values()), default=1) > MAX_EVALUATIONS:
        raise _TooManyError


def formula_totals(value: Formulas, ranks: Ints, counts: Ints, max_classes: int) -> Ints:
    """Return, for each of some ranks, the sum of its first values.

    Args:
        value: the repeat of a node.
        ranks: ascending; all are participants.
        counts: how many values of each rank are summed up; shape of `ranks`.
        max_classes: value vectors, and ways in which loops around run, that are looked at one by one.

    Raises:
        UsageError: there are more of them, or more than MAX_EVALUATIONS values of a formula.
        FormatError: a formula has no value, too few, or a negative one.
    """
    totals = np.zeros(len(ranks), dtype=np.int64)
    if not len(ranks):
        return totals
    loop_class = _loop_classes(value, ranks_of(ranks), ranks, max_classes)
    try:
        for mine, part, loops, place in _alike(value.parts, *_surroundings(value, ranks, loop_class)):
            if part is not None and part.formulas is not None and (part.shape != LOOPED or loops is not None):
                totals[mine] = _total(part, place, counts[mine], loops or (), max_classes)
    except _TooManyError:
        raise UsageError(
            f"cannot count calls: more than {MAX_EVALUATIONS} values of a formula; extrapolate to fewer ranks"
        ) from None
    except (FormulaError, ValueError, RecursionError) as error:
        raise FormatError(f"corrupt trace: the formulas of a node's repeat fail: {error}") from None
    return totals


def _total(
    part: Part, place: Mapping[str, Any], counts: Ints, loops: tuple[Vec, ...], max_classes: int
) -> Ints:
    """Return the sums of a part's values, of ranks that run the loops around alike."""
    assert part.formulas is not None
    if part.shape == LOOPED:
        levels = levels_of(part)
        return _along_loops(part, place, counts, loops[-levels:] if levels else ())
    if part.shape == INDEXED:
        return _over_executions(part, place, counts)
    slots = [_column(evaluate(formula, place), counts) for formula in part.formulas]
    if part.shape is None:
        return multiply_counts(_natural(slots[0]), counts)
    if part.shape == CYCLE:
        cycles, remainder = np.divmod(counts, len(slots))
        total = np.zeros_like(counts)
        for i, values in enumerate(slots):
            total += multiply_counts(_natural(values), cycles + (remainder > i))
        return total
    first, like = distinct(np.array([counts, *slots]))
    if len(first) > max_classes:
        raise UsageError(
            f"cannot count calls: {len(first)} ranks have trip counts of their own (limit {max_classes}); "
            "extrapolate to fewer ranks"
        )
    vecs = [vec_from(part.shape, iter([int(at[i]) for at in slots])) for i in first.tolist()]
    for vec in vecs:
        check_trip_counts(vec)
    return np.array([vec.total(int(counts[i])) for vec, i in zip(vecs, first.tolist(), strict=True)])[like]


def _along_loops(part: Part, place: Mapping[str, Any], counts: Ints, loops: tuple[Vec, ...]) -> Ints:
    """Return the sums of values that follow the counters of loops and begin again with their next turn."""
    assert part.formulas is not None
    formula, chain = part.formulas[1], chain_of(loops)
    if chain is None:
        return multiply_counts(_natural(_column(evaluate(formula, place), counts)), counts)
    if not chain.small:
        raise ValueError(f"a value changes over more than {MAX_RUNS} executions: too many")
    if not chain.runs:
        return np.zeros_like(counts)
    first, like = distinct(counts[None])  # few numbers, of up to a million ranks
    cycles, remainder = np.divmod(counts[first], chain.runs)
    total = np.zeros_like(counts)
    for values, where in _over(formula, place, chain.columns(0)):
        times = cycles * len(where) + np.searchsorted(where, remainder)
        of_ranks = times[like] if len(first) > 1 else times
        total += multiply_counts(_natural(np.asarray(values, dtype=np.int64)), of_ranks)
    return total


def _over_executions(part: Part, place: Mapping[str, Any], counts: Ints) -> Ints:
    """Return the sums of values that follow the number of the execution."""
    assert part.formulas is not None
    lengths = _column(evaluate(part.formulas[0], place), counts)
    total, least, most = np.zeros_like(counts), np.full_like(counts, MAX_INT64), np.zeros_like(counts)
    longest = int(np.max(lengths, initial=0))
    _check(longest, place)
    for i in range(longest):
        valued = i < lengths
        place_of_some = {name: at[valued] if np.ndim(at) else at for name, at in place.items()}
        values = _natural(_column(evaluate(part.formulas[1], {**place_of_some, "i": i}), counts[valued]))
        total[valued] += np.where(i < counts[valued], values, 0)
        least[valued], most[valued] = (
            np.minimum(least[valued], values),
            np.maximum(most[valued], values),
        )
    short = counts > lengths
    if (short & (least != most)).any():
        raise ValueError("a rank executes it more often than it has values")
    total[short] = multiply_counts(most[short], counts[short])
    return total


def _column(values: Any, like: Ints) -> Ints:
    return np.broadcast_to(np.asarray(values, dtype=np.int64), like.shape)


def _natural(values: Ints) -> Ints:
    if values.min(initial=0) < 0:
        raise _negative()
    return values


def check_trip_counts(vec: Vec) -> None:
    """Refuse negative repeats by formulas; the reader checks all others. Raises FormatError."""
    low = vec.smallest()
    if vec.terms != () and (low is None or low < 0):
        raise _negative()


def _negative() -> FormatError:
    return FormatError("corrupt trace: the formulas of a node's repeat give a negative trip count")


def multiply_counts(values: Ints, counts: Ints) -> Ints:
    """Return the products of numbers that are not negative. Raises FormatError beyond 64 bits."""
    if int(values.max(initial=0)) * int(counts.max(initial=0)) > MAX_INT64:
        raise FormatError("corrupt trace: a node runs too often")
    return values * counts
