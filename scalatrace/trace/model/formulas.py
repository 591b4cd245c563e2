"""A value by formulas over a rank's place in the grid: for very many ranks, all with values of their own.

Nothing is kept per rank; a rank's value vector is worked out when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from scalatrace.errors import FormatError, ScalatraceError
from scalatrace.formula import Const, Value, format_text, names_in, parse_condition
from scalatrace.trace.symbolic.field import CYCLE, EVERYWHERE, INDEXED, LOOPED, RANKWISE, Part, levels_of
from scalatrace.trace.symbolic.grid import NAMES, Grid
from scalatrace.trace.symbolic.peers import read, written
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.elastic import Elastic
    from scalatrace.trace.symbolic.evaluate import Ends

__all__ = ["Formulas"]

T = TypeVar("T")

REMEMBERED = 64
"""Ranks whose value vectors are kept: a walk asks twice, a comparison for one rank after the other."""


class Formulas:
    """Value vectors by formulas.

    Attributes:
        ranks: those that have one.
        grid: of the ranks.
        inputs: the parameters that formulas may use, with their values.
        parts: the first whose condition holds for a rank counts.
        around: repeats of the loops around the node, the outermost first, as far as a part follows them.
    """

    __slots__ = ("_known", "_turns", "around", "grid", "inputs", "parts", "ranks")

    def __init__(
        self,
        ranks: RankList,
        grid: Grid,
        inputs: Sequence[tuple[str, int]],
        parts: Sequence[Part],
        around: Sequence[Elastic] = (),
    ) -> None:
        """Raises ValueError when a part follows more loops than there are."""
        levels = [levels_of(part) for part in parts if part.shape == LOOPED and part.formulas]
        if levels and max(levels) > len(around):
            raise ValueError(f"formulas follow {max(levels)} loops, around them are {len(around)}")
        kept = (
            max(levels, default=-1) + 1
        )  # one more: whether there is one tells where the others begin again
        self.ranks, self.grid, self.inputs = ranks, grid, tuple(inputs)
        self.parts, self.around = tuple(parts), tuple(around[-kept:]) if kept else ()
        self._known: dict[int, Vec | None] = {}
        self._turns: dict[int, Vec | None] = {}

    def at(self, rank: int) -> Vec | None:
        """The value vector of a rank; None when it has none.

        Raises:
            FormatError: a formula has no value for this rank.
        """
        if rank not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[rank] = self._at(rank)
        return self._known[rank]

    def _at(self, rank: int) -> Vec | None:
        from scalatrace.trace.symbolic.evaluate import vec_of_part

        def checked(part: Part, place: Mapping[str, Any], loops: tuple[Vec, ...]) -> Vec | None:
            vec = vec_of_part(part, place, loops)
            return None if vec is None else Vec.decode(vec.terms)

        return self._worked_out(rank, checked)

    def turns(self, rank: int) -> Vec | None:
        """As `at`, but in as many terms as there are values: quick, for repeats around other values."""
        from scalatrace.trace.symbolic.evaluate import vec_of_part

        if rank in self._known:
            return self._known[rank]
        if rank not in self._turns:
            if len(self._turns) >= REMEMBERED:
                self._turns.clear()
            self._turns[rank] = self._worked_out(rank, partial(vec_of_part, folded=False))
        return self._turns[rank]

    def ends(self, rank: int) -> Ends | None:
        """The least and the greatest value of a rank; None when it has none.

        Raises:
            FormatError: a formula has no value for this rank.
        """
        from scalatrace.trace.symbolic.evaluate import ends_of_part

        return self._worked_out(rank, ends_of_part)

    def _worked_out(
        self, rank: int, value: Callable[[Part, Mapping[str, Any], tuple[Vec, ...]], T | None]
    ) -> T | None:
        """What a function says of the rank's part, at its place and within its loops."""
        from scalatrace.trace.symbolic.evaluate import part_of

        if rank not in self.ranks:
            return None
        place = self.grid.place(rank) | dict(self.inputs)
        try:
            part = part_of(self.parts, place)
            if part is None:
                return None
            met = [_turns(loop, rank) for loop in self.around]
            loops = tuple(vec for vec in met if vec is not None)
            if part.shape == LOOPED and len(loops) < len(met):
                return None
            return value(part, place, loops)
        except (ScalatraceError, ValueError, RecursionError) as error:
            raise FormatError(f"the formulas of a value fail for rank {rank}: {error}") from None

    def names(self) -> list[str]:
        """The names of a rank's place that conditions and formulas use."""
        found = (names_in(part.condition, *(part.formulas or ())) for part in self.parts)
        return sorted(RANKWISE.intersection(*[set().union(*found)]))

    def encode(self) -> tuple[Any, ...]:
        """The file's form, but for what is around."""
        parts = tuple(
            one
            for part in self.parts
            for one in (
                format_text(part.condition),
                part.shape,
                None if part.formulas is None else tuple(map(written, part.formulas)),
            )
        )
        inputs = tuple(part for pair in self.inputs for part in pair)
        return self.ranks.terms, self.grid.dims, int(self.grid.column_major), inputs, parts

    @classmethod
    def decode(cls, raw: Any, around: Sequence[Elastic], nprocs: int) -> Formulas:
        """From the file's form. Raises ValueError."""
        ranks, dims, column_major, inputs, parts = raw
        grid = _grid(dims, column_major, nprocs)
        if type(inputs) is not tuple or len(inputs) % 2 or type(parts) is not tuple or len(parts) % 3:
            raise ValueError("the parameters or the parts of formulas are not complete")
        given = tuple(zip(inputs[::2], inputs[1::2], strict=True))
        if any(type(name) is not str or type(value) is not int for name, value in given):
            raise ValueError("a parameter of formulas is not a name and a value")
        read = tuple(map(_part, parts[::3], parts[1::3], parts[2::3]))
        return cls(RankList.from_terms(ranks, nprocs), grid, given, read, around)

    def _key(self) -> tuple[Any, ...]:
        return self.ranks, self.grid, self.inputs, self.parts, self.around

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Formulas) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Formulas({self})"

    def __str__(self) -> str:
        """The text form."""
        order = " columns" if self.grid.column_major else ""
        inputs = "".join(f" {json.dumps(name)} {value}" for name, value in self.inputs)
        around = " within" + "".join(f" {value}" for value in self.around) if self.around else ""
        parts = "; ".join(map(_text, self.parts))
        dims = " ".join(map(str, self.grid.dims))
        return f"{{formulas {self.ranks} over ({dims}{order}{inputs}): {parts}{around}}}"


def _turns(repeat: Elastic, rank: int) -> Vec | None:
    if isinstance(repeat, Formulas):
        return repeat.turns(rank)
    return repeat if isinstance(repeat, Vec) else repeat.at(rank)


def _grid(dims: Any, column_major: Any, nprocs: int) -> Grid:
    if type(dims) is not tuple or not 1 <= len(dims) <= len(NAMES) or column_major not in (0, 1):
        raise ValueError("the grid of formulas has no right number of dimensions")
    if any(type(side) is not int or side < 1 for side in dims):
        raise ValueError("a side of the grid of formulas is not a positive number")
    grid = Grid(dims, bool(column_major))
    if grid.nprocs != nprocs:
        raise ValueError(f"formulas are over a grid of {grid}, the run has {nprocs} ranks")
    return grid


def _part(condition: Any, shape: Any, formulas: Any) -> Part:
    if formulas is not None and type(formulas) is not tuple:
        raise ValueError("formulas are not a list")
    try:
        cond = parse_condition(condition)
        values = None if formulas is None else tuple(map(read, formulas))
    except ScalatraceError as error:
        raise ValueError(str(error)) from None
    if values is not None and not _fits(shape, values):
        raise ValueError("there are not as many formulas as their shape has places")
    return Part(cond, shape if values is not None else None, values)


def _fits(shape: Any, formulas: tuple[Value, ...]) -> bool:
    if shape == LOOPED:
        return len(formulas) == 2 and isinstance(formulas[0], Const) and formulas[0].value >= 0
    if shape in (INDEXED, CYCLE):
        return len(formulas) == 2 if shape == INDEXED else len(formulas) > 0
    return _places(shape) == len(formulas)


def _places(shape: Any) -> int:
    """Integers in a shape."""
    if shape is None:
        return 1
    if type(shape) is not tuple:
        raise ValueError("the shape of a value by formulas has something else than integers in it")
    return sum(map(_places, shape))


def _text(part: Part) -> str:
    condition = "" if part.condition == EVERYWHERE else f"if {json.dumps(format_text(part.condition))} "
    if part.formulas is None:
        return f"{condition}none"
    rest = iter([json.dumps(written(formula)) for formula in part.formulas])
    if part.shape in (CYCLE, INDEXED, LOOPED):
        return f"{condition}{part.shape} {' '.join(rest)}"
    return f"{condition}{_filled(part.shape, rest)}"


def _filled(shape: Any, texts: Iterator[str]) -> str:
    if shape is None:
        return next(texts)
    return "[" + " ".join(_filled(inner, texts) for inner in shape) + "]"
