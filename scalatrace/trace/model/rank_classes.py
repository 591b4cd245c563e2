"""The ranks that have one value vector, also where formulas say what each has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups
from scalatrace.trace.values.from_arrays import distinct, ranks_in, ranks_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

Ints = np.ndarray[Any, np.dtype[np.int64]]

__all__ = ["groups_of", "numbered"]


def groups_of(value: Elastic, ranks: RankList, most: int) -> Iterator[tuple[RankList, Vec]]:
    """Some ranks by their value vectors, those without left out.

    Raises:
        UsageError: there are more than `most` values, one for each rank, or places for formulas.
        FormatError: a formula has no value.
    """
    if isinstance(value, Vec):
        yield ranks, value
    elif isinstance(value, Groups):
        yield from ((some, vec) for group, vec in value.groups if (some := ranks & group))
    elif isinstance(value, Columns):
        yield from _by_number(value, ranks & value.ranks, most)
    else:
        yield from _by_formulas(value, ranks & value.ranks, most)


def numbered(value: Elastic, ranks: RankList, nprocs: int, most: int) -> tuple[Ints, list[Vec]]:
    """The value vectors of some ranks, and which of them each of all ranks has, -1 for none.

    Raises:
        UsageError, FormatError: as `groups_of`.
    """
    numbers, vecs = np.full(nprocs, -1), list[Vec]()
    for some, vec in groups_of(value, ranks, most):
        for start, stop in some.runs:
            numbers[start:stop] = len(vecs)
        vecs.append(vec)
    return numbers, vecs


def _by_number(value: Columns, ranks: RankList, most: int) -> Iterator[tuple[RankList, Vec]]:
    where = ranks_in(ranks)
    everything = np.array(value.vec.first(len(value.ranks)), dtype=np.int64)
    numbers = everything[np.searchsorted(ranks_in(value.ranks), where)]
    found = np.unique(numbers)
    if len(found) > most:
        raise UsageError(
            f"{len(ranks)} ranks have {len(found)} different values: too many to look at them all"
        )
    for number in found.tolist():
        yield ranks_of(where[numbers == number]), Vec(number)


def _by_formulas(value: Formulas, ranks: RankList, most: int) -> Iterator[tuple[RankList, Vec]]:
    if not ranks:
        return
    where = ranks_in(ranks)
    first, like = distinct(_places(value, ranks, where, most))
    if len(first) > most:
        raise UsageError(f"a value by formulas differs at {len(first)} places: too many to look at them all")
    numbers: dict[Vec, int] = {}
    number_of = np.full(len(first), -1)
    for place, rank in enumerate(where[first].tolist()):
        if (vec := value.at(rank)) is not None:
            number_of[place] = numbers.setdefault(vec, len(numbers))
    vecs = list(numbers)
    for number in range(len(vecs)):
        yield ranks_of(where[number_of[like] == number]), vecs[number]


def _places(value: Formulas, ranks: RankList, where: Ints, most: int) -> Ints:
    """A column for each rank: the numbers that its value vector depends on."""
    columns = value.grid.columns
    rows = [np.zeros_like(where), *(columns[name][where] for name in value.names())]
    for repeat in value.around:
        if isinstance(repeat, Vec):
            continue
        rows.append(numbered(repeat, ranks, value.grid.nprocs, most)[0][where])
    return np.array(rows)
