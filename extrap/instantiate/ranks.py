"""Evaluate conditions and formulas over all ranks of a grid at once; group ranks with equal values.

Only masks and columns have one element per rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from scalatrace.extrap.fit.table_values import TABLES
from scalatrace.extrap.fit.undetermined.rivals import differing
from scalatrace.extrap.grid.plugins import OWNERS
from scalatrace.formula import Cond, Expr, Value, children, functions_in, names_in
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.field import EVERYWHERE, RANKWISE, Field, Part
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.special_values import evaluate
from scalatrace.trace.values.from_arrays import distinct, ranks_of_mask
from scalatrace.trace.values.ranklist import RankList

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

MAX_GROUPS = 128
"""Groups of ranks that are written down; more are formulas. So are no values of so few ranks."""

MAX_BYTES = 1 << 28
"""Of masks: where formulas cannot be kept, because tables have to hold what they stand for."""

LISTED = (*TABLES, Kind.COMM)
"""Kinds of parameters whose integers are entries of tables."""

__all__ = [
    "LISTED",
    "MAX_GROUPS",
    "Ints",
    "Mask",
    "Ranks",
    "TooManyGroups",
    "column_groups",
    "masks_of",
    "rank_atoms",
]


class TooManyGroups(Exception):  # noqa: N818 - it is no error
    """Internal signal: more groups of ranks than a value may list."""


class Ranks:
    """All ranks of a grid.

    Attributes:
        env: what names stand for, of coordinates and ranks an array.
    """

    def __init__(self, grid: Grid, inputs: Mapping[str, int]) -> None:
        self.grid = grid
        self.env: dict[str, Any] = {**grid.columns, **inputs}
        self._axes: dict[str, Any] = {**grid.axes, **inputs}
        self._masks: dict[Cond, Mask] = {}
        self._differing: dict[tuple[Expr, Expr], bytes] = {}
        self._ranks: dict[bytes, RankList] = {}

    def most(self, kind: Kind | None) -> int:
        """Return the maximum number of groups of a parameter or a repeat (None)."""
        return max(MAX_BYTES // self.grid.nprocs, 1) if kind in LISTED else MAX_GROUPS

    def mask(self, condition: Cond) -> Mask:
        """Return the mask of ranks for which a condition holds."""
        if condition not in self._masks:
            found = np.asarray(self.over_ranks(condition), dtype=bool)
            self._masks[condition] = np.broadcast_to(found, (self.grid.nprocs,))
        return self._masks[condition]

    def differing(self, formula: Expr, rival: Expr) -> Mask:
        """Return the mask of ranks on which two formulas differ."""
        pair = formula, rival
        if pair not in self._differing:
            found = self._in_a_row(differing(*pair, self._columns(*pair)))
            self._differing[pair] = self.key(np.broadcast_to(found, (self.grid.nprocs,)))
        packed = np.frombuffer(self._differing[pair], dtype=np.uint8)
        return np.unpackbits(packed, count=self.grid.nprocs).view(bool)

    def over_ranks(self, formula: Value | Cond) -> Any:
        """Return a formula's value: one number, or an array with one per rank."""
        value = evaluate(formula, self._columns(formula))
        return int(value) if np.ndim(value) == 0 else self._in_a_row(value)

    def _columns(self, *formulas: Value | Cond) -> dict[str, Any]:
        """Return the axes, shorter than columns over ranks, which a function of a plug-in may want."""
        is_of_plugin = any(functions_in(formula) & OWNERS.keys() for formula in formulas)
        return self.env if is_of_plugin else self._axes

    def _in_a_row(self, values: Any) -> Any:
        """Values over the axes as values over ranks; others as they are."""
        return values if np.ndim(values) < 2 else np.broadcast_to(values, self.grid.shape).reshape(-1)

    def divided(self, field: Field, ranks: Mask) -> list[tuple[Part, Mask]]:
        """Return each part with its ranks; parts without ranks are left out."""
        result: list[tuple[Part, Mask]] = []
        left = ranks
        for part in field.parts:
            if part.condition == EVERYWHERE:
                return [*result, (part, left)] if left.any() else result
            mine = left & self.mask(part.condition)
            left = left & ~mine
            if mine.any():
                result.append((part, mine))
        return result

    @staticmethod
    def key(mask: Mask) -> bytes:
        """Return a key that identifies a mask."""
        return np.packbits(mask).tobytes()

    def ranklist(self, mask: Mask) -> RankList:
        """Return the ranks of a mask."""
        key = self.key(mask)
        if key not in self._ranks:
            self._ranks[key] = ranks_of_mask(mask)
        return self._ranks[key]

    def slot(self, formula: Value, mine: Mask) -> Any:
        """Return a formula's value, an int if all these ranks have the same. Raises FormulaError."""
        value = self.over_ranks(formula)
        if not isinstance(value, np.ndarray):
            return int(value)
        here = value if mine.all() else value[mine]
        return int(here[0]) if (here == here[0]).all() else value


def rank_atoms(formulas: Iterable[Value]) -> tuple[Expr, ...]:
    """Return the largest parts of formulas that depend on the rank, and on no counter or index."""
    atoms: dict[Expr, None] = {}
    pending: list[Value | Cond] = list(formulas)
    while pending:
        part = pending.pop()
        names = names_in(part)
        if not names & RANKWISE:
            continue
        if isinstance(part, Expr) and not any(map(is_counter, names)):
            atoms[part] = None
        else:
            pending += children(part)
    return tuple(atoms)


def column_groups(table: np.ndarray[Any, Any], mine: Mask, most: int) -> Iterator[tuple[list[int], Mask]]:
    """Return the different columns of a table with one column per rank, and the ranks of each.

    Raises:
        TooManyGroups: they are more than `most`.
    """
    first, like = distinct(table)
    if len(first) > most:
        raise TooManyGroups
    columns = table[:, first].T.tolist()
    return zip(columns, masks_of(like, len(first), mine), strict=True)


def masks_of(like: Ints, count: int, mine: Mask) -> Iterator[Mask]:
    """Yield a mask per group; `like` has the group number of each of these ranks."""
    if count == 1:
        yield mine
        return
    places = np.flatnonzero(mine)
    for number in range(count):
        some = np.zeros_like(mine)
        some[places[like == number]] = True
        yield some
