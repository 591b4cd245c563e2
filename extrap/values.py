"""A field's formulas evaluated over the ranks of a grid: an elastic value.

Masks over all ranks, one per condition and group, are the only thing as long as there are ranks. Where there
would be too many groups, the formulas themselves are the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from extrap.contents import TABLES, Tables
from extrap.errors import ExtrapolationError
from extrap.plugins import OWNERS
from extrap.sample import Sample
from scalatrace.errors import UsageError
from scalatrace.trace.alike import groups_of
from scalatrace.trace.elastic import Columns, Elastic, Formulas, Groups
from scalatrace.trace.evaluate import along, counted
from scalatrace.trace.expression import LARGEST, called_in, evaluate, names_of
from scalatrace.trace.field import CYCLE, INDEXED, LOOPED, RANKWISE, Field, Part
from scalatrace.trace.from_arrays import distinct, ranks_of_mask, vec_of_array
from scalatrace.trace.grid import Grid
from scalatrace.trace.ranklist import RankList
from scalatrace.trace.shapes import cycle, join, vec_from
from scalatrace.trace.tables import Kind
from scalatrace.trace.values import Vec

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

Piece = tuple[Any, Mask]
"""A vec and its ranks, or an array over all ranks of which these count."""

Around = tuple[Elastic, ...]
"""The repeats of the loops around something, the outermost first."""

MOST_GROUPS = 128
"""Groups of ranks that are written down; more are formulas. So are no values of so few ranks."""

MOST_TERMS = 256
"""Integers that ranks, or a row with a value for each, are written with; with more they are formulas."""

MOST_BYTES = 1 << 28
"""Of masks: where formulas cannot be kept, because tables have to hold what they stand for."""

LISTED = (*TABLES, Kind.COMM)
"""Kinds of parameters whose integers are entries of tables."""

__all__ = ["Around", "Mask", "Piece", "Values"]


class TooManyGroups(Exception):  # noqa: N818 - it is no error
    """There are too many groups of ranks to write down."""


class Values:
    """Elastic values on a grid.

    Attributes:
        env: what names stand for, of coordinates and ranks an array.
        tables: entries that parameters name.
        sample: some of the ranks.
    """

    def __init__(self, grid: Grid, inputs: Mapping[str, int]) -> None:
        self.grid, self.inputs = grid, dict(inputs)
        self.env: dict[str, Any] = {**grid.columns, **inputs}
        self._axes: dict[str, Any] = {**grid.axes, **inputs}
        self.tables = Tables()
        self.sample = Sample(grid, self.env)
        self._masks: dict[str, Mask] = {}
        self._ranks: dict[bytes, RankList] = {}

    def repeat(self, field: Field, ranks: Mask, around: Around) -> tuple[Elastic, Mask] | None:
        """A repeat over ranks, and those that run something at all; None when nobody does."""
        part = np.zeros_like(ranks)
        if self._too_many(field, ranks, None):
            return self._repeated(field, ranks, around)
        try:
            pieces = [running(*piece) for piece in self.pieces(field, ranks, None, around)]
            pieces = [(value, mine) for value, mine in pieces if mine.any()]
            for _, mine in pieces:
                part |= mine
            return (self.gathered(pieces, ranks), part) if part.any() else None
        except TooManyGroups:
            return self._repeated(field, ranks, around)

    def _repeated(self, field: Field, ranks: Mask, around: Around) -> tuple[Elastic, Mask] | None:
        part = np.zeros_like(ranks)
        for one, mine in self.divided(field, ranks):
            if one.formulas is not None:
                part |= mine & self._running(one, mine)
        return (self.formulas(field, part, around), part) if part.any() else None

    def _running(self, part: Part, mine: Mask) -> Any:
        """Where a repeat is not 0 throughout, as far as that can be told at once."""
        assert part.formulas is not None
        if part.shape is None or part.shape == CYCLE:
            return np.any(
                [np.broadcast_to(self.slot(text, mine) != 0, mine.shape) for text in part.formulas], 0
            )
        return True

    def param(
        self, field: Field, ranks: Mask, kind: Kind, around: Around
    ) -> tuple[Elastic, list[Piece] | None]:
        """A parameter of ranks, and its pieces, None where it is formulas.

        Raises:
            ExtrapolationError: a table would have to have too many entries.
        """
        try:
            if not self._too_many(field, ranks, kind):
                pieces = self.pieces(field, ranks, kind, around)
                return self.gathered(pieces, ranks, kind), pieces
        except TooManyGroups:
            if kind in LISTED:
                raise ExtrapolationError(
                    f"a parameter names other {kind.name.lower()}s on each of very many groups of ranks: "
                    "too many for the tables of a trace"
                ) from None
        return self.formulas(field, ranks, around), None

    def _too_many(self, field: Field, ranks: Mask, kind: Kind | None) -> bool:
        """Whether some of the ranks have more different values already than are written down."""
        if self.grid.nprocs <= self.most(kind):
            return False
        found = self.sample.groups(field, ranks, kind in LISTED)
        if found > self.most(kind) and kind in LISTED:
            raise TooManyGroups
        return found > self.most(kind)

    def most(self, kind: Kind | None) -> int:
        """Groups that a parameter or a repeat (None) may have."""
        return max(MOST_BYTES // self.grid.nprocs, 1) if kind in LISTED else MOST_GROUPS

    def formulas(self, field: Field, ranks: Mask, around: Around) -> Formulas:
        """The formulas as a value. Raises ExtrapolationError when not everybody can evaluate them."""
        used = {name for part in field.parts for text in part.formulas or () for name in called_in(text)}
        used |= {name for part in field.parts for name in called_in(part.condition)}
        if foreign := used & OWNERS.keys():
            raise ExtrapolationError(
                f"a value of very many ranks would be kept as a formula with {min(foreign)}, which only the "
                f"plug-in {OWNERS[min(foreign)]} knows: extrapolate to fewer ranks"
            )
        inputs = sorted(self.inputs.items())
        named = self.ranklist(ranks)
        if _terms(named.terms) > MOST_TERMS:
            named = RankList.all(self.grid.nprocs)  # formulas tell of each whether it has a value
        return Formulas(named, self.grid, inputs, field.parts, around)

    def mask(self, condition: str) -> Mask:
        """The ranks of a condition."""
        if condition not in self._masks:
            found = np.asarray(self.over_ranks(condition), dtype=bool)
            self._masks[condition] = np.broadcast_to(found, (self.grid.nprocs,))
        return self._masks[condition]

    def over_ranks(self, text: str) -> Any:
        """A formula's value: one number, or an array with one per rank."""
        if called_in(text) & OWNERS.keys():
            return evaluate(text, self.env)  # a plug-in's function may want them in a row
        value = evaluate(text, self._axes)
        if np.ndim(value) == 0:
            return int(value)
        return np.broadcast_to(value, self.grid.shape).reshape(-1)

    def divided(self, field: Field, ranks: Mask) -> list[tuple[Part, Mask]]:
        """Each part with its ranks, those without any left out."""
        found, left = [], ranks
        for part in field.parts:
            mine = left & self.mask(part.condition)
            left = left & ~mine
            if mine.any():
                found.append((part, mine))
        return found

    def ranklist(self, mask: Mask) -> RankList:
        """A mask's ranks."""
        key = np.packbits(mask).tobytes()
        if key not in self._ranks:
            self._ranks[key] = ranks_of_mask(mask)
        return self._ranks[key]

    def gathered(self, pieces: list[Piece], ranks: Mask, kind: Kind | None = None) -> Elastic:
        """The elastic value of pieces over ranks; those that are in none of them are in no group."""
        everyone = sum(int(mine.sum()) for _, mine in pieces) == int(ranks.sum())
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
        vec = vec_of_array(values[union])
        ranks_of_values = self.ranklist(union)
        if kind not in LISTED:
            self._check_short(_terms(vec.terms) + _terms(ranks_of_values.terms))
        return Columns(ranks_of_values, vec)

    def _check_short(self, terms: int) -> None:
        """Raise TooManyGroups when formulas are shorter than so many terms."""
        if terms > MOST_TERMS and self.grid.nprocs > MOST_GROUPS:
            raise TooManyGroups

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
            (Vec(column[0]), some) for column, some in alike(values[mine][None, :], mine, self.most(None))
        ]

    def _grouped(self, by_vec: Mapping[Vec, Mask], kind: Kind | None) -> Groups:
        groups = [(self.ranklist(mine), vec) for vec, mine in by_vec.items()]
        if kind not in LISTED:
            self._check_short(sum(_terms(ranks.terms) for ranks, _ in groups))
        return Groups(sorted(groups, key=lambda group: group[0].first))

    def pieces(self, field: Field, ranks: Mask, kind: Kind | None, around: Around) -> list[Piece]:
        """A field's values over ranks: a vec with its ranks, or an array where each has one value.

        Raises:
            TooManyGroups: there are more groups than are written down.
        """
        found: list[Piece] = []
        for part, mine in self.divided(field, ranks):
            found += self.of_part(part, mine, kind, around)
            if len(found) > max(self.most(kind), len(field.parts)):
                raise TooManyGroups
        return found

    def of_part(self, part: Part, mine: Mask, kind: Kind | None, around: Around) -> list[Piece]:
        """A part's values."""
        if part.formulas is None:
            return []
        if part.shape == INDEXED:
            return self.indexed(part, mine)
        if part.shape == LOOPED:
            return self.looped(part, mine, around)
        if part.shape is None and kind not in TABLES:
            value = self.slot(part.formulas[0], mine)
            return [(value if isinstance(value, np.ndarray) else self.vec(part, [value], kind), mine)]
        return self.slotted(part, mine, kind)

    def slotted(self, part: Part, mine: Mask, kind: Kind | None) -> list[Piece]:
        """A part with a formula for each of several integers: a vec per set of their values."""
        assert part.formulas is not None
        like = np.zeros(int(mine.sum()), dtype=np.int64)
        first = np.zeros(1, dtype=np.int64)
        for text in part.formulas:  # one after the other: each may be as long as there are ranks
            slot = self.slot(text, mine)
            if isinstance(slot, np.ndarray):
                first, like = distinct(np.array([like, slot[mine]]))
                if len(first) > self.most(kind):
                    raise TooManyGroups
        ranks = np.flatnonzero(mine)
        env = {name: row[ranks[first]] if np.ndim(row) else row for name, row in self.env.items()}
        rows = [np.broadcast_to(evaluate(text, env), first.shape).tolist() for text in part.formulas]
        vecs = [self.vec(part, list(column), kind) for column in zip(*rows, strict=True)]
        return list(zip(vecs, masks_of(like, len(first), mine), strict=True))

    def indexed(self, part: Part, mine: Mask) -> list[Piece]:
        """A part whose values follow the number of the execution: a vec per set of coordinates."""
        assert part.formulas is not None
        length, value = part.formulas
        names = sorted((names_of(length) | names_of(value)) & RANKWISE)
        by_vec: dict[Vec, Mask] = {}
        for column, some in self.places(names, mine):
            vec = counted(length, value, {**self.env, **dict(zip(names, column, strict=True))})
            by_vec[vec] = by_vec[vec] | some if vec in by_vec else some
        return list(by_vec.items())

    def looped(self, part: Part, mine: Mask, around: Around) -> list[Piece]:
        """A part whose values follow the loops around it: a vec per set of coordinates and loops."""
        assert part.formulas is not None
        levels, text = int(part.formulas[0]), part.formulas[1]
        if not levels:
            value = self.slot(text, mine)
            return [(value if isinstance(value, np.ndarray) else Vec(value), mine)]
        inner, endless = around[-levels:], len(around) > levels
        names = sorted(names_of(text) & RANKWISE)
        by_vec: dict[Vec, Mask] = {}
        for column, some in self.places(names, mine):
            place = {**self.env, **dict(zip(names, column, strict=True))}
            for loops, these in self.alike_loops(inner, some):
                vec = along(text, place, loops, endless)
                by_vec[vec] = by_vec[vec] | these if vec in by_vec else these
        return list(by_vec.items())

    def places(self, names: list[str], mine: Mask) -> Iterator[tuple[list[int], Mask]]:
        """The different values of some names, and the ranks of each."""
        if not names:
            return iter([([], mine)])
        return alike(np.array([self.env[name][mine] for name in names]), mine, self.most(None))

    def alike_loops(self, around: Around, ranks: Mask) -> list[tuple[tuple[Vec, ...], Mask]]:
        """The different loops around something that these ranks run, and the ranks of each."""
        if any(isinstance(repeat, Formulas) for repeat in around):
            raise TooManyGroups
        found: list[tuple[tuple[Vec, ...], Mask]] = [((), ranks)]
        for repeat in around:
            longer = []
            for loops, mine in found:
                for some, vec in [(None, repeat)] if isinstance(repeat, Vec) else self._groups(repeat):
                    these = mine if some is None else mine & some
                    if these.any():
                        longer.append(((*loops, vec), these))
            found = longer
            if len(found) > self.most(None):
                raise TooManyGroups
        return found

    def _groups(self, repeat: Elastic) -> Iterator[tuple[Mask, Vec]]:
        everyone = RankList.all(self.grid.nprocs)
        try:
            groups = list(groups_of(repeat, everyone, self.most(None)))
        except UsageError:
            raise TooManyGroups from None
        for ranks, vec in groups:
            mask = np.zeros(self.grid.nprocs, dtype=bool)
            for start, stop in ranks.runs:
                mask[start:stop] = True
            yield mask, vec

    def slot(self, text: str, mine: Mask) -> Any:
        """A formula's value: an int where it is one for all of these ranks."""
        value = self.over_ranks(text)
        if not isinstance(value, np.ndarray):
            if not -LARGEST <= int(value) <= LARGEST:
                raise ExtrapolationError(f"{text} is {value} here: it does not fit into 64 bits")
            return int(value)
        here = value[mine]
        return int(here[0]) if (here == here[0]).all() else value

    def vec(self, part: Part, slots: list[int], kind: Kind | None) -> Vec:
        """The vec of a part's integers."""
        if part.shape == CYCLE:
            return cycle(slots)
        if kind in TABLES:
            assert kind is not None
            return self.tables.vec(kind, join(part.shape, iter(slots)))
        return vec_from(part.shape, iter(slots))


def alike(table: np.ndarray[Any, Any], mine: Mask, most: int) -> Iterator[tuple[list[int], Mask]]:
    """The different columns of a table with one for each of these ranks, and the ranks of each.

    Raises:
        TooManyGroups: they are more than `most`.
    """
    first, like = distinct(table)
    if len(first) > most:
        raise TooManyGroups
    columns = table[:, first].T.tolist()
    return zip(columns, masks_of(like, len(first), mine), strict=True)


def masks_of(like: Ints, count: int, mine: Mask) -> Iterator[Mask]:
    """The ranks of each of some groups, which `like` numbers for each of these ranks."""
    if count == 1:
        yield mine
        return
    places = np.flatnonzero(mine)
    for number in range(count):
        some = np.zeros_like(mine)
        some[places[like == number]] = True
        yield some


def running(repeat: Any, ranks: Mask) -> Piece:
    """A repeat and those of its ranks that run something."""
    if isinstance(repeat, Vec):
        return repeat, ranks & (repeat.constant != 0)
    return repeat, ranks & (repeat != 0)


def _terms(terms: Any) -> int:
    """Integers that a vec is written with."""
    return sum(map(_terms, terms)) if type(terms) is tuple else 1
