"""Forms of arrays whose values follow one pattern, but whose vecs differ from rank to rank.

Of the blocks of a distribution, or of their offsets, the first ones are longer than the others, unless none
is, or only one. Here all are written as two loops, of which the first may run 0 times and the last does not
end: [17 17 16 16] as ((2 0 17)(0 0 16)), [25 25 25 25] as ((0 0 26)(0 0 25)).

Numbers at equal distances, such as those of requests, have no loop where they are few. Here all are one loop
that does not end: [2 1 0] as ((0 -1 2)).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from scalatrace.trace.model.tables import IntArray

__all__ = ["ArrayForm", "ArrayProgression", "BlockForm", "array_form", "array_terms"]

MAX_VALUES = 1 << 12
"""Longer arrays are not looked at."""


MIN_RUNS = 3
"""Traces that must show the distance of numbers."""


class BlockForm(NamedTuple):
    """Representation of the arrays of one parameter.

    Attributes:
        step: how much longer the first blocks are.
        offsets: whether the arrays are offsets of blocks.
    """

    step: int
    offsets: bool


class ArrayProgression(NamedTuple):
    """The form of arithmetic progressions.

    Attributes:
        step: of all arrays; None: each has its own.
    """

    step: int | None


ArrayForm = BlockForm | ArrayProgression


def array_form(runs: Sequence[Collection[IntArray]]) -> ArrayForm | None:
    """Return the common form of all arrays, or None; empty arrays, as of ranks other than root, are ignored.

    Args:
        runs: the arrays of each trace.

    Returns:
        None if there is no form; of blocks, if no array has two kinds of them; of a progression, if fewer
        than MIN_RUNS traces show its step: an array of one number shows none.
    """
    arrays_with_values = [array for arrays in runs for array in arrays if array.length]
    if any(array.relative or array.length > MAX_VALUES for array in arrays_with_values):
        return None
    if not any(array.summed for array in arrays_with_values):
        of_runs = [{b - a for array in arrays for a, b in pairwise(array.values)} for arrays in runs]
        steps = set[int]().union(*of_runs)
        if len(steps) == 1 and 0 not in steps and sum(map(bool, of_runs)) >= MIN_RUNS:
            return ArrayProgression(steps.pop())
    if any(array.length < 2 for array in arrays_with_values):
        return None
    return _block_form(arrays_with_values) or _own_progressions(runs)


def _own_progressions(runs: Sequence[Collection[IntArray]]) -> ArrayProgression | None:
    """Return the form of progressions whose steps differ, as offsets of blocks; None: they are none."""
    given = [array for arrays in runs for array in arrays if array.length]
    if sum(any(array.length for array in arrays) for arrays in runs) < MIN_RUNS:
        return None
    if sum(any(array.length > 2 for array in arrays) for arrays in runs) < MIN_RUNS - 1:
        return None
    steps = [{b - a for a, b in pairwise(array.values)} for array in given]
    if any(array.summed for array in given) or any(len(step) != 1 for step in steps):
        return None
    every = set[int]().union(*steps)
    return ArrayProgression(None) if len(every) > 1 and 0 not in every else None


def _block_form(given: Sequence[IntArray]) -> BlockForm | None:
    for offsets in (False, True):
        blocks = [_blocks(array, offsets) for array in given]
        steps = {row[0] - row[-1] for row in blocks} - {0}
        form = BlockForm(max(steps, default=0), offsets)
        if len(steps) == 1 and form.step > 0 and all(_longer(row, form.step) is not None for row in blocks):
            return form
    return None


def array_terms(array: IntArray, form: ArrayForm) -> tuple[Any, ...]:
    """Return the terms of an array's vec in a form of the array."""
    row = array.values
    if isinstance(form, ArrayProgression):
        return ((0, row[1] - row[0] if form.step is None else form.step, row[0]),)
    blocks = _blocks(array, form.offsets)
    longer, low = _longer(blocks, form.step) or 0, blocks[-1]
    high = low + form.step
    if form.offsets:
        return (longer, high, row[0]), (0, low, row[0] + longer * high)
    return (longer, 0, high), (0, 0, low)


def _blocks(array: IntArray, offsets: bool) -> Sequence[int]:
    """The blocks of an array of these, or of their offsets: of the latter it may have all but the last."""
    if not offsets:
        return array.values
    return array.vec.first(array.length) if array.summed else [b - a for a, b in pairwise(array.values)]


def _longer(blocks: Sequence[int], step: int) -> int | None:
    """How many of the first blocks are longer by a step than all others; None if they are no such blocks."""
    low = blocks[-1]
    longer = sum(block == low + step for block in blocks)
    return longer if list(blocks) == [low + step] * longer + [low] * (len(blocks) - longer) else None
