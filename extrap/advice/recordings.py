"""Choose runs to record next: sizes and parameters that the program accepts, and that decide a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, product
from math import gcd, prod

from scalatrace.errors import FormatError, FormulaError, LimitError
from scalatrace.extrap.errors import InputError, NegativeError, UndeterminedError
from scalatrace.extrap.fit.undetermined.rivals import differing
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.grid.target import check_sides, grids_like
from scalatrace.extrap.instantiate.instantiate import made_with_rivals
from scalatrace.extrap.refusal import Recording
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.symbolic.grid import Grid

MIN_TIMES, MAX_TIMES = 2, 4
"""How much larger than the largest trace a proposed run may be: though the result is smaller, and at most."""

MAX_STEP = 64
"""Values of a parameter above those of the traces that are tried."""

MAX_TRIED = 12
"""Runs for which the result is made, to see which formulas differ there."""

MAX_FREE_GRIDS = 400
"""Grids with sides of any length that are tried, the smallest first."""

__all__ = ["Case", "deciding", "ending", "is_determined", "unseen", "with_sides"]


@dataclass(frozen=True)
class Case:
    """Input of a refused extrapolation: grids and parameters of the traces, and those of the result.

    Attributes:
        runs: those of the traces, in order of their size.
        grid: of the result; None: not known.
        inputs: of the result.
        found: whether the only parameter was found in the traces: the program may have none.
    """

    runs: Sequence[Run]
    grid: Grid | None = None
    inputs: Mapping[str, int] | None = None
    found: bool = False

    @property
    def target(self) -> tuple[Grid, Mapping[str, int]]:
        """The result's grid and parameters, which have to be known."""
        assert self.grid is not None
        assert self.inputs is not None
        return self.grid, self.inputs

    @property
    def known_inputs(self) -> dict[str, int]:
        """The result's parameters as far as they are known: as given, or the one value of all traces."""
        first = self.runs[0].inputs.items()
        common = {name: value for name, value in first if all(run.inputs[name] == value for run in self.runs)}
        return {**common, **(self.inputs or {})}

    @property
    def grids(self) -> list[Grid]:
        """The grids of the traces."""
        return [run.grid for run in self.runs]

    @property
    def max_ranks(self) -> int:
        """The ranks of the largest run that is proposed: fewer than the result has, if that is large."""
        largest = self.grids[-1].nprocs
        if self.grid is None:
            return MAX_TIMES * largest
        return min(MAX_TIMES * largest, max(self.grid.nprocs - 1, MIN_TIMES * largest))

    def is_recorded(self, grid: Grid, inputs: Mapping[str, int]) -> bool:
        """Return whether a trace or the result has this grid and these parameters."""
        known = [(run.grid.dims, dict(run.inputs)) for run in self.runs]
        if self.grid is not None:
            known.append((self.grid.dims, self.known_inputs))
        return (grid.dims, dict(inputs)) in known

    def recording(self, grid: Grid, inputs: Mapping[str, int]) -> Recording:
        """Return a run; parameters are named unless the traces have just this value."""
        named = tuple(n for n, value in inputs.items() if {run.inputs[n] for run in self.runs} != {value})
        return Recording(grid, dict(inputs), () if self.found else named)


def deciding(case: Case, model: SymbolicTrace, error: Exception) -> tuple[Recording, ...]:
    """Return the smallest runs that decide what the traces leave open at the size of the result.

    Up to two: one of another number of ranks, and one of a recorded grid with another parameter.
    """
    wanted = _open(model, *case.target)
    first = [error] if isinstance(error, UndeterminedError) else []
    pairs = [(one.formula, one.rival) for one in first]

    def may_differ(one: Recording) -> bool:
        columns = {**one.grid.columns, **one.inputs}
        return not pairs or any(bool(differing(*pair, columns).any()) for pair in pairs)

    found = []
    for offered in (_of_grids(case), _of_inputs(case)):
        best = _most_deciding(model, wanted, filter(may_differ, offered))
        if best is not None:
            found.append(replace(best, inputs={}) if case.found else best)
    return tuple(found)


def is_determined(case: Case, model: SymbolicTrace) -> bool:
    """Return whether the traces determine all values at the size of the result."""
    return not _open(model, *case.target)


def _most_deciding(
    model: SymbolicTrace, wanted: Collection[Hashable], offered: Iterator[Recording]
) -> Recording | None:
    """Return the first of some runs at which all open formulas differ, or else most of them."""
    best, most = None, 0
    for one in islice(offered, MAX_TRIED):
        number = len(_open(model, one.grid, one.inputs) & set(wanted))
        if number > most:
            best, most = one, number
        if most == len(wanted):
            break
    return best


def _open(model: SymbolicTrace, grid: Grid, inputs: Mapping[str, int]) -> set[Hashable]:
    """Return what the traces do not determine at a size: pairs of formulas, and peers by their encoding."""
    try:
        made = made_with_rivals(model, grid, inputs)
    except (FormulaError, FormatError, LimitError):
        return set()
    pairs = {(id(field), error.formula, error.rival) for field, _, error in made.rivals}
    return {*pairs, *map(id, made.encodings)}


def ending(case: Case, model: SymbolicTrace) -> Recording | None:
    """Return the smallest run at which a count is negative by its formula: there, another rule holds.

    It is smaller than the result; None: there is no such run.
    """
    assert case.grid is not None
    limit = case.grid.nprocs

    def ends(one: Recording) -> bool:
        try:
            made_with_rivals(model, one.grid, one.inputs)
        except NegativeError:
            return True
        except (FormulaError, FormatError, LimitError):
            return False
        return False

    return next((one for one in _of_grids(case) if one.grid.nprocs < limit and ends(one)), None)


def with_sides(case: Case) -> Recording | None:
    """Return the smallest run after which the traces determine values at the sides of the result's grid."""
    assert case.grid is not None
    target = case.grid

    def shows(grid: Grid) -> bool:
        try:
            check_sides(target, [one.dims for one in (*case.grids, grid)])
        except InputError:
            return False
        return True

    return next((one for one in _of_grids(case, free=True) if shows(one.grid)), None)


def unseen(case: Case) -> list[Recording]:
    """Return runs of grids that no trace has: first those with a new side where few are known."""
    columns = list(zip(*(grid.dims for grid in case.grids), strict=True))
    known = [set(sides) for sides in columns]
    fewest = min(map(len, known))

    def order(one: Recording) -> tuple[bool, bool, int]:
        fresh = [side not in sides for side, sides in zip(one.grid.dims, known, strict=True)]
        helps = any(new and len(sides) == fewest for new, sides in zip(fresh, known, strict=True))
        return not helps, not any(fresh), one.grid.nprocs

    return sorted(_of_grids(case), key=order)


def _of_grids(case: Case, free: bool = False) -> Iterator[Recording]:
    """Runs of grids that no trace has, the smallest first.

    Args:
        free: whether grids are added that are not made as those of the traces are.
    """
    limit = case.max_ranks
    likely = grids_like(case.grids, limit, case.grid)
    seen = {grid.dims for grid in case.grids}
    least = min(min(dims) for dims in seen)
    fits = _can_run(case)
    for grid in (*likely, *(_free_grids(case) if free or len(likely) <= len(seen) else ())):
        inputs = _inputs_on(case, grid)
        known = grid.dims in seen or case.is_recorded(grid, inputs)
        if not known and min(grid.dims) >= least and fits(grid, inputs):
            seen.add(grid.dims)
            yield case.recording(grid, inputs)


def _free_grids(case: Case) -> Iterator[Grid]:
    """Grids of any sides about as long as those of the traces, the smallest first; squares if all are."""
    grids = case.grids if case.grid is None else [*case.grids, case.grid]
    if len(grids[0].dims) > 1 and all(len(set(grid.dims)) == 1 for grid in grids):
        return
    sides = [sorted({grid.dims[d] for grid in case.grids}) for d in range(len(grids[0].dims))]
    step = gcd(*(side for grid in grids for side in grid.dims))
    ranges = [range(known[0], known[-1] + 2 * step + 1, step) for known in sides]
    found = sorted(product(*ranges), key=lambda dims: (prod(dims), dims))
    if len({grid.dims for grid in grids}) > 1 and all(_is_falling(grid.dims) for grid in grids):
        found = list(filter(_is_falling, found))  # MPI_Dims_create makes no others
    limit = case.max_ranks
    for dims in found[:MAX_FREE_GRIDS]:
        if prod(dims) <= limit:
            yield Grid(dims, grids[0].column_major)


def _is_falling(dims: Sequence[int]) -> bool:
    return all(a >= b for a, b in pairwise(dims))


def _inputs_on(case: Case, grid: Grid) -> dict[str, int]:
    """Parameters for a grid: as in all traces, in their proportion to a size, or as in the nearest trace."""
    result = {}
    nearest = min(case.runs, key=lambda run: abs(run.grid.nprocs - grid.nprocs))
    for name in case.runs[0].inputs:
        result[name] = nearest.inputs[name]
        if len({run.inputs[name] for run in case.runs}) == 1:
            continue
        for size in ("P", *grid.sizes):
            shares = {(run.inputs[name] % run.grid.columns[size], run.inputs[name] // run.grid.columns[size])
                      for run in case.runs}  # fmt: skip
            if len(shares) == 1 and (share := shares.pop())[0] == 0:
                result[name] = share[1] * int(grid.columns[size])
                break
    return result


def _of_inputs(case: Case) -> Iterator[Recording]:
    """Runs of the traces' grids with another value of a parameter, the smallest first."""
    fits = _can_run(case)
    for run in () if case.found else sorted(case.runs, key=lambda run: run.grid.nprocs):
        for name, value in run.inputs.items():
            for more in range(1, MAX_STEP + 1):
                inputs = {**run.inputs, name: value + more}
                if not case.is_recorded(run.grid, inputs) and fits(run.grid, inputs):
                    yield case.recording(run.grid, inputs)


def _can_run(case: Case) -> Callable[[Grid, Mapping[str, int]], bool]:
    """Return whether a size divides a parameter there, if it does in all traces and in the result."""
    given = [(run.grid, run.inputs) for run in case.runs]
    names = case.runs[0].inputs
    if case.grid is not None and case.known_inputs.keys() >= names.keys():
        given.append((case.grid, case.known_inputs))
    dividing = [
        (name, size)
        for name, size in product(names, ("P", *case.grids[0].sizes))
        if all(inputs[name] % grid.columns[size] == 0 for grid, inputs in given)
    ]

    def can_run(grid: Grid, inputs: Mapping[str, int]) -> bool:
        return all(inputs[name] % grid.columns[size] == 0 for name, size in dividing)

    return can_run
