"""Communication matrix: bytes or messages from each rank to each rank, point to point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from scalatrace.errors import FormatError, LimitError, UsageError
from scalatrace.operations import SENDING, Category, operation
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import check_visits, executions_of
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.query.requests import started
from scalatrace.trace.query.summaries import byte_parameters, summarised
from scalatrace.trace.query.traffic import traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MAX_DENSE_RANKS", "MEASURES", "matrix", "outside", "pairs", "pairs_by_site"]


def _sent(call: Call) -> int:
    flow = operation(call.op).sends
    return flow.nbytes(call) if flow else 0


MEASURES: dict[str, Callable[[Call], int]] = {"bytes": _sent, "messages": lambda call: 1}

MAX_DENSE_RANKS = 8192
"""Ranks of a matrix with all its entries, which takes 512 MB then."""

OUTSIDE = (Category.COLLECTIVE, Category.NEIGHBOUR, Category.ONE_SIDED)
"""What moves bytes between ranks, but not from one rank to one other that receives it."""

Pairs = dict[tuple[int, int], int]
"""(sender, receiver), both world ranks -> amount; pairs without any are left out."""

Site = tuple[str, tuple[str, ...]]
"""Operation and stack of a call."""


def pairs(trace: Trace, what: str = "bytes") -> Pairs:
    """Return what was sent point to point, from the compressed form: equal calls are counted, not walked.

    A persistent or partitioned send counts each time it is started; only ranks that start any are walked.
    PROC_NULL and processes of another world count nowhere.

    Args:
        what: a key of MEASURES: "bytes" or "messages".

    Raises:
        UsageError: an unknown measure, or the trace has histograms instead of destinations.
        FormatError: a message goes to a rank that its communicator does not have.
        LimitError: very many ranks or different calls.
    """
    result: Pairs = {}
    for _, pair, amount in _amounts(trace, what):
        result[pair] = result.get(pair, 0) + amount
    return result


def pairs_by_site(trace: Trace, one_sided: bool = False) -> dict[Site, set[tuple[int, int]]]:
    """Return the pairs that exchange messages, by operation and stack of the send. Raises as `pairs`.

    Args:
        one_sided: return origins and targets of one-sided communication instead.
    """
    result: dict[Site, set[tuple[int, int]]] = {}
    for call, pair, _ in _amounts(trace, "messages", {Category.ONE_SIDED} if one_sided else SENDING):
        result.setdefault((call.op, call.stack), set()).add(pair)
    return result


def _amounts(
    trace: Trace, what: str, categories: Collection[Category] = SENDING
) -> Iterator[tuple[Call, tuple[int, int], int]]:
    """Yield the sending calls with their pair of ranks and the amount of all equal calls."""
    if what not in MEASURES:
        raise UsageError(f"unknown measure {what!r}; give {' or '.join(MEASURES)}")
    if names := summarised(
        trace, lambda op, name: _sends(op, categories) and name in operation(op).peers[:1]
    ):
        raise UsageError(f"no matrix: the trace has histograms instead of destinations ({', '.join(names)})")
    check_visits(trace)
    sized = byte_parameters if what == "bytes" else lambda op, name: name == "comm"

    def matters(op: str, name: str) -> bool:
        return sized(op, name) or name in operation(op).peers[:1]

    for rank in trace.ranks:
        for call, n in _messages(trace, rank, matters, categories):
            dest = operation(call.op).peers[0]
            peer = call.raw(dest) if dest in call else -1
            if peer < 0:
                continue
            try:
                receiver = call.comm.world(peer)
            except IndexError:
                raise FormatError(f"rank {rank} sends to {peer}, which is not in the communicator") from None
            if receiver >= 0 and (amount := n * MEASURES[what](call)):
                yield call, (rank, receiver), amount


def matrix(trace: Trace, what: str = "bytes") -> NDArray[np.int64]:
    """Return `pairs` as nprocs x nprocs; row: sender, column: receiver.

    Raises:
        LimitError: more than MAX_DENSE_RANKS ranks, or an amount of more than 64 bits; and as `pairs`.
    """
    import numpy as np  # takes longer to import than most traces to read

    if trace.nprocs > MAX_DENSE_RANKS:
        raise LimitError(
            f"the matrix of {trace.nprocs} ranks is too large to hold all entries (limit {MAX_DENSE_RANKS}); "
            "scalatrace.trace.query.matrix.pairs has those that are not 0"
        )
    table = np.zeros((trace.nprocs, trace.nprocs), np.int64)
    for pair, amount in pairs(trace, what).items():
        if amount >> 63:
            raise LimitError(
                f"rank {pair[0]} sends {amount} {what} to rank {pair[1]}, more than 64 bits hold; "
                "scalatrace.trace.query.matrix.pairs has exact integers"
            )
        table[pair] = amount
    return table


def _sends(op: str, categories: Collection[Category]) -> bool:
    row = operation(op)
    return row.category in categories and (row.category is not Category.PERSISTENT or row.sends is not None)


def _messages(
    trace: Trace, rank: int, matters: Callable[[str, str], bool], categories: Collection[Category]
) -> Iterator[tuple[Call, int]]:
    """Yield the sending calls of a rank with their numbers of messages."""
    for event, times in executions_of(trace, rank):
        category = operation(trace.ops[event.op].name).category
        if category in categories and category is not Category.PERSISTENT:
            yield from counted_calls(trace, event, rank, times, matters)
    for _, call, times in started(trace, rank) if Category.PERSISTENT in categories else ():
        row = operation(call.op)
        if row.category is Category.PERSISTENT and row.sends:
            yield call, times


def outside(trace: Trace) -> dict[Category, tuple[int, int]]:
    """Return calls and bytes sent of what is not in the matrix, by category; only categories with calls.

    Raises:
        LimitError: very many ranks have different parameters or trip counts.
    """
    wanted = {i for i, op in enumerate(trace.ops) if operation(op.name).category in OUTSIDE}
    found: dict[Category, tuple[int, int]] = {}
    for event, ncalls, nbytes, _ in traffic(trace) if wanted else ():
        if event.op in wanted and ncalls:
            category = operation(trace.ops[event.op].name).category
            calls, sent = found.get(category, (0, 0))
            found[category] = calls + ncalls, sent + nbytes
    return found
