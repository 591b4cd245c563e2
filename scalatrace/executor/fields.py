"""Quantities of a node for every rank and execution, as the simulator reads them.

A quantity that is the same in all executions is one number, or a number for each rank. Others are arrays of
successive values, shared by the ranks of a class.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Ints
from scalatrace.errors import FormatError, LimitError
from scalatrace.executor import binding
from scalatrace.trace.model.elastic import Columns, Elastic, Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.rank_classes import class_numbers
from scalatrace.trace.values.from_arrays import first_values, ranks_in
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["Classes", "EngineQuantity", "classes_of", "constant", "constants_of", "pointer", "quantity"]

MAX_VALUES = 1 << 26
"""Values of one node that vary: half a gigabyte."""

MAX_CYCLES = 64
"""Lengths that are tried as the period of an array."""


def pointer(array: NDArray[Any], kind: Any) -> Any:
    """Return a C pointer to an array, which must live as long as it is used."""
    return array.ctypes.data_as(ctypes.POINTER(kind))


@dataclass
class EngineQuantity:
    """A number; or one for each rank; or arrays of successive values for classes of ranks.

    Attributes:
        value: the number.
        values: [nranks].
        class_of: [nranks], -1 for ranks without values.
        offsets, pool: the values of class c are pool[offsets[c]:offsets[c + 1]].
        period: executions after which all values repeat; 0: they do not. Then the pool has them once.
        encoding: of ranks of the world; others are absolute.
    """

    value: int = 0
    values: Ints | None = None
    class_of: NDArray[np.int32] | None = None
    offsets: Ints | None = None
    pool: Ints | None = None
    period: int = 0
    encoding: Encoding = Encoding.ABSOLUTE

    @property
    def varies(self) -> bool:
        """Whether executions of one rank differ."""
        return self.class_of is not None

    def distinct(self) -> set[int]:
        """Return all values."""
        array = self.pool if self.pool is not None else self.values
        return {self.value} if array is None else set(np.unique(array).tolist())

    def contains(self, value: int) -> bool:
        """Whether any rank has the value."""
        array = self.pool if self.pool is not None else self.values
        return self.value == value if array is None else bool((array == value).any())

    def field(self) -> binding.EngineField:
        """Return the C structure. It is valid while this object lives."""
        kind = 1 if self.values is not None else 0
        if self.class_of is not None:
            kind = 3 if self.period else 2
        field = binding.EngineField(kind=kind, encoding=int(self.encoding), value=self.value)
        if self.values is not None:
            field.values = pointer(self.values, ctypes.c_int64)
        if self.class_of is not None:
            field.class_of = pointer(self.class_of, ctypes.c_int32)
            field.offsets = pointer(self.offsets, ctypes.c_int64)  # type: ignore[arg-type]
            field.pool = pointer(self.pool, ctypes.c_int64)  # type: ignore[arg-type]
        return field


def constant(value: int) -> EngineQuantity:
    """Return a quantity that is one number."""
    return EngineQuantity(value)


def constants_of(value: Elastic, nprocs: int) -> Ints | None:
    """Return [nprocs] the one value of each rank, 0 of others; None: values of some rank may differ."""
    if isinstance(value, Vec):
        return None if value.constant is None else np.full(nprocs, value.constant, dtype=np.int64)
    if not isinstance(value, Groups):
        return None
    constants = np.zeros(nprocs, dtype=np.int64)
    for ranks, vec in value.groups:
        if vec.constant is None:
            return None
        for start, stop in ranks.runs:
            constants[start:stop] = vec.constant
    return constants


@dataclass
class Classes:
    """Ranks that have the same values of some parameters.

    Attributes:
        class_of: [nranks], -1 for ranks that do not take part.
        rows: of each class, the value vectors by parameter.
        counts: executions of a rank of each class.
    """

    class_of: NDArray[np.int32]
    rows: Sequence[Mapping[str, Vec]]
    counts: list[int]

    def derive(self, names: Sequence[str], function: Callable[..., Any]) -> EngineQuantity:
        """Compute a quantity from parameters.

        Args:
            names: parameters, given to the function as integers, or as arrays of successive values.
        """
        vectors = [self._of_class(i, names, function) for i in range(len(self.rows))]
        return quantity(self.class_of, vectors)

    def divided(self, name: str, numbers: Ints) -> Classes:
        """Divide each class by a number of its ranks, which becomes a parameter.

        Args:
            numbers: [nranks], from 0 on.
        """
        taking_part, count = self.class_of >= 0, int(numbers.max(initial=0)) + 1
        keys = self.class_of[taking_part] * count + numbers[taking_part]
        distinct, joint = np.unique(keys, return_inverse=True)
        class_of = np.full(len(self.class_of), -1, dtype=np.int32)
        class_of[taking_part] = joint
        parts = [divmod(key, count) for key in distinct.tolist()]
        rows = [{**self.rows[row], name: Vec(number)} for row, number in parts]
        return Classes(class_of, rows, [self.counts[row] for row, _ in parts])

    def _of_class(self, number: int, names: Sequence[str], function: Callable[..., Any]) -> Ints:
        vecs = [self.rows[number][name] for name in names]
        if all(vec.constant is not None for vec in vecs):
            return np.atleast_1d(np.asarray(function(*(vec.constant for vec in vecs)), dtype=np.int64))
        return np.asarray(function(*(expand(vec, self.counts[number]) for vec in vecs)), dtype=np.int64)


def expand(vec: Vec, count: int) -> Ints:
    """Return the first `count` values of a vector. Raises LimitError where these are too many."""
    if vec.constant is not None:
        return np.full(count, vec.constant, dtype=np.int64)
    if count > MAX_VALUES:
        raise _too_many(count)
    try:
        return first_values(vec, count)
    except ValueError as error:
        raise FormatError(f"corrupt trace: {error}") from None


def _too_many(count: int) -> LimitError:
    return LimitError(f"a call has {count:,} values that vary (limit {MAX_VALUES:,}); record fewer steps")


def quantity(class_of: NDArray[np.int32], vectors: Sequence[Ints]) -> EngineQuantity:
    """Return the quantity in which the ranks of class c have the values results[c]."""
    if not vectors:
        return constant(0)
    if all(len(values) == 1 for values in vectors):
        first_values = np.array([values[0] for values in vectors], dtype=np.int64)
        if (first_values == first_values[0]).all():
            return constant(int(first_values[0]))
        return EngineQuantity(values=np.where(class_of >= 0, first_values[class_of], 0).astype(np.int64))
    cycles = [_cycle(values) for values in vectors]
    period = 0
    if all(cycle is not None for cycle in cycles):
        vectors = [cycle for cycle in cycles if cycle is not None]
        period = lcm(*(len(cycle) for cycle in vectors))
    offsets = np.concatenate(([0], np.cumsum([len(values) for values in vectors]))).astype(np.int64)
    if offsets[-1] > MAX_VALUES:
        raise _too_many(int(offsets[-1]))
    return EngineQuantity(class_of=class_of, offsets=offsets, pool=np.concatenate(vectors), period=period)


def _cycle(values: Ints) -> Ints | None:
    """Return the shortest start of an array that it repeats, at least twice; None if there is none."""
    if len(values) == 1:
        return values
    for length in (np.flatnonzero(values[1 : len(values) // 2 + 1] == values[0])[:MAX_CYCLES] + 1).tolist():
        if (values[length:] == values[:-length]).all():
            return values[:length]
    return None


def classes_of(
    parameters: Mapping[str, Elastic], counts: Sequence[tuple[RankList, int]], nprocs: int
) -> Classes:
    """Divide ranks into classes with equal value vectors of all parameters, and equal numbers of executions.

    Args:
        counts: disjoint sets of ranks with their executions of the node.
    """
    vectors = {name: value for name, value in parameters.items() if isinstance(value, Vec)}
    if len(counts) == 1 and len(vectors) == len(parameters):  # most calls
        class_of = np.full(nprocs, -1, dtype=np.int32)
        for start, stop in counts[0][0].runs:
            class_of[start:stop] = 0
        return Classes(class_of, [vectors], [counts[0][1]])
    number = np.full(nprocs, -1, dtype=np.int64)
    for i, (ranks, _) in enumerate(counts):
        for start, stop in ranks.runs:
            number[start:stop] = i
    everyone = RankList.from_runs([run for ranks, _ in counts for run in ranks.runs])
    columns, vecs = [number], list[list[Vec]]()
    for value in parameters.values():
        numbers, own_vecs = _numbers(value, everyone, nprocs)
        columns.append(numbers)
        vecs.append(own_vecs)
    taking_part = number >= 0
    class_of = np.full(nprocs, -1, dtype=np.int32)
    joint = np.zeros(int(taking_part.sum()), dtype=np.int64)
    for column in columns:
        _, joint = np.unique(joint * (int(column.max()) + 2) + column[taking_part] + 1, return_inverse=True)
    _, first = np.unique(joint, return_index=True)
    class_of[taking_part] = joint
    names = list(parameters)
    rows, executions = list[dict[str, Vec]](), list[int]()
    for rank in np.flatnonzero(taking_part)[first].tolist():
        of_rank = [_vec_of(vec, int(column[rank])) for column, vec in zip(columns[1:], vecs, strict=True)]
        rows.append(dict(zip(names, of_rank, strict=True)))
        executions.append(counts[int(number[rank])][1])
    return Classes(class_of, rows, executions)


def _vec_of(vecs: list[Vec], number: int) -> Vec:
    """Return the vector of a class; a rank without one has the value 0: it does not enter the node."""
    return vecs[number] if number >= 0 else Vec(0)


def _numbers(value: Elastic, ranks: RankList, nprocs: int) -> tuple[Ints, list[Vec]]:
    """Return the class of each rank (-1: none) and the value vectors of the classes."""
    if not isinstance(value, Columns):
        return class_numbers(value, ranks, nprocs, max(len(ranks), 1))
    where = ranks_in(value.ranks)
    distinct, inverse = np.unique(first_values(value.vec, len(value.ranks)), return_inverse=True)
    numbers = np.full(nprocs, -1)
    numbers[where] = inverse
    return numbers, [Vec(number) for number in distinct.tolist()]
