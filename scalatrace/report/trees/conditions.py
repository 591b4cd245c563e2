"""Sets of ranks as conditions on coordinates of the grid: `x>0 and y<Y-1`, not a list of a thousand runs.

A condition is true on exactly the ranks of its set. It is a product of conditions on single coordinates, or
what such a product leaves out, in the notation of formulas.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.report.style import ranks as ranks_text
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.from_arrays import ranks_in
from scalatrace.trace.values.ranklist import RankList

__all__ = ["RankConditions"]

MAX_PLAIN_COMPARISONS, MIN_PLAIN_RANKS = 2, 3
"""Comparisons up to which, and ranks from which on a condition is preferred to numbers that are shorter."""

MAX_COMPARISONS = 4


class RankConditions:
    """Conditions on the coordinates of a grid.

    Args:
        budget: ranks that may be looked at in all; sets beyond keep their numbers.
    """

    def __init__(self, grid: Grid, budget: int) -> None:
        self._grid, self._remaining = grid, budget
        self._all = RankList.all(grid.nprocs)
        self._condition = cache(self._find_condition)

    def condition(self, ranks: RankList, among: RankList | None = None) -> str | None:
        """Return a condition that is true on exactly these of some ranks.

        Args:
            among: the ranks that the condition is stated for; None: all.

        Returns:
            None where the set is a single rank, all of them, or no short condition describes it.
        """
        return self._condition(ranks, self._all if among is None else among)

    def _find_condition(self, ranks: RankList, among: RankList) -> str | None:
        if not 1 < len(ranks) < len(among) or self._remaining < len(among):
            return None
        self._remaining -= len(among)
        domain = ranks_in(among)
        text = self._product(ranks_in(ranks), domain) or self._remainder(among - ranks, domain)
        if text is None or (ncomparisons := _count_comparisons(text)) > MAX_COMPARISONS:
            return None
        most = MAX_PLAIN_COMPARISONS if len(ranks) >= MIN_PLAIN_RANKS else 1
        return text if ncomparisons <= most or len(text) < len(ranks_text(ranks)) else None

    def _product(self, own: Ints, domain: Ints) -> str | None:
        """Return what holds for each coordinate of some ranks, if it holds for no others of the domain."""
        axes = self._axes(own, domain)
        return None if axes is None else _joined(axes, " and ")

    def _remainder(self, others: RankList, domain: Ints) -> str | None:
        """Return what holds for some coordinate of the ranks, if it holds for none of the others."""
        if len(others) == 1:  # `1-15` is all but rank 0
            return None
        axes = self._axes(ranks_in(others), domain)
        return None if axes is None else _joined([(name, ~axis) for name, axis in axes], " or ")

    def _axes(self, own: Ints, domain: Ints) -> list[tuple[str, Mask]] | None:
        """Return the coordinates of ranks, along each dimension in which some of the domain have others.

        None: another rank of the domain has these coordinates, too.
        """
        axes: list[tuple[str, Mask]] = []
        fitting = np.ones(len(domain), dtype=bool)
        for name, side in zip(self._grid.coords, self._grid.dims, strict=True):
            place = self._grid.columns[name]
            present = np.zeros(side, dtype=bool)
            present[place[own]] = True
            holds = present[place[domain]]
            if not holds.all():
                axes.append((name, present))
                fitting &= holds
        return axes if int(fitting.sum()) == len(own) else None


def _joined(axes: list[tuple[str, Mask]], word: str) -> str | None:
    texts = [_interval(name, present) for name, present in axes]
    if None in texts:
        return None
    inner = [f"({text})" if " or " in text and word == " and " else text for text in texts if text]
    return word.join(inner) if len(inner) > 1 else next(iter(texts))


def _interval(name: str, present: Mask) -> str | None:
    """Return the condition on one coordinate; None: the numbers follow no short one."""
    numbers, side, top = np.flatnonzero(present), len(present), name.upper()
    low, high = int(numbers[0]), int(numbers[-1])
    if len(numbers) == high - low + 1:
        return _bounds(name, low, high, side)
    absent = np.flatnonzero(~present)
    if len(absent) == 1:
        return f"{name}!={absent[0]}"
    if numbers.tolist() == [0, side - 1]:
        return f"{name}==0 or {name}=={top}-1"
    step = int(numbers[1]) - low
    is_stride = low < step and numbers.tolist() == list(range(low, side, step))
    return f"{name}%{step}=={low}" if is_stride else None


def _bounds(name: str, low: int, high: int, side: int) -> str:
    top = name.upper()
    if low == high:
        return f"{name}=={top}-1" if low == side - 1 > 0 else f"{name}=={low}"
    if low == 0:
        return f"{name}<{top}-1" if high == side - 2 else f"{name}<{high + 1}"
    if high == side - 1:
        return f"{name}>{low - 1}" if low == 1 else f"{name}>={low}"
    return f"0<{name}<{top}-1" if (low, high) == (1, side - 2) else f"{low}<={name}<={high}"


def _count_comparisons(text: str) -> int:
    return sum(text.count(op) for op in ("<", ">", "==", "!="))
