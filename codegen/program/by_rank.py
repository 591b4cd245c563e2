"""Elastic values as expressions: what each rank has, by formulas of the rank, conditions and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import lcm
from typing import Any

from scalatrace.codegen.program.conditions import among, rank_variable
from scalatrace.codegen.program.segments import MAX_ALTERNATIVES, one_of
from scalatrace.codegen.program.values import of_vec, unrotate
from scalatrace.formula import (
    Const,
    Expr,
    Item,
    Lookup,
    Special,
    Value,
    add,
    bounds,
    div,
    entry,
    mul,
    number,
    select,
)
from scalatrace.trace.model.elastic import Columns, Elastic, Groups
from scalatrace.trace.symbolic.special_values import looked_up, stored
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

__all__ = ["of_elastic"]

MAX_RANK_ALTERNATIVES = 4
"""Alternatives that conditions on the rank select; more become a table."""

MAX_LIST, MAX_ENTRIES = 64, 1024
"""Values of a list, and entries of a table with such a list for each rank."""

RankGroup = tuple[RankList, Value]
RankTerms = tuple[RankList, tuple[int | Special, ...]]


def of_elastic(
    value: Elastic, universe: RankList, nprocs: int, of: Callable[[Vec], Value], limit: int | None = None
) -> Value:
    """What each rank of the universe has (the value names them all).

    Args:
        of: makes one vector's expression.
        limit: values of each vector that are used; None: not known.
    """
    if isinstance(value, Vec):
        return of(value)
    if isinstance(value, Columns):
        named = value.ranks & universe
        values = {rank: value.value(rank) or 0 for rank in named}
        groups = [(RankList(ranks), of(Vec(v))) for v, ranks in _inverse(values).items()]
    else:
        assert isinstance(value, Groups)  # formulas were written out
        vecs = [(ranks & universe, vec) for ranks, vec in value.groups if not universe.isdisjoint(ranks)]
        if (table := _table_of_lists(vecs, nprocs, of, limit)) is not None:
            return table
        groups = [(ranks, of(vec)) for ranks, vec in vecs]
    return _by_rank(_unite_groups(groups), universe, nprocs)


def _table_of_lists(
    groups: Sequence[tuple[RankList, Vec]], nprocs: int, of: Callable[[Vec], Value], limit: int | None
) -> Value | None:
    """Return an entry of a table with a row for each rank; None: few ranks differ, or lists are long.

    A person writes the neighbours of each rank down, too, where conditions would tell many ranks apart.
    """
    if len(groups) <= MAX_RANK_ALTERNATIVES:
        return None
    lists, is_cyclic = [(ranks, _cycle_of(vec)) for ranks, vec in groups], True
    if not all(values for _, values in lists) and limit is not None and limit <= MAX_LIST:
        lists, is_cyclic = [(ranks, _padded(vec, limit)) for ranks, vec in groups], False
    width = lcm(*(len(values) for _, values in lists))
    nranks = max(ranks.runs[-1][1] for ranks, _ in groups)
    if not 1 < width <= MAX_LIST or width * nranks > MAX_ENTRIES:
        return None
    row_of = {rank: values * (width // len(values)) for ranks, values in lists for rank in ranks}
    rows = [row_of.get(rank, (0,) * width) for rank in range(nranks)]
    place = number(of(Vec(((0, 0, (width, 1, 0)) if is_cyclic else (0, 1, 0),))))
    return looked_up([n for row in rows for n in row], add(mul(rank_variable(nprocs), Const(width)), place))


def _padded(vec: Vec, n: int) -> tuple[int, ...]:
    """Return the first n values; a rank with fewer executions has fewer."""
    values = vec.first(n if vec.length is None else min(n, vec.length))
    return (*values, *[0] * (n - len(values)))


def _cycle_of(vec: Vec) -> tuple[int, ...]:
    """Return the values that a vector repeats, as far as it has any; (): they are many, or no cycle."""
    if vec.constant is not None:
        return (vec.constant,)
    assert not isinstance(vec.terms, int)  # it would be constant
    terms = unrotate(vec.terms) if vec.terms else ()
    last = terms[-1] if terms else 0
    if not isinstance(last, int) and last[0] == 0:  # without end
        if len(terms) > 1 or last[1] != 0:
            return ()
        vec = Vec(tuple(last[2:]))
    return vec.first(vec.length) if vec.length is not None and vec.length <= MAX_LIST else ()


def _inverse(values: dict[int, int]) -> dict[int, list[int]]:
    indices: dict[int, list[int]] = {}
    for rank, value in values.items():
        indices.setdefault(value, []).append(rank)
    return indices


def _unite_groups(groups: Sequence[RankGroup]) -> list[RankGroup]:
    """Groups with equal expressions as one."""
    united: dict[Value, RankList] = {}
    for ranks, e in groups:
        united[e] = united[e] | ranks if e in united else ranks
    return [(ranks, e) for e, ranks in united.items()]


def _by_rank(groups: Sequence[RankGroup], universe: RankList, nprocs: int) -> Value:
    numbers = [(ranks, n) for ranks, e in groups if (n := stored(e)) is not None]
    if len(groups) > 1 and len(numbers) == len(groups):
        values = {rank: n for ranks, n in numbers for rank in ranks}
        if (result := _formula(values, nprocs)) is not None:
            return result
        if len(groups) > MAX_RANK_ALTERNATIVES:
            table = tuple(values.get(rank, 0) for rank in range(max(values) + 1))
            return looked_up(table, rank_variable(nprocs))
    if not groups:
        return Const(0)
    if len(groups) > 2:
        groups = _join_tables(groups, nprocs)
    if len(groups) > MAX_ALTERNATIVES:
        numbered = [(ranks, Const(i)) for i, (ranks, _) in enumerate(groups)]
        piece_number = number(_by_rank(numbered, universe, nprocs))
        return one_of([(i, e) for i, (_, e) in enumerate(groups)], piece_number)
    # The last one needs no condition: the largest, if conditions can select the others.
    *smaller, (_, last) = sorted(groups, key=lambda group: len(group[0]))
    remaining = universe
    chain: list[tuple[RankList, RankList, Value]] = []
    for ranks, e in smaller:
        chain.append((ranks, remaining, e))
        remaining = remaining - ranks
    for ranks, remaining_ranks, e in reversed(chain):
        last = select(among(ranks, remaining_ranks, nprocs), e, last)
    return last


def _join_tables(groups: Sequence[RankGroup], nprocs: int) -> Sequence[RankGroup]:
    """Groups of which those with tables, read at the same index, have one table together.

    On each rank the index is below the length of the rank's own table, and of no other. So a rank with a
    constant has a row of its own only if the index is known to be small enough on all ranks.
    """
    rows: list[RankTerms] = [(ranks, e.table) for ranks, e in groups if isinstance(e, Item | Lookup)]
    constants: list[RankGroup] = [group for group in groups if stored(group[1]) is not None]
    indices = {e.index for _, e in groups if isinstance(e, Item | Lookup)}
    if len(indices) != 1 or len(rows) + len(constants) < len(groups):
        return groups
    (index,), width = indices, max(len(table) for _, table in rows)
    limits = bounds(index)
    if limits is not None and limits[0] >= 0 and limits[1] < width:
        rows += [(ranks, (_entry(e),) * width) for ranks, e in constants]
        constants = []
    if len(rows) < 2:
        return groups
    if len(constants) > 1:
        everyone = _union(constants)
        constants = [(everyone, _by_rank(constants, everyone, nprocs))]
    table = _of_rows(rows, index, len(groups), nprocs)
    return groups if table is None else [*constants, (_union(rows), table)]


def _of_rows(rows: list[RankTerms], index: Expr, ngroups: int, nprocs: int) -> Value | None:
    """An entry of the row of each rank, in one table; None if that is no shorter."""
    width, nranks = len(rows[0][1]), max(ranks.runs[-1][1] for ranks, _ in rows)
    if nranks <= 2 * ngroups and all(len(table) == width for _, table in rows):
        by_rank = {rank: table for ranks, table in rows for rank in ranks}
        entries = [by_rank.get(rank, (0,) * width) for rank in range(nranks)]
        start = mul(rank_variable(nprocs), Const(width))
    elif len(rows) > MAX_RANK_ALTERNATIVES:
        entries = [table for _, table in rows]
        starts = accumulate(map(len, entries), initial=0)
        first = [(ranks, Const(n)) for (ranks, _), n in zip(rows, starts, strict=False)]
        start = number(_by_rank(first, _union(first), nprocs))
    else:
        return None
    return entry([value for row in entries for value in row], add(start, index))


def _entry(e: Value) -> int | Special:
    assert isinstance(e, Const | Special)
    return e.value if isinstance(e, Const) else e


def _union(groups: Sequence[tuple[RankList, object]]) -> RankList:
    return RankList.from_runs(run for ranks, _ in groups for run in ranks.runs)


def _formula(values: dict[int, int], nprocs: int) -> Value | None:
    """A short rule for the values of these ranks, evenly spaced from the first on."""
    ranks = sorted(values)
    if len(ranks) < 3:
        return None
    step = ranks[1] - ranks[0]
    if ranks != list(range(ranks[0], ranks[-1] + 1, step)):
        return None
    terms = compress(values[rank] for rank in ranks)
    if len(terms) > 1 or len(terms[0]) > 3 + MAX_RANK_ALTERNATIVES or not _short(terms[0]):
        return None
    if _grows(terms[0]) and min(values.values()) < SPECIAL_MAX:  # from a rank to MPI_PROC_NULL
        return None
    rank = rank_variable(nprocs)
    index = div(add(rank, Const(-ranks[0])), step) if step > 1 else add(rank, Const(-ranks[0]))
    limits = bounds(index)
    if limits is not None and limits[0] < 0 and not isinstance(terms[0][2], int):
        return None
    return of_vec(Vec(terms), index, len(ranks))


def _short(term: Any) -> bool:
    return all(isinstance(t, int) or (len(t) == 3 and isinstance(t[2], int)) for t in term[2:])


def _grows(term: Any) -> bool:
    return any(t[1] != 0 for t in (term, *term[2:]) if not isinstance(t, int))
