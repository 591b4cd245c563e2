"""Evaluate a field over the ranks of a grid: value vectors, each with its ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.extrap.fit.table_values import TABLES, Tables
from scalatrace.extrap.instantiate.ranks import (
    Ints,
    Mask,
    Ranks,
    TooManyGroups,
    column_groups,
    masks_of,
    rank_atoms,
)
from scalatrace.formula import Var, names_in
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.model.elastic import Elastic, Formulas
from scalatrace.trace.model.rank_classes import class_numbers
from scalatrace.trace.model.tables import IntArray, Kind
from scalatrace.trace.symbolic.evaluate import along, arrays_of_part, counted
from scalatrace.trace.symbolic.field import (
    CYCLE,
    ELEMENTS,
    INDEXED,
    LOOPED,
    RANKWISE,
    SUMMED_ELEMENTS,
    Field,
    Part,
    levels_of,
)
from scalatrace.trace.symbolic.shapes import cycle, join, vec_from
from scalatrace.trace.symbolic.special_values import evaluate
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.from_arrays import distinct
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

Piece = tuple[Any, Mask]
"""A vec and its ranks, or an array over all ranks of which these count."""

Around = tuple[Elastic, ...]
"""The repeats of the loops around something, the outermost first."""

LoopGroups = list[tuple[tuple[Vec, ...], Mask]]
"""Loops, each as the vecs of its repeats, with the ranks that run them."""

__all__ = ["Around", "Piece", "Pieces"]


class Pieces:
    """Evaluator of fields on the ranks of a grid.

    Attributes:
        tables: entries that parameters name.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks, self.tables = ranks, Tables()
        self._known: dict[int, tuple[Elastic, Ints, list[Vec]]] = {}
        self._along: dict[Any, Vec] = {}
        self._loops: dict[Any, tuple[Around, LoopGroups]] = {}  # with the loops, whose identity is in the key

    def of(self, field: Field, ranks: Mask, kind: Kind | None, around: Around) -> list[Piece]:
        """Return a field's values over ranks: a vec with its ranks, or an array with one value per rank.

        Raises:
            TooManyGroups: there are more groups than are written down.
        """
        result: list[Piece] = []
        for part, mine in self._ranks.divided(field, ranks):
            result += self.of_part(part, mine, kind, around)
            if len(result) > max(self._ranks.most(kind), len(field.parts)):
                raise TooManyGroups
        return result

    def of_part(self, part: Part, mine: Mask, kind: Kind | None, around: Around) -> list[Piece]:
        """Return a part's values."""
        if part.formulas is None:
            return []
        if part.shape == INDEXED:
            return self.indexed(part, mine, self._ranks.most(kind))
        if part.shape in (ELEMENTS, SUMMED_ELEMENTS):
            return self.arrays(part, mine, around, self._ranks.most(kind))
        if part.shape == LOOPED:
            return self.looped(part, mine, around, self._ranks.most(kind))
        if part.shape is None and kind not in TABLES:
            value = self._ranks.slot(part.formulas[0], mine)
            return [(value if isinstance(value, np.ndarray) else self.vec(part, [value], kind), mine)]
        return self.slotted(part, mine, kind)

    def slotted(self, part: Part, mine: Mask, kind: Kind | None) -> list[Piece]:
        """Return the values of a part with several formulas: a vec per set of their values."""
        assert part.formulas is not None
        like = np.zeros(np.count_nonzero(mine), dtype=np.int64)
        first = np.zeros(1, dtype=np.int64)
        for formula in part.formulas:  # one after the other: each may be as long as there are ranks
            slot = self._ranks.slot(formula, mine)
            if isinstance(slot, np.ndarray):
                first, like = distinct(np.array([like, slot[mine]]))
                if len(first) > self._ranks.most(kind):
                    raise TooManyGroups
        ranks = np.flatnonzero(mine)
        env = {name: row[ranks[first]] if np.ndim(row) else row for name, row in self._ranks.env.items()}
        rows = [np.broadcast_to(evaluate(formula, env), first.shape).tolist() for formula in part.formulas]
        columns = zip(*rows, strict=True) if rows else [()] * len(first)
        vecs = [self.vec(part, list(column), kind) for column in columns]
        return list(zip(vecs, masks_of(like, len(first), mine), strict=True))

    def indexed(self, part: Part, mine: Mask, most: int) -> list[Piece]:
        """Return the values of a part that depend on the execution number: a vec per set of coordinates."""
        assert part.formulas is not None
        length, value = part.formulas
        names = sorted((names_in(length, value)) & RANKWISE)
        by_vec: dict[Vec, Mask] = {}
        for column, some in self.places(names, mine):
            vec = counted(length, value, {**self._ranks.env, **dict(zip(names, column, strict=True))})
            by_vec[vec] = by_vec[vec] | some if vec in by_vec else some
            if len(by_vec) > most:
                raise TooManyGroups
        return list(by_vec.items())

    def arrays(self, part: Part, mine: Mask, around: Around, most: int) -> list[Piece]:
        """Return the arrays of a part whose elements depend on their index."""
        assert part.formulas is not None
        levels = levels_of(part)
        inner, endless = around[len(around) - levels :], len(around) > levels
        atoms = rank_atoms(part.formulas)
        names = {atom: Var(f"a{k}_") for k, atom in enumerate(atoms)}
        formulas = tuple(Substitution({}, parts=names).value(formula) for formula in part.formulas)
        renamed = replace(part, formulas=formulas)
        env = {name: row[mine] if np.ndim(row) else row for name, row in self._ranks.env.items()}
        count = int(np.count_nonzero(mine))
        columns = [np.broadcast_to(evaluate(atom, env), (count,)) for atom in atoms]
        by_vec: dict[Vec, Mask] = {}
        for column, some in column_groups(np.array(columns), mine, most) if atoms else [((), mine)]:
            place = {**self._ranks.env, **{names[a].name: n for a, n in zip(atoms, column, strict=True)}}
            for loops, these in self.loop_groups(inner, some) if levels else [((), some)]:
                numbers = [
                    self.tables.array(IntArray(length, elements), part.shape == SUMMED_ELEMENTS)
                    for length, elements in arrays_of_part(renamed, place, loops)
                ]
                vec = cycle(numbers) if endless or len(set(numbers)) == 1 else vec_of(numbers)
                by_vec[vec] = by_vec[vec] | these if vec in by_vec else these
                if len(by_vec) > most:
                    raise TooManyGroups
        return list(by_vec.items())

    def looped(self, part: Part, mine: Mask, around: Around, most: int) -> list[Piece]:
        """Return the values of a part that depend on loops: a vec per set of coordinates and loops."""
        assert part.formulas is not None
        levels, formula = levels_of(part), part.formulas[1]
        if not levels:
            value = self._ranks.slot(formula, mine)
            return [(value if isinstance(value, np.ndarray) else Vec(value), mine)]
        inner, endless = around[-levels:], len(around) > levels
        names = sorted(names_in(formula) & RANKWISE)
        by_vec: dict[Vec, Mask] = {}
        for column, some in self.places(names, mine):
            place = {**self._ranks.env, **dict(zip(names, column, strict=True))}
            for loops, these in self.loop_groups(inner, some):
                key = formula, tuple(column), loops, endless  # many call sites have the same formula
                if key not in self._along:
                    self._along[key] = along(formula, place, loops, endless)
                vec = self._along[key]
                by_vec[vec] = by_vec[vec] | these if vec in by_vec else these
                if len(by_vec) > most:
                    raise TooManyGroups
        return list(by_vec.items())

    def places(self, names: list[str], mine: Mask) -> Iterator[tuple[list[int], Mask]]:
        """Yield the different values of some names, and the ranks of each."""
        if not names:
            return iter([([], mine)])
        return column_groups(
            np.array([self._ranks.env[name][mine] for name in names]), mine, self._ranks.most(None)
        )

    def loop_groups(self, around: Around, ranks: Mask) -> LoopGroups:
        """Return the different loops around these ranks' executions, and the ranks of each."""
        key = tuple(map(id, around)), self._ranks.key(ranks)
        if key not in self._loops:
            self._loops[key] = around, self._loop_groups(around, ranks)
        return self._loops[key][1]

    def _loop_groups(self, around: Around, ranks: Mask) -> LoopGroups:
        if any(isinstance(repeat, Formulas) for repeat in around):
            raise TooManyGroups
        where = np.flatnonzero(ranks)
        loops_of = [self._numbered(repeat) for repeat in around]
        rows = np.array([np.zeros_like(where), *(numbers[where] for numbers, _ in loops_of)])
        runs_all = (rows >= 0).all(axis=0)
        where, rows = where[runs_all], rows[:, runs_all]
        if not len(where):
            return []
        first, like = distinct(rows)
        if len(first) > self._ranks.most(None):
            raise TooManyGroups
        mine = np.zeros_like(ranks)
        mine[where] = True
        loops = [
            tuple(vecs[row[at]] for row, (_, vecs) in zip(rows[1:], loops_of, strict=True))
            for at in first.tolist()
        ]
        return list(zip(loops, masks_of(like, len(first), mine), strict=True))

    def _numbered(self, repeat: Elastic) -> tuple[Ints, list[Vec]]:
        """Return which of these vecs each rank has; -1 for none."""
        if id(repeat) not in self._known:
            nprocs = self._ranks.grid.nprocs
            try:
                found = class_numbers(repeat, RankList.all(nprocs), nprocs, self._ranks.most(None))
            except UsageError:
                raise TooManyGroups from None
            self._known[id(repeat)] = repeat, *found
        return self._known[id(repeat)][1:]

    def vec(self, part: Part, slots: list[int], kind: Kind | None) -> Vec:
        """Return the vec of a part's integers."""
        if part.shape == CYCLE:
            return cycle(slots)
        if kind in TABLES:
            assert kind is not None
            return self.tables.vec(kind, join(part.shape, iter(slots)))
        return vec_from(part.shape, iter(slots))
