"""Message sizes in bytes, from counts and datatypes."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from scalatrace.errors import LimitError
from scalatrace.executor.fields import EngineQuantity, constant
from scalatrace.executor.parameters import Parameters
from scalatrace.operations import operation
from scalatrace.trace.exchange.type_sizes import member_sizes
from scalatrace.trace.model.trace import Trace

__all__ = ["MessageSizes"]

COMMUNICATOR_NBYTES = 8
"""What making a communicator reduces: a context number."""


class MessageSizes:
    """Sizes of a trace's datatypes, and sums of its arrays of counts."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sizes = np.array([max(datatype.size, 0) for datatype in trace.types] or [0], dtype=np.int64)
        self._means: dict[tuple[int, int | None], int] = {}

    def sent(self, parameters: Parameters) -> EngineQuantity:
        """Return the bytes of a message that a call sends, puts or gets."""
        row = operation(parameters.name)
        flow = row.sends or row.recvs
        if flow is None or flow.datatype not in parameters.names:
            return constant(0)
        names = [flow.datatype]
        names += [flow.count] if flow.count else []
        names += [flow.times] if flow.times in parameters.names else []

        def nbytes(types: Any, *factors: Any) -> Any:
            total = self.of_type(types)
            for factor in factors:
                total = _product(parameters.name, total, np.maximum(factor, 0))
            return total

        return parameters.derived(names, nbytes)

    def of_type(self, index: Any) -> Any:
        """Return the sizes of datatypes by their indices; 0 of special values."""
        numbers = np.asarray(index)
        in_table = (numbers >= 0) & (numbers < len(self._sizes))
        return np.where(in_table, self._sizes[np.where(in_table, numbers, 0)], 0)

    def collective(self, parameters: Parameters) -> EngineQuantity:
        """Return the size that the rules of a collective operation count: see platform/algorithms.py."""
        names = parameters.names
        if "newcomm" in names:
            return constant(COMMUNICATOR_NBYTES)
        row = operation(parameters.name)
        pairs = [(flow.count, flow.datatype) for flow in row.flows]
        pairs += [("sendcounts", "sendtypes")]  # of Alltoallw
        pairs = [(count, kind) for count, kind in dict.fromkeys(pairs) if count in names and kind in names]
        if len(pairs) > 1 and row.block and row.collective in ("gather", "scatter"):
            pairs = [(row.block.count, row.block.datatype)]  # the root's other side may mean nothing
        if not pairs:
            return constant(0)
        flat = [name for pair in pairs for name in pair]

        def nbytes(*values: Any) -> Any:
            sizes = [
                self._blocks(parameters.name, pair, values[2 * i], values[2 * i + 1])
                for i, pair in enumerate(pairs)
            ]
            return np.maximum.reduce(sizes) if len(sizes) > 1 else sizes[0]

        return parameters.derived(list(dict.fromkeys(flat)), _by_name(flat, nbytes))

    def _blocks(self, op_name: str, names: tuple[str, str], counts: Any, types: Any) -> Any:
        """Return bytes of blocks: one count, or the mean of an array, times one datatype, or each its own."""
        if not names[1].endswith("types"):
            return _product(op_name, self.elements(names[0], counts), self.of_type(types))
        return np.vectorize(self._mean, otypes=[np.int64])(counts, types)

    def elements(self, name: str, values: Any) -> Any:
        """Return numbers of elements; of an array of counts, their mean."""
        if not name.endswith("counts"):
            return np.maximum(values, 0)
        return np.vectorize(self._mean, otypes=[np.int64])(values)

    def _mean(self, counts: int, types: int | None = None) -> int:
        """Return the mean of an array of counts, or of the bytes of its blocks; rounded up.

        Args:
            counts, types: indices into the tables of the trace; the datatypes of an Alltoallw are the members
                of one struct.
        """
        key = int(counts), None if types is None else int(types)
        if key not in self._means:
            self._means[key] = self._compute_mean(*key)
        return self._means[key]

    def _compute_mean(self, counts: int, types: int | None) -> int:
        if counts < 0 or not (types is None or 0 <= types < len(self._trace.types)):
            return 0
        listed = self._trace.stored_array(counts).values
        sizes = repeat(1) if types is None else member_sizes(self._trace.types[types])
        blocks = [max(n, 0) * size for n, size in zip(listed, sizes, strict=False)]
        return -(-sum(blocks) // len(blocks)) if blocks else 0


def _product(op_name: str, first: Any, second: Any) -> Any:
    """Return the product of integers that are not negative. Raises LimitError where it has over 63 bits."""
    if (np.multiply(first, second, dtype=float) >= 2.0**63).any():
        raise LimitError(f"a message of MPI_{op_name} has more than 2^63 bytes; check its count and datatype")
    return first * second


def _by_name(flat: list[str], function: Any) -> Any:
    """Let a function take parameters that occur more than once in a list, given each one once."""
    order = list(dict.fromkeys(flat))

    def call(*values: Any) -> Any:
        parameters = dict(zip(order, values, strict=True))
        return function(*(parameters[name] for name in flat))

    return call
