"""Find the size of a problem that is divided among the ranks, where no parameter gives it.

A program divides 96 cells among 3, 4 and 5 columns of ranks, and sends `20*block+100` elements. On 5 columns
the blocks have 19 or 20 cells. Few numbers n have blocks of which all counts of the program are such lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.extrap.alignment.canonical_folding import Foldings
from scalatrace.extrap.fit.fit_field import fit
from scalatrace.extrap.fit.fit_trace import Fitter
from scalatrace.extrap.fit.fit_types import PLAIN
from scalatrace.extrap.grid.space import Run, Space
from scalatrace.extrap.solve.features import Feature, Names, features
from scalatrace.formula import evaluate_all, names_in
from scalatrace.trace.symbolic.shapes import Parts
from scalatrace.trace.values.vec import SPECIAL_MAX

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["NAME", "problem_sizes"]


NAME = "n"
"""The parameter that a found size becomes."""

MAX_SIZE = 2048
"""Larger sizes are not tried."""

MAX_QUANTITIES, MAX_POINTS = 32, 10
"""Quantities, those with the most different values first, and ranks of each, that sizes are compared by."""

MIN_SIZES = 3
"""Grids that a quantity has to be seen on."""

REQUIRED_BITS = 200.0
"""Evidence (bits) that a problem size needs: length of the values less that of the formulas and the size."""

MARGIN = 0.8
"""Another size that saves as many bits as this part of what the best one saves may be the right one."""

MAX_CANDIDATES = 6
"""Sizes that may be the right one; more of them tell nothing."""


@dataclass(frozen=True, slots=True)
class _Quantity:
    """Values of one parameter or repeat on some ranks, and their length in bits; `whole`: of all ranks."""

    points: Ints
    values: Ints
    bits: float
    whole: tuple[Ints, Ints]


def problem_sizes(
    traces: Sequence[Trace], runs: Sequence[Run], foldings: Foldings | None = None
) -> list[int]:
    """Return sizes of a problem whose blocks explain counts and repeats, the likelier ones first.

    Args:
        traces, runs: as `prepared` returns them; no run has a parameter.
        foldings: of the traces, if they exist already.

    Returns:
        None of them if no size explains the values, or too many do about as well.
    """
    space = Space(runs, partners=False)
    quantities = _quantities(Fitter(traces, space, foldings=foldings), space)
    if not quantities:
        return []
    names = Names(space.names.sizes, space.names.coords, (NAME,), square=space.names.square, partners=False)
    offered = [feature for feature in features(names) if NAME in names_in(feature.formula)]
    sizes = np.arange(2, MAX_SIZE + 1)
    saved = np.zeros(len(sizes))
    by_points: dict[bytes, list[_Quantity]] = {}
    for quantity in quantities:
        by_points.setdefault(quantity.points.tobytes(), []).append(quantity)
    for same_points in by_points.values():
        rows = _evaluate_sizes(offered, space, same_points[0].points, sizes)  # large: one at a time
        saved += sum(_saved_bits(quantity, rows, len(sizes)) for quantity in same_points)
    best = float(saved.max())
    if best < REQUIRED_BITS + math.log2(len(sizes)):
        return []
    near = np.flatnonzero(saved >= MARGIN * best)
    ordered = sizes[near[np.argsort(-saved[near], kind="stable")]].tolist()
    if len(ordered) > MAX_CANDIDATES:
        return []
    return (
        ordered
        if len(ordered) == 1
        else [size for size in ordered if _all_have_formulas(quantities, runs, size)]
    )


def _all_have_formulas(quantities: Sequence[_Quantity], runs: Sequence[Run], size: int) -> bool:
    """Return whether each quantity follows a formula, with this size of the problem as a parameter."""
    space = Space([replace(run, inputs={NAME: size}) for run in runs], partners=False)
    for quantity in quantities:
        points, values = (row.tolist() for row in quantity.whole)
        samples = {p: Parts(None, (value,)) for p, value in zip(points, values, strict=True)}
        if fit(space, samples, efforts=(PLAIN,)) is None:
            return False
    return True


def _quantities(fitter: Fitter, space: Space) -> list[_Quantity]:
    """The counts and repeats that differ from rank to rank or size to size, those of the most bits first."""
    arguments = np.stack([space.columns[name] for name in (*space.names.sizes, *space.names.coords)])
    quantities: dict[tuple[bytes, bytes], _Quantity] = {}
    nodes = fitter.marked() or next(iter(fitter.alignments()))
    for points, values in fitter.divided_values(nodes):
        grids = np.unique(arguments[: len(space.names.sizes), points], axis=1).shape[1]
        if grids >= MIN_SIZES and SPECIAL_MAX < values.min() < values.max() > 0:
            quantity = _quantity(arguments, points, values)
            quantities[quantity.points.tobytes(), quantity.values.tobytes()] = quantity
    return sorted(quantities.values(), key=lambda quantity: -quantity.bits)[:MAX_QUANTITIES]


def _quantity(arguments: Ints, points: Ints, values: Ints) -> _Quantity:
    """Some of the points, with all values among them; the bits are those of all points.

    Ranks without a neighbour exchange 0 elements with it: the others show the blocks.
    """
    whole = points, values
    points, values = points[values != 0], values[values != 0]
    different, first = np.unique(values, return_index=True)
    places = np.unique(arguments[:, points], axis=1).shape[1]
    bits = float(np.log2(np.abs(different.astype(np.float64)) + 1).sum())
    bits += max(places - len(different), 0) * math.log2(len(different))
    spread = np.linspace(0, len(points) - 1, MAX_POINTS).astype(np.int64)
    chosen = np.unique(np.concatenate([first[:MAX_POINTS], spread]))
    return _Quantity(points[chosen], values[chosen], bits, whole)


def _evaluate_sizes(offered: Sequence[Feature], space: Space, points: Ints, sizes: Ints) -> list[Ints | None]:
    """Return each feature's values: a row per size of the problem, a column per point."""
    shape = len(sizes), len(points)
    columns = {
        name: np.broadcast_to(column[points], shape).reshape(-1) for name, column in space.columns.items()
    }
    columns[NAME] = np.repeat(sizes, len(points))
    rows = evaluate_all([one.formula for one in offered], columns)
    return [None if row is None else np.broadcast_to(row, columns[NAME].shape).reshape(shape) for row in rows]


def _saved_bits(quantity: _Quantity, rows: Sequence[Ints | None], count: int) -> Floats:
    """For each size by how many bits the values are longer than `a + b*feature`, with integers a and b."""
    result = np.zeros(count)
    wanted = quantity.values - quantity.values[0]
    at = int(np.argmax(wanted != 0))
    for number, row in enumerate(rows):
        if row is None:
            continue
        step = row[:, at] - row[:, 0]
        possible = np.flatnonzero((step != 0) & (wanted[at] % np.where(step, step, 1) == 0))
        if not len(possible):
            continue
        row, factor = row[possible], wanted[at] // step[possible]
        right = (factor[:, None] * (row - row[:, :1]) == wanted).all(axis=1)
        constant = quantity.values[0] - factor * row[:, 0]
        digits = sum(
            np.log2(np.maximum(np.abs(numbers), 1).astype(np.float64)) for numbers in (factor, constant)
        )
        bits = quantity.bits - digits[right] - math.log2(number + 2)
        result[possible[right]] = np.maximum(result[possible[right]], bits)
    return result
