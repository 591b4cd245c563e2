"""Divide ranks into classes with equal value vectors, for all kinds of elastic values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups
from scalatrace.trace.symbolic.places import equal_places
from scalatrace.trace.values.from_arrays import Ints, distinct, ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["class_numbers", "rank_classes"]

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
        yield from ((some, vec) for group, vec in value.groups if (some := ranks & group))
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
    for some, vec in rank_classes(value, ranks, max_classes):
        for start, stop in some.runs:
            numbers[start:stop] = len(vecs)
        vecs.append(vec)
    return numbers, vecs


def _by_number(value: Columns, ranks: RankList, max_classes: int) -> Iterator[tuple[RankList, Vec]]:
    where = ranks_in(ranks)
    everything = np.array(value.vec.first(len(value.ranks)), dtype=np.int64)
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
    columns = value.grid.columns
    own = {name: columns[name][ranks] for name in value.names()}
    place = {**value.grid.place(int(ranks[0])), **own, **dict(value.inputs)}
    first, number = distinct(loop_class[None])
    return equal_places(value.parts, place, number, [value.loops(int(ranks[i])) for i in first], max_classes)
