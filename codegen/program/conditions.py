"""Sets of ranks as conditions that a person would write: `rank % 4 != 3`, `0 < rank && rank < 7`.

A condition is about the ranks that can come to it, the universe: among 0..7 the set 4..7 is `rank >= 4`.
Tried in this order: everybody, comparisons, remainders, rows and columns of a grid, the same of the
complement, few runs; a set of numbers is the last resort.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from scalatrace.formula import (
    FALSE,
    TRUE,
    Cond,
    Const,
    Expr,
    Member,
    Var,
    all_of,
    compare,
    div,
    either,
    mod,
    negate,
)
from scalatrace.trace.values.ranklist import MAX_RANK, RankList

__all__ = ["RANK", "among", "rank_variable"]

RANK = "rank"
MAX_RUNS = 2
"""So many runs are written as comparisons."""

NOWHERE = MAX_RANK
"""An end that leaves nothing out."""


def rank_variable(nprocs: int) -> Var:
    """The variable that holds this process's rank in MPI_COMM_WORLD."""
    return Var(RANK, nprocs)


@lru_cache(maxsize=4096)
def among(ranks: RankList, universe: RankList, nprocs: int) -> Cond:
    """The condition under which a rank of the universe is one of `ranks`, which lie in it."""
    if ranks == universe:
        return TRUE
    if not len(ranks):
        return FALSE
    rank, outside = rank_variable(nprocs), universe - ranks
    for rule in (_simple, _grid):
        if (result := rule(rank, ranks, outside, universe)) is not None:
            return result
        if (result := rule(rank, outside, ranks, universe)) is not None:
            return negate(result)
    few = [_run(rank, start, stop) for start, stop in _widen_runs(ranks, outside)]
    if len(few) <= MAX_RUNS:
        return either(*few)
    if len(ranks) <= len(outside):
        return Member(rank, tuple(ranks))
    return Member(rank, tuple(outside), outside=True)


def _run(rank: Expr, start: int, stop: int) -> Cond:
    if stop - start == 1:
        return compare("==", rank, Const(start))
    return all_of(compare(">=", rank, Const(start)), compare("<", rank, Const(stop)))


def _widen_runs(ranks: RankList, outside: RankList) -> list[tuple[int, int]]:
    """The runs of `ranks` when gaps in the universe do not count."""
    runs: list[tuple[int, int]] = []
    for start, stop in ranks.runs:
        if runs and outside.isdisjoint(RankList.from_runs([(runs[-1][1], start)])):
            runs[-1] = (runs[-1][0], stop)
        else:
            runs.append((start, stop))
    return runs


def _simple(rank: Var, ranks: RankList, outside: RankList, universe: RankList) -> Cond | None:
    """One comparison, or two."""
    if len(ranks) == 1:
        return compare("==", rank, Const(ranks.first))
    if len(outside) == 1:
        return compare("!=", rank, Const(outside.first))
    runs = _widen_runs(ranks, outside)
    if len(runs) > 1:
        return None
    low, high = runs[0][0], runs[0][1]
    first, last = outside.first, outside.runs[-1][1] - 1
    below = TRUE if last < low else compare("<", rank, Const(high))
    above = TRUE if first >= high else compare(">=", rank, Const(low))
    return all_of(above, below)


def _grid(rank: Var, ranks: RankList, outside: RankList, universe: RankList) -> Cond | None:
    """A range of remainders, and of quotients, by some width of rows (and of planes of rows)."""
    for width in _widths(universe):
        if (result := _box(rank, ranks, outside, (width,))) is not None:
            return result
    widths = [w for w in _widths(universe) if len(universe) % w == 0]
    for plane in widths:
        for width in (w for w in widths if plane % w == 0 and w < plane):
            if (result := _box(rank, ranks, outside, (width, plane))) is not None:
                return result
    return None


def _widths(universe: RankList) -> Iterator[int]:
    n = universe.runs[-1][1]
    for width in range(2, n):
        if width <= 64 or n % width == 0:
            yield width


def _box(rank: Var, ranks: RankList, outside: RankList, strides: tuple[int, ...]) -> Cond | None:
    """The condition for the smallest box around `ranks` in a grid, if it holds nothing of `outside`."""
    outside_places = [_place(r, strides) for r in outside]
    sides = [[min(c), max(c)] for c in zip(*(_place(r, strides) for r in ranks), strict=True)]
    if any(_inside(place, sides) for place in outside_places):
        return None
    for axis in reversed(range(len(sides))):
        for end, nowhere in ((0, -NOWHERE), (1, NOWHERE)):
            kept, sides[axis][end] = sides[axis][end], nowhere
            if any(_inside(place, sides) for place in outside_places):
                sides[axis][end] = kept
    return all_of(*(_side(rank, strides, axis, *side) for axis, side in enumerate(sides)))


def _place(rank: int, strides: tuple[int, ...]) -> tuple[int, ...]:
    if len(strides) == 1:
        return rank % strides[0], rank // strides[0]
    width, plane = strides
    return rank % width, rank % plane // width, rank // plane


def _inside(place: tuple[int, ...], sides: list[list[int]]) -> bool:
    return all(low <= p <= high for p, (low, high) in zip(place, sides, strict=True))


def _side(rank: Var, strides: tuple[int, ...], axis: int, low: int, high: int) -> Cond:
    """What is left of a range on one axis; the last axis is that of the rank itself, in steps."""
    if axis == len(strides):
        step = strides[-1]
        conds = [compare(">=", rank, Const(low * step))] if low > -NOWHERE else []
        return all_of(*conds, *([compare("<", rank, Const((high + 1) * step))] if high < NOWHERE else []))
    e = mod(rank, strides[0]) if axis == 0 else div(mod(rank, strides[1]), strides[0])
    if low == high:
        return compare("==", e, Const(low))
    conds = [compare(">=", e, Const(low))] if low > -NOWHERE else []
    return all_of(*conds, *([compare("<", e, Const(high + 1))] if high < NOWHERE else []))
