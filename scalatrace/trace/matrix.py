"""The communication matrix: what each rank sent to each rank, point to point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from scalatrace.errors import FormatError, UsageError
from scalatrace.ops import Category, operation, sent_bytes
from scalatrace.trace.counting import executions_of
from scalatrace.trace.nodes import Event
from scalatrace.trace.trace import Trace
from scalatrace.trace.walk import Call, calls

__all__ = ["MEASURES", "matrix"]

MEASURES: dict[str, Callable[[Call], int]] = {
    "bytes": lambda call: sent_bytes(call.op, call),
    "messages": lambda call: 1,
}

SENDING = (Category.SEND, Category.SENDRECV)


def matrix(trace: Trace, what: str = "bytes") -> np.ndarray[Any, np.dtype[np.int64]]:
    """What was sent point to point, from the compressed form: constant calls are counted, not walked.

    Args:
        what: a key of MEASURES: "bytes" or "messages".

    Returns:
        nprocs x nprocs; row: sender, column: receiver, both world ranks. PROC_NULL counts nowhere.

    Raises:
        UsageError: an unknown measure.
        FormatError: a message goes to a rank that its communicator does not have.
    """
    if what not in MEASURES:
        raise UsageError(f"no measure {what!r}; there are {', '.join(MEASURES)}")
    table = np.zeros((trace.nprocs, trace.nprocs), np.int64)
    for rank in trace.ranks:
        for event, times in executions_of(trace, rank):
            if operation(trace.ops[event.op].name).category in SENDING:
                _add(table, trace, event, rank, times, MEASURES[what])
    return table


def _add(
    table: Any, trace: Trace, event: Event, rank: int, times: int, measure: Callable[[Call], int]
) -> None:
    dest = operation(trace.ops[event.op].name).peers[0]
    for call, n in _distinct(calls(trace, event, rank), times):
        peer = call.raw(dest) if dest in call else -1
        if peer < 0:
            continue
        try:
            table[rank, call.comm.world(peer)] += n * measure(call)
        except IndexError:
            raise FormatError(f"rank {rank} sends to {peer}, which is not in the communicator") from None


def _distinct(stream: Iterator[Call], times: int) -> Iterator[tuple[Call, int]]:
    """The calls of one node with how often each stands in a row; a constant node's once."""
    first = next(stream)
    if first.place.constant:
        yield first, times
        return
    yield first, 1
    for call in islice(stream, times - 1):
        yield call, 1
