"""Convert a field over the ranks of a grid to an elastic value.

With too many groups of ranks, the elastic value keeps the formulas themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scalatrace.extrap.errors import ExtrapolationError, UndeterminedError
from scalatrace.extrap.grid.plugins import OWNERS
from scalatrace.extrap.instantiate.ambiguity import undetermined
from scalatrace.extrap.instantiate.pieces import Around, Piece, Pieces
from scalatrace.extrap.instantiate.ranks import LISTED, Mask, Ranks, TooManyGroups, column_groups
from scalatrace.extrap.instantiate.sample_points import Sample
from scalatrace.formula import functions_in
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Groups
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.field import CYCLE, Field, Part
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.from_arrays import vec_of_array
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

MAX_TERMS = 256
"""Integers that ranks, or a row with a value for each, are written with; with more they are formulas."""

__all__ = ["OnRival", "Values", "refuse"]

OnRival = Callable[[Field, Part, UndeterminedError], None]
"""Called with a field, its part, and the error for two formulas that differ on the grid."""


def refuse(field: Field, part: Part, error: UndeterminedError) -> None:
    """Raise the error."""
    raise error


class Values:
    """Elastic values on a grid.

    Attributes:
        ranks: of the grid.
        pieces: evaluates fields on them.
        sample: some of the ranks.
    """

    def __init__(self, grid: Grid, inputs: Mapping[str, int], on_rival: OnRival | None = refuse) -> None:
        """Prepare a grid; `on_rival` is called for formulas with a rival of another value, if it is given."""
        self.grid, self.inputs, self._on_rival = grid, dict(inputs), on_rival
        self.ranks = Ranks(grid, inputs)
        self.pieces = Pieces(self.ranks)
        self.sample = Sample(grid, self.ranks.env)
        self._known: dict[Any, tuple[Elastic, Around]] = {}  # with the loops, whose identity is in the key

    def repeat(self, field: Field, ranks: Mask, around: Around) -> tuple[Elastic, Mask] | None:
        """Return a repeat over ranks and the ranks that execute it at least once, or None."""
        part = np.zeros_like(ranks)
        self._compare_rivals(field, ranks, around)
        if self._too_many(field, ranks, None):
            return self._repeated(field, ranks, around)
        try:
            pieces = [running(*piece) for piece in self.pieces.of(field, ranks, None, around)]
            pieces = [(value, mine) for value, mine in pieces if mine.any()]
            for _, mine in pieces:
                part |= mine
            return (self.gathered(pieces, ranks), part) if part.any() else None
        except TooManyGroups:
            return self._repeated(field, ranks, around)

    def _compare_rivals(self, field: Field, ranks: Mask, around: Around) -> None:
        if self._on_rival is not None:
            for part, error in undetermined(self.ranks, field, ranks, around, self.sample.corners):
                self._on_rival(field, part, error)

    def _repeated(self, field: Field, ranks: Mask, around: Around) -> tuple[Elastic, Mask] | None:
        part = np.zeros_like(ranks)
        for one, mine in self.ranks.divided(field, ranks):
            if one.formulas is not None:
                part |= mine & self._running(one, mine)
        return (self.formulas(field, part, around), part) if part.any() else None

    def _running(self, part: Part, mine: Mask) -> Any:
        """Return the mask of ranks on which a repeat is not always 0, as far as that is easily known."""
        assert part.formulas is not None
        if part.shape is None or part.shape == CYCLE:
            return np.any(
                [
                    np.broadcast_to(self.ranks.slot(formula, mine) != 0, mine.shape)
                    for formula in part.formulas
                ],
                0,
            )
        return True

    def param(
        self, field: Field, ranks: Mask, kind: Kind, around: Around
    ) -> tuple[Elastic, list[Piece] | None]:
        """Return a parameter of ranks, and the pieces of peers (None for formulas and other parameters).

        Raises:
            ExtrapolationError: a table would have to have too many entries.
        """
        self._compare_rivals(field, ranks, around)
        if kind is Kind.PEER:
            return self._param(field, ranks, kind, around)
        key = field.parts, kind, tuple(map(id, around)), self.ranks.key(ranks)
        if key not in self._known:  # half of an exchange has the counts of the other
            self._known[key] = self._param(field, ranks, kind, around)[0], around
        return self._known[key][0], None

    def _param(
        self, field: Field, ranks: Mask, kind: Kind, around: Around
    ) -> tuple[Elastic, list[Piece] | None]:
        try:
            if not self._too_many(field, ranks, kind):
                pieces = self.pieces.of(field, ranks, kind, around)
                return self.gathered(pieces, ranks, kind), pieces
        except TooManyGroups:
            if kind in LISTED:
                raise ExtrapolationError(
                    f"a parameter names other {kind.name.lower()}s on each of very many groups of ranks: "
                    "too many for the tables of a trace"
                ) from None
        return self.formulas(field, ranks, around), None

    def _too_many(self, field: Field, ranks: Mask, kind: Kind | None) -> bool:
        """Return whether some of the ranks have more different values already than are written down."""
        if self.grid.nprocs <= self.ranks.most(kind):
            return False
        found = self.sample.groups(field, ranks, kind in LISTED)
        if found > self.ranks.most(kind) and kind in LISTED:
            raise TooManyGroups
        return found > self.ranks.most(kind)

    def formulas(self, field: Field, ranks: Mask, around: Around) -> Formulas:
        """Return the formulas as a value. Raises ExtrapolationError if a rank cannot evaluate them."""
        used = {name for part in field.parts for name in functions_in(part.condition, *(part.formulas or ()))}
        if foreign := used & OWNERS.keys():
            raise ExtrapolationError(
                f"a value of very many ranks would be kept as a formula with {min(foreign)}, which only the "
                f"plug-in {OWNERS[min(foreign)]} knows: extrapolate to fewer ranks"
            )
        inputs = sorted(self.inputs.items())
        named = self.ranks.ranklist(ranks)
        if _terms(named.terms) > MAX_TERMS:
            named = RankList.all(self.grid.nprocs)  # formulas tell of each whether it has a value
        parts = tuple(replace(part, rivals=()) for part in field.parts)
        return Formulas(named, self.grid, inputs, parts, around)

    def gathered(self, pieces: list[Piece], ranks: Mask, kind: Kind | None = None) -> Elastic:
        """Return the elastic value of pieces over ranks; ranks outside all pieces are in no group."""
        everyone = sum(np.count_nonzero(mine) for _, mine in pieces) == np.count_nonzero(ranks)
        if all(isinstance(value, Vec) for value, _ in pieces):
            by_vec: dict[Vec, Mask] = {}
            for value, mine in pieces:
                by_vec[value] = by_vec[value] | mine if value in by_vec else mine
            if len(by_vec) == 1 and everyone:
                return next(iter(by_vec))
            return self._grouped(by_vec, kind)
        values = np.zeros(self.grid.nprocs, dtype=np.int64)
        union = np.zeros(self.grid.nprocs, dtype=bool)
        for value, mine in pieces:
            constant = value.constant if isinstance(value, Vec) else None
            if isinstance(value, Vec) and constant is None:
                return self._mixed(pieces, kind)
            values[mine] = value[mine] if constant is None else constant
            union |= mine
        vec = vec_of_array(values[union], None if kind in LISTED else self._max_terms)
        ranks_of_values = self.ranks.ranklist(union)
        if kind not in LISTED:
            self._check_short(_terms(vec.terms) + _terms(ranks_of_values.terms))
        return Columns(ranks_of_values, vec)

    def _check_short(self, terms: int) -> None:
        """Raise TooManyGroups when formulas are shorter than so many terms."""
        if self._max_terms is not None and terms > self._max_terms:
            raise TooManyGroups

    @property
    def _max_terms(self) -> int | None:
        """Terms beyond which formulas are shorter; None where there are few ranks."""
        return MAX_TERMS if self.grid.nprocs > self.ranks.most(None) else None

    def _mixed(self, pieces: list[Piece], kind: Kind | None) -> Elastic:
        """Groups, for values of which some change from execution to execution and some from rank to rank."""
        by_vec: dict[Vec, Mask] = {}
        for value, mine in pieces:
            one = [(value, mine)] if isinstance(value, Vec) else self._by_number(value, mine)
            for vec, some in one:
                by_vec[vec] = by_vec[vec] | some if vec in by_vec else some
        return self._grouped(by_vec, kind)

    def _by_number(self, values: np.ndarray[Any, Any], mine: Mask) -> list[tuple[Vec, Mask]]:
        return [
            (Vec(column[0]), some)
            for column, some in column_groups(values[mine][None, :], mine, self.ranks.most(None))
        ]

    def _grouped(self, by_vec: Mapping[Vec, Mask], kind: Kind | None) -> Groups:
        groups = [(self.ranks.ranklist(mine), vec) for vec, mine in by_vec.items()]
        if kind not in LISTED:
            self._check_short(sum(_terms(ranks.terms) for ranks, _ in groups))
        return Groups(sorted(groups, key=lambda group: group[0].first))


def running(repeat: Any, ranks: Mask) -> Piece:
    """Return a repeat restricted to the ranks that execute it at least once, and these ranks."""
    if isinstance(repeat, Vec):
        return repeat, ranks if repeat.constant != 0 else np.zeros_like(ranks)
    return repeat, ranks & (repeat != 0)


def _terms(terms: Any) -> int:
    """Integers that a vec is written with."""
    return sum(map(_terms, terms)) if type(terms) is tuple else 1
