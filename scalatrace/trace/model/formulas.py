"""Elastic values by formulas over a rank's grid coordinates, for many ranks with different values.

Nothing is stored per rank; `at` evaluates the formulas of one rank.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from scalatrace.errors import FormatError, ScalatraceError
from scalatrace.formula import Const, Value, format_text, names_in, parse_condition
from scalatrace.trace.model.groups import Columns, Groups
from scalatrace.trace.symbolic.field import CYCLE, EVERYWHERE, INDEXED, LOOPED, RANKWISE, Part, levels_of
from scalatrace.trace.symbolic.grid import NAMES, Grid
from scalatrace.trace.symbolic.shapes import bracketed, join
from scalatrace.trace.symbolic.special_values import read, written
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.symbolic.evaluate import Ends

__all__ = ["Elastic", "Formulas"]

T = TypeVar("T")

MAX_CACHED_RANKS = 64
"""Ranks whose value vectors are cached."""


class Formulas:
    """Value vectors by formulas over grid coordinates.

    Attributes:
        ranks: participants.
        grid: grid of all ranks.
        inputs: names and values of the parameters that formulas may use.
        parts: conditions with formulas; the first whose condition holds for a rank applies.
        around: repeats of the loops around the node, outermost first, as far as a formula depends on them.
    """

    __slots__ = ("_known", "_trip_counts", "around", "grid", "inputs", "parts", "ranks")

    def __init__(
        self,
        ranks: RankList,
        grid: Grid,
        inputs: Sequence[tuple[str, int]],
        parts: Sequence[Part],
        around: Sequence[Elastic] = (),
    ) -> None:
        """Check the parts. Raises ValueError if a part depends on more loops than there are."""
        levels = [levels_of(part) for part in parts if part.shape == LOOPED and part.formulas]
        if levels and max(levels) > len(around):
            raise ValueError(
                f"formulas depend on {max(levels)} loops, but only {len(around)} are around them"
            )
        # One more than the formulas use: it marks where the counters of the others restart.
        kept = max(levels, default=-1) + 1
        self.ranks, self.grid, self.inputs = ranks, grid, tuple(inputs)
        self.parts, self.around = tuple(parts), tuple(around[-kept:]) if kept else ()
        self._known: dict[int, Vec | None] = {}
        self._trip_counts: dict[int, Vec | None] = {}

    def at(self, rank: int) -> Vec | None:
        """Return the value vector of a rank; None when it has none.

        Raises:
            FormatError: a formula has no value for this rank.
        """
        if rank not in self._known:
            if len(self._known) >= MAX_CACHED_RANKS:
                self._known.clear()
            self._known[rank] = self._at(rank)
        return self._known[rank]

    def _at(self, rank: int) -> Vec | None:
        from scalatrace.trace.symbolic.evaluate import vec_of_part

        def checked(part: Part, place: Mapping[str, Any], loops: tuple[Vec, ...]) -> Vec | None:
            vec = vec_of_part(part, place, loops)
            return None if vec is None else Vec.decode(vec.terms)

        return self._evaluate_part(rank, checked)

    def trip_counts(self, rank: int) -> Vec | None:
        """Return the same values as `at`, but uncompressed and faster; for the repeats of loops around."""
        from scalatrace.trace.symbolic.evaluate import vec_of_part

        if rank in self._known:
            return self._known[rank]
        if rank not in self._trip_counts:
            if len(self._trip_counts) >= MAX_CACHED_RANKS:
                self._trip_counts.clear()
            self._trip_counts[rank] = self._evaluate_part(rank, partial(vec_of_part, folded=False))
        return self._trip_counts[rank]

    def ends(self, rank: int) -> Ends | None:
        """Return the smallest and the largest value of a rank; None when it has none.

        Raises:
            FormatError: a formula has no value for this rank.
        """
        from scalatrace.trace.symbolic.evaluate import ends_of_part

        return self._evaluate_part(rank, ends_of_part)

    def _evaluate_part(
        self, rank: int, value: Callable[[Part, Mapping[str, Any], tuple[Vec, ...]], T | None]
    ) -> T | None:
        """Return `value` of the part that holds for a rank, at its coordinates and within its loops."""
        from scalatrace.trace.symbolic.evaluate import part_of

        if rank not in self.ranks:
            return None
        place = self.grid.place(rank) | dict(self.inputs)
        try:
            part = part_of(self.parts, place)
            if part is None:
                return None
            loops = self.loops(rank)
            if part.shape == LOOPED and loops is None:
                return None
            return value(part, place, loops or ())
        except (ScalatraceError, ValueError, RecursionError) as error:
            raise FormatError(
                f"corrupt trace: the formulas of a value fail for rank {rank}: {error}"
            ) from None

    def loops(self, rank: int) -> tuple[Vec, ...] | None:
        """Return how often the loops around run on a rank; None if it does not enter all of them."""
        trip_counts = tuple(vec for loop in self.around if (vec := _trip_counts(loop, rank)) is not None)
        return trip_counts if len(trip_counts) == len(self.around) else None

    def names(self) -> list[str]:
        """Return the names of the rank and its coordinates that conditions and formulas use."""
        names_of_parts = (names_in(part.condition, *(part.formulas or ())) for part in self.parts)
        return sorted(RANKWISE.intersection(*[set().union(*names_of_parts)]))

    def encode(self) -> tuple[Any, ...]:
        """Return the form in the file, without `around`."""
        parts = tuple(
            loop
            for part in self.parts
            for loop in (
                format_text(part.condition),
                part.shape,
                None if part.formulas is None else tuple(map(written, part.formulas)),
            )
        )
        inputs = tuple(part for pair in self.inputs for part in pair)
        return self.ranks.terms, self.grid.dims, int(self.grid.column_major), inputs, parts

    @classmethod
    def decode(cls, raw: tuple[Any, ...], around: Sequence[Elastic], nprocs: int) -> Formulas:
        """Read the form in the file. Raises ValueError."""
        ranks, dims, column_major, inputs, parts = raw
        grid = _grid(dims, column_major, nprocs)
        if type(inputs) is not tuple or len(inputs) % 2 or type(parts) is not tuple or len(parts) % 3:
            raise ValueError("formulas have an incomplete list of parameters or parts")
        pairs = tuple(zip(inputs[::2], inputs[1::2], strict=True))
        if any(type(name) is not str or type(value) is not int for name, value in pairs):
            raise ValueError("a parameter of formulas is not a pair of name and integer")
        read = tuple(map(_part, parts[::3], parts[1::3], parts[2::3]))
        return cls(RankList.from_terms(ranks, nprocs), grid, pairs, read, around)

    def _key(self) -> tuple[Any, ...]:
        return self.ranks, self.grid, self.inputs, self.parts, self.around

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Formulas) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Formulas({self})"

    def __str__(self) -> str:
        """Return the text form."""
        order = " columns" if self.grid.column_major else ""
        inputs = "".join(f" {json.dumps(name)} {value}" for name, value in self.inputs)
        around = " within" + "".join(f" {value}" for value in self.around) if self.around else ""
        parts = "; ".join(map(_text, self.parts))
        dims = " ".join(map(str, self.grid.dims))
        return f"{{formulas {self.ranks} over ({dims}{order}{inputs}): {parts}{around}}}"


Elastic = Vec | Groups | Columns | Formulas
"""Value vectors of the ranks that share a node; see `scalatrace.trace.model.elastic`."""


def _trip_counts(repeat: Elastic, rank: int) -> Vec | None:
    if isinstance(repeat, Formulas):
        return repeat.trip_counts(rank)
    return repeat if isinstance(repeat, Vec) else repeat.at(rank)


def _grid(dims: object, column_major: object, nprocs: int) -> Grid:
    if type(dims) is not tuple or not 1 <= len(dims) <= len(NAMES) or column_major not in (0, 1):
        raise ValueError(f"the grid of formulas does not have 1 to {len(NAMES)} dimensions")
    if any(type(side) is not int or side < 1 for side in dims):
        raise ValueError("a side of the grid of formulas is not a positive integer")
    grid = Grid(dims, bool(column_major))
    if grid.nprocs != nprocs:
        raise ValueError(f"the grid {grid} of formulas does not have the {nprocs} ranks of the run")
    return grid


def _part(condition: Any, shape: Any, formulas: Any) -> Part:
    if formulas is not None and type(formulas) is not tuple:
        raise ValueError("the formulas of a part are not an array")
    try:
        cond = parse_condition(condition)
        values = None if formulas is None else tuple(map(read, formulas))
    except ScalatraceError as error:
        raise ValueError(str(error)) from None
    if values is not None and not _fits(shape, values):
        raise ValueError("the number of formulas differs from the number of integers in their shape")
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
    formulas = iter([json.dumps(written(formula)) for formula in part.formulas])
    if part.shape in (CYCLE, INDEXED, LOOPED):
        return f"{condition}{part.shape} {' '.join(formulas)}"
    return f"{condition}{bracketed(join(part.shape, formulas))}"
