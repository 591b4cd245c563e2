"""The communication matrix: what each rank sent to each rank, point to point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from scalatrace.errors import FormatError, UsageError
from scalatrace.ops import Category, operation
from scalatrace.trace.counting import executions_of
from scalatrace.trace.requests import started
from scalatrace.trace.trace import Trace
from scalatrace.trace.walk import Call, distinct_calls

__all__ = ["MEASURES", "matrix"]


def _sent(call: Call) -> int:
    flow = operation(call.op).sends
    return flow.nbytes(call) if flow else 0


MEASURES: dict[str, Callable[[Call], int]] = {"bytes": _sent, "messages": lambda call: 1}

SENDING = (Category.SEND, Category.SENDRECV)


def matrix(trace: Trace, what: str = "bytes") -> np.ndarray[Any, np.dtype[np.int64]]:
    """What was sent point to point, from the compressed form: constant calls are counted, not walked.

    A persistent or partitioned send counts each time it is started; only ranks that start any are walked.

    Args:
        what: a key of MEASURES: "bytes" or "messages".

    Returns:
        nprocs x nprocs; row: sender, column: receiver, both world ranks. PROC_NULL and
        processes of another world count nowhere.

    Raises:
        UsageError: an unknown measure.
        FormatError: a message goes to a rank that its communicator does not have.
    """
    if what not in MEASURES:
        raise UsageError(f"no measure {what!r}; there are {', '.join(MEASURES)}")
    table = np.zeros((trace.nprocs, trace.nprocs), np.int64)
    for rank in trace.ranks:
        for call, n in _messages(trace, rank):
            dest = operation(call.op).peers[0]
            peer = call.raw(dest) if dest in call else -1
            if peer < 0:
                continue
            try:
                receiver = call.comm.world(peer)
            except IndexError:
                raise FormatError(f"rank {rank} sends to {peer}, which is not in the communicator") from None
            if receiver >= 0:
                table[rank, receiver] += n * MEASURES[what](call)
    return table


def _messages(trace: Trace, rank: int) -> Iterator[tuple[Call, int]]:
    """The calls of a rank that say what it sends, and how often each sends that."""
    for event, times in executions_of(trace, rank):
        if operation(trace.ops[event.op].name).category in SENDING:
            yield from distinct_calls(trace, event, rank, times)
    for _, call, times in started(trace, rank):
        row = operation(call.op)
        if row.category is Category.PERSISTENT and row.sends:
            yield call, times
