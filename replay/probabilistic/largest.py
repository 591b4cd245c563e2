"""How large the messages of a rank can be, drawn ones too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from scalatrace.operations import SENDING, Mode, operation
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.probabilistic.sampled_calls import histogram_of
from scalatrace.replay.probabilistic.shared_random import counts_of
from scalatrace.trace.model.elastic import at
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.tables import Op
from scalatrace.trace.query.counting import executions_of

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["is_buffered", "largest_sent"]


def is_buffered(op: str) -> bool:
    """Whether an operation sends from memory that the program attached."""
    return operation(op).mode is Mode.BUFFERED


def largest_sent(
    trace: Trace, rank: int, whatif: WhatIf, chosen: Callable[[str], bool] = lambda op: True
) -> int:
    """Return the bytes of the largest message that a rank may send by these operations; 0 when none."""
    most = 0
    for leaf, times in executions_of(trace, rank):
        op = trace.ops[leaf.op]
        if operation(op.name).category in SENDING and chosen(op.name):
            count = max(_largest(op, leaf, name, rank, times) for name in ("count", "sendcount"))
            parts = _largest(op, leaf, "partitions", rank, times) if op.index("partitions") is not None else 1
            most = max(most, count * parts * _widest(trace, op, leaf, rank, times))
    return most * whatif.max_nbytes_factor


def _largest(op: Op, leaf: Event, name: str, rank: int, times: int) -> int:
    """Return the largest value of a parameter that an operation may have; at least 0."""
    histogram = histogram_of(op, leaf, name)
    if histogram is not None:
        return max((ceil(max(b.max, b.mean)) for b in counts_of(histogram)), default=0)
    return max({0, *_values(op, leaf, name, rank, times)})


def _widest(trace: Trace, op: Op, leaf: Event, rank: int, times: int) -> int:
    """Return the bytes of one element of what a leaf sends."""
    name = "datatype" if op.index("sendtype") is None else "sendtype"
    return max((trace.datatype(i).size for i in _values(op, leaf, name, rank, times)), default=0)


def _values(op: Op, leaf: Event, name: str, rank: int, times: int) -> set[int]:
    """Return the different values of a parameter on a rank."""
    place = op.index(name)
    if place is None:
        return set()
    param = leaf.params[place]
    vec = at(param.value if isinstance(param, Peer) else param, rank)
    return set() if vec is None else {vec.constant} if vec.constant is not None else set(islice(vec, times))
