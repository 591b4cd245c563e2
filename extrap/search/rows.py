"""The rows of a search: what names stand for where a quantity has values, and on grids no trace has.

Formulas that agree on the traces and differ on those other grids, the probes, are rivals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.grid.space import Space
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["Rows", "rows_of"]

MAX_SAMPLES = 240
"""Values that formulas are sought for; all others check them."""

PROBES = {1: ((7,), (12,), (16,), (23,), (36,), (64,)), 2: ((5, 4), (4, 6), (6, 6), (7, 5), (9, 3), (3, 8))}
"""Sides of the grids on which formulas are compared."""

RANKS_OF_PROBE = 10
"""Ranks of each of those grids."""


@dataclass(frozen=True)
class Rows:
    """Names as columns: first the rows with values, then the probes.

    Attributes:
        columns: a column per name.
        count: rows with values.
        run_of: the trace of each of these.
        chosen: which of all values they are.
        sized: names with one value in each trace.
    """

    columns: Mapping[str, Ints]
    count: int
    run_of: Ints
    chosen: Ints
    sized: frozenset[str]

    @property
    def samples(self) -> dict[str, Ints]:
        """Return the columns of the rows with values."""
        return {name: column[: self.count] for name, column in self.columns.items()}

    def is_sized(self, column: Ints) -> bool:
        """Return whether a column has one value in each trace."""
        _, first, run = np.unique(self.run_of, return_index=True, return_inverse=True)
        own = column[: self.count]
        return bool((own[first][run] == own).all())


def rows_of(space: Space, points: Ints, numbers: Mapping[str, Ints]) -> Rows:
    """Return the rows of values at points, which depend on numbers such as the iteration of a loop."""
    rng = np.random.default_rng(len(points))
    chosen = np.arange(len(points))
    if len(chosen) > MAX_SAMPLES:
        chosen = np.sort(rng.choice(len(points), MAX_SAMPLES, replace=False))
    samples = {name: column[points[chosen]] for name, column in space.columns.items()}
    samples |= {name: column[chosen] for name, column in numbers.items()}
    probes = _probes(space, {name: column[chosen] for name, column in numbers.items()}, rng)
    columns = {name: np.concatenate([samples[name], probes[name]]) for name in samples}
    sized = {"P", *space.names.sizes, *space.inputs}
    return Rows(columns, len(chosen), space.all_runs()[points[chosen]], chosen, frozenset(sized))


def _probes(space: Space, numbers: Mapping[str, Ints], rng: np.random.Generator) -> dict[str, Ints]:
    """Return columns of ranks of other grids, with numbers that some values of the traces have."""
    parts: dict[str, list[Ints]] = {}
    for at, dims in enumerate(_grids(len(space.names.sizes))):
        grid = Grid(dims, space.runs[0].grid.column_major)
        ranks = np.unique([*rng.integers(0, grid.nprocs, RANKS_OF_PROBE).tolist(), 0, grid.nprocs - 1])
        inputs = space.runs[at % len(space.runs)].inputs
        for name in space.columns:
            value = inputs[name] if name in inputs else grid.columns[name]
            column = np.broadcast_to(np.asarray(value, dtype=np.int64), (grid.nprocs,))
            parts.setdefault(name, []).append(column[ranks])
        if numbers:
            some = rng.integers(0, len(next(iter(numbers.values()))), len(ranks))
            for name, column in numbers.items():
                parts.setdefault(name, []).append(column[some])
    return {name: np.concatenate(rows) for name, rows in parts.items()}


def _grids(ndims: int) -> Sequence[tuple[int, ...]]:
    if ndims in PROBES:
        return PROBES[ndims]
    base = PROBES[2] if ndims > 1 else PROBES[1]
    return [(*dims, *((3, 4, 5, 2)[(k + j) % 4] for j in range(ndims - 2))) for k, dims in enumerate(base)]
