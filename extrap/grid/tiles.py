"""Find the grid of ranks in the blocks of one array that they read and write: subarrays in file views."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

from scalatrace.trace.model.elastic import at
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["tiled_grids"]

_SUBARRAY = re.compile(r"subarray\(\[([\d,]+)\],\[([\d,]+)\],\[([\d,]+)\]")
"""Sizes of the array and of the block, and where the block starts."""

Block = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def tiled_grids(trace: Trace) -> set[Grid]:
    """Return the grids by which blocks of all ranks cover an array, one or none for each call."""
    grids = set()
    for event in trace.leaves():
        for at_param, (_, kind) in enumerate(trace.ops[event.op].params):
            blocks = _blocks(trace, event, at_param) if kind is Kind.TYPE else None
            if blocks is not None and (grid := _grid(blocks)) is not None:
                grids.add(grid)
    return grids


def _blocks(trace: Trace, event: Event, at_param: int) -> list[Block] | None:
    """Return the block of each rank; None if a rank has none, or several."""
    param = event.params[at_param]
    assert not isinstance(param, Peer)
    result: list[Block] = []
    for rank in range(trace.nprocs):
        vec = at(param, rank)
        if vec is None or vec.constant is None or vec.constant < 0:
            return None
        found = _SUBARRAY.match(trace.datatype(vec.constant).description)
        if found is None:
            return None
        sizes, block, start = (tuple(map(int, text.split(","))) for text in found.groups())
        result.append((sizes, block, start))
    return result


def _grid(blocks: list[Block]) -> Grid | None:
    """Return the grid whose ranks have the blocks at their places; None if there is none, or gaps."""
    sizes = {size for size, _, _ in blocks}
    if len(sizes) != 1:
        return None
    (array,) = sizes
    starts = [sorted({start[d] for _, _, start in blocks}) for d in range(len(array))]
    dims = tuple(map(len, starts))
    if prod(dims) != len(blocks) or sum(prod(block) for _, block, _ in blocks) != prod(array):
        return None
    cut = tuple(side for side in dims if side > 1)
    if len(cut) < 2:
        return None
    number = [{start: i for i, start in enumerate(ascending)} for ascending in starts]
    places = [tuple(number[d][start[d]] for d in range(len(array))) for _, _, start in blocks]
    for grid in (Grid(cut), Grid(cut, column_major=True)):
        kept = [tuple(p for p, side in zip(place, dims, strict=True) if side > 1) for place in places]
        if [grid.rank(place) for place in kept] == list(range(len(blocks))):
            return grid
    return None
