"""Datatypes whose displacements are addresses (for MPI_BOTTOM), with their memory drawn together.

A datatype over the stack and the heap of the recorded program spans terabytes, which no buffer has:

    struct([1,1],[0x5581c4a0d2a0, 0x7ffd1c9a4e80],[MPI_INT,MPI_INT])
                  0x5581c4a0d2a0, 0x5581c4a0d2b0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalatrace.trace.exchange.type_sizes import tree_bounds
from scalatrace.trace.model.typetree import TypeTree

__all__ = ["MIN_ADDRESS", "draw_together"]

MIN_ADDRESS = 1 << 40
"""Displacements from here on are addresses of the recorded program, not places in a buffer or a file."""

MAX_GAP_NBYTES = 1 << 36
"""Pieces of memory at most this far apart keep their distance."""

UNKNOWN_NBYTES = 1 << 20
"""Bytes that are left for a piece of unknown size."""

ALIGNMENT = 16
"""The most that MPI rounds extents up to."""

_BY_ADDRESS = {"struct": 1, "hindexed": 1, "hindexed_block": 1}
"""Constructor -> which argument has the displacements in bytes."""


def draw_together(tree: TypeTree, from_zero: bool = False) -> tuple[TypeTree, int]:
    """Return a datatype with its memory drawn together, and by how many bytes its extent is smaller.

    Args:
        tree: of any datatype; one without addresses is returned as it is.
        from_zero: whether the first address becomes 0.
    """
    if tree.name == "dup":
        inner, removed = draw_together(tree.inner[0], from_zero)
        return replace(tree, inner=(inner,)), removed
    places = tree.arguments[_BY_ADDRESS[tree.name]] if tree.name in _BY_ADDRESS else ()
    if not isinstance(places, tuple) or max(places, default=0) < MIN_ADDRESS:
        return tree, 0
    moved, removed = _moved(places, _lengths(tree), from_zero)
    at = _BY_ADDRESS[tree.name]
    return replace(tree, arguments=(*tree.arguments[:at], moved, *tree.arguments[at + 1 :])), removed


def _moved(places: tuple[int, ...], lengths: Sequence[int], from_zero: bool) -> tuple[tuple[int, ...], int]:
    """Return the new displacements, and the bytes that were removed between them."""
    moved = list(places)
    order = sorted(range(len(places)), key=places.__getitem__)
    shift = first = places[order[0]] if from_zero else 0
    end = places[order[0]]
    for at in order:
        gap = places[at] - end
        if gap > MAX_GAP_NBYTES:
            shift += gap // ALIGNMENT * ALIGNMENT
        moved[at] = places[at] - shift
        end = max(end, places[at] + lengths[at])
    return tuple(moved), shift - first


def _lengths(tree: TypeTree) -> list[int]:
    """Return the bytes of memory from each displacement on."""
    places, counts = tree.arguments[_BY_ADDRESS[tree.name]], tree.arguments[0]
    assert isinstance(places, tuple)
    lengths = counts if isinstance(counts, tuple) else (counts,) * len(places)
    inner = tree.inner if tree.name == "struct" else tree.inner * len(places)
    return [_length(n, member) for n, member in zip(lengths, inner, strict=True)]


def _length(n: object, member: TypeTree) -> int:
    bounds = tree_bounds(member)
    return UNKNOWN_NBYTES if bounds is None or not isinstance(n, int) else n * max(bounds[1], 0)
