"""Sizes of messages in bytes: numbers of elements times the sizes of datatypes, over the ranks of a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import ScalatraceError
from scalatrace.report.style import nbytes
from scalatrace.report.values import ends_of
from scalatrace.trace.model.elastic import Columns, Elastic, Formulas, Summary
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.rank_classes import formula_totals, rank_classes
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.from_arrays import first_values, ranks_in
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

__all__ = ["MessageSize", "message_sizes"]

TYPES_OF_COUNTS = {
    "count": "datatype",
    "sendcount": "sendtype",
    "recvcount": "recvtype",
    "origin_count": "origin_datatype",
    "target_count": "target_datatype",
}
"""Number of elements -> their datatype."""

TYPES_OF_ARRAYS = {"sendcounts": "sendtype", "recvcounts": "recvtype"}
"""Numbers of elements for each rank of the communicator -> their datatype."""

MAX_CLASSES = 64
"""Groups of ranks of a number of elements or of a datatype that are looked at one by one."""

MAX_RANKS = 1 << 22
"""Ranks for which a formula is computed."""

MAX_EXECUTIONS = 1 << 10
"""Executions of a call that are looked at one by one."""

MAX_ELEMENTS = 1 << 16
"""Numbers in an array of counts that are added up."""


@dataclass(frozen=True)
class MessageSize:
    """Bytes of a call.

    Attributes:
        least, most: over all ranks and executions.
        total: of all ranks in one execution, where ranks differ; None: executions differ, or ranks do not.
        of_arrays: whether a call has as many messages as its communicator has ranks.
    """

    least: int
    most: int
    total: int | None = None
    of_arrays: bool = False

    def __str__(self) -> str:
        text = nbytes(self.least)
        if self.least != self.most:
            text += f" to {nbytes(self.most)}"
        if self.of_arrays:
            text += " per call"
        return text if self.total is None else f"{text}, {nbytes(self.total)} on all ranks"


@dataclass(frozen=True)
class _Numbers:
    """The least and the greatest of some values, and their sum over ranks; None: executions differ."""

    least: int
    most: int
    total: int | None

    def times(self, factor: int) -> _Numbers:
        total = None if self.total is None else self.total * factor
        return _Numbers(self.least * factor, self.most * factor, total)


def message_sizes(trace: Trace, event: Event, taking_part: RankList) -> dict[str, MessageSize]:
    """Return the size of the messages that each number of elements of an event node stands for.

    Left out are numbers without end, and those of which too many ranks have values of their own.
    """
    op = trace.ops[event.op]
    by_name = {name: value for (name, _), value in zip(op.params, event.params, strict=True)}
    sizes = {}
    for types, is_array in ((TYPES_OF_COUNTS, False), (TYPES_OF_ARRAYS, True)):
        for name, type_name in types.items():
            counts, datatypes = by_name.get(name), by_name.get(type_name)
            if counts is None or datatypes is None:
                continue
            if isinstance(counts, Peer | Summary) or isinstance(datatypes, Peer | Summary):
                continue
            try:
                found = _size(trace, counts, datatypes, taking_part, is_array)
            except (ScalatraceError, ValueError):  # the tree shows damaged traces, too
                continue
            if found is not None and found.least >= 0:
                total = found.total if found.least != found.most else None
                sizes[name] = MessageSize(found.least, found.most, total, is_array)
    return sizes


def _size(
    trace: Trace, counts: Elastic, datatypes: Elastic, ranks: RankList, is_array: bool
) -> _Numbers | None:
    """Return the bytes of all ranks; None: not known."""
    datatype = datatypes.constant if isinstance(datatypes, Vec) else None
    numbers = None if datatype is None or is_array else _of_single_ranks(counts, ranks)
    if datatype is not None and numbers is not None:
        return None if datatype < 0 else numbers.times(trace.datatype(datatype).size)
    parts = []
    for members, count, types in _common_classes(counts, datatypes, ranks):
        if any(vec.constant is not None and vec.constant < SPECIAL_MAX for vec in (count, types)):
            continue  # of ranks that are not the root
        values = _bytes(trace, count, types, is_array)
        if not values:
            return None
        is_constant = len(values) == 1 and count.constant is not None
        parts.append(_Numbers(min(values), max(values), values[0] * len(members) if is_constant else None))
    if not parts:
        return None
    totals = [part.total for part in parts if part.total is not None]
    total = sum(totals) if len(totals) == len(parts) else None
    return _Numbers(min(part.least for part in parts), max(part.most for part in parts), total)


def _common_classes(
    counts: Elastic, datatypes: Elastic, ranks: RankList
) -> Iterator[tuple[RankList, Vec, Vec]]:
    """Yield ranks with the same numbers and datatypes."""
    by_type = list(rank_classes(datatypes, ranks, MAX_CLASSES))
    for of_count, count in rank_classes(counts, ranks, MAX_CLASSES):
        for of_type, datatype in by_type:
            if common := of_count & of_type:
                yield common, count, datatype


def _bytes(trace: Trace, counts: Vec, datatypes: Vec, is_array: bool) -> Sequence[int]:
    """Return sizes with the least and the greatest one of some executions; nothing: they are not known."""
    numbers, types = _values(counts), _values(datatypes)
    if len(types) > 1 and len(numbers) == 1:
        numbers *= len(types)
    elif len(types) == 1:
        types *= len(numbers)
    if not types or len(types) != len(numbers) or min(types) < 0:
        return ()
    if is_array:
        arrays = [trace.stored_array(number) for number in numbers if number >= 0]
        if len(arrays) < len(numbers) or any(array.length > MAX_ELEMENTS for array in arrays):
            return ()
        numbers = tuple(sum(array.values) for array in arrays)
    return [count * trace.datatype(datatype).size for count, datatype in zip(numbers, types, strict=True)]


def _values(vec: Vec) -> tuple[int, ...]:
    """Return all values of a vector, or those that it repeats without end; nothing: they are too many."""
    if vec.constant is None and vec.length is not None and vec.length <= MAX_EXECUTIONS:
        return vec.first(vec.length)
    return ends_of(vec)


def _of_single_ranks(counts: Elastic, ranks: RankList) -> _Numbers | None:
    """Return numbers that most ranks have alone; None: they are of few groups, or executions differ."""
    values: Ints
    if isinstance(counts, Columns):
        own = ranks_in(counts.ranks)
        values = first_values(counts.vec, len(own))
        if counts.ranks != ranks:
            values = values[np.isin(own, ranks_in(ranks))]
    elif isinstance(counts, Formulas) and len(ranks) <= MAX_RANKS:
        if any(part.formulas is None or part.shape is not None for part in counts.parts):
            return None
        own = ranks_in(ranks & counts.ranks)
        values = formula_totals(counts, own, np.ones_like(own), MAX_CLASSES)
    else:
        return None
    if not len(values):
        return None
    return _Numbers(int(values.min()), int(values.max()), sum(values.tolist()))
