"""Pairs of ranks that exchange data in collectives, where the call says which: from the compressed form.

    Alltoall, Allgather        each rank to all ranks of its communicator
    Gather, Scatter            each rank to the root, the root to each rank
    v and w forms              as these, with an amount for each rank
    neighbourhood              each rank to its neighbours in the topology

How a reducing collective or a broadcast moves its data is up to MPI: they are not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.operations import Category, operation
from scalatrace.trace.exchange.messages import MessageGroups
from scalatrace.trace.exchange.neighbours import Neighbours, neighbour_bytes
from scalatrace.trace.exchange.rank_sets import Budget, Number, RankSet, rank_sets, some_calls, walked_ranks
from scalatrace.trace.model.call import Call, CompiledEvent
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.query.requests import STARTING, started
from scalatrace.trace.query.summaries import summarised_names
from scalatrace.trace.values.vec import ROOT

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["Exchange", "exchanges_of", "has_pairs", "is_unknown"]

TO_ALL = ("allgather", "alltoall")
"""Collectives in which each rank sends to all."""

MAX_EXPANDED = 1 << 20
"""Pairs of ranks that one call of a set of ranks lists; of more, each group is one product."""


@dataclass(frozen=True)
class Exchange:
    """Data that some ranks send in a collective.

    Attributes:
        senders, receivers: world ranks: pairs; of a product, each sender sends to each receiver.
        count: calls; a fraction where it is an estimate.
        nbytes: of one call: of each pair, of each receiver of a product, or one number for all.
    """

    event: Event
    senders: Ints
    receivers: Ints
    count: Number
    nbytes: Ints | int
    product: bool = False

    @property
    def npairs(self) -> int:
        """Number of pairs."""
        return len(self.senders) * (len(self.receivers) if self.product else 1)

    def expanded(self) -> Exchange:
        """Return it as pairs."""
        if not self.product:
            return self
        n = len(self.receivers)
        nbytes = self.nbytes if isinstance(self.nbytes, int) else np.tile(self.nbytes, len(self.senders))
        senders, receivers = np.repeat(self.senders, n), np.tile(self.receivers, len(self.senders))
        return Exchange(self.event, senders, receivers, self.count, nbytes)


def has_pairs(op: str) -> bool:
    """Return whether the calls of an operation determine the bytes between each pair of ranks."""
    return operation(op).is_pairwise


def _sends_equal_blocks(op: str) -> bool:
    """Return whether a rank sends the same amount to each of its partners, without a list of them."""
    row = operation(op)
    return bool(row.collective) and row.is_pairwise and row.sends is not None and not row.sends.is_listed


def exchanges_of(trace: Trace, budget: Budget) -> Iterator[Exchange]:
    """Yield what ranks send in collectives; `budget.exact` becomes False where amounts are estimates.

    Raises:
        FormatError: a communicator does not have the root.
        LimitError, UsageError: too many ranks differ.
    """
    if not any(has_pairs(op.name) for op in trace.ops):
        return
    groups = MessageGroups(trace)
    for event, rank_set in rank_sets(trace, _matters, budget):
        op = trace.ops[event.op].name
        if not _sends_equal_blocks(op) or operation(op).flow_later or is_unknown(trace, event):
            continue
        for part in groups.of_one_size(event, rank_set):
            for call, n in some_calls(trace, event, part, _matters, budget):
                yield from _sent(trace, groups, call, part, n * rank_set.weight)
    yield from _by_rank(trace, budget)


def _sent(
    trace: Trace, groups: MessageGroups, call: Call, rank_set: RankSet, n: Number
) -> Iterator[Exchange]:
    """Yield what ranks with equal calls send; those in intercommunicators one by one."""
    if call.comm.remote is None:
        yield from _equal(groups, call, rank_set.ranks, n)
        return
    for rank in rank_set.ranks.tolist():
        yield from _list_partners(Call(CompiledEvent(trace, call.node, rank), call.values, -1), n)


def is_unknown(trace: Trace, event: Event) -> bool:
    """Return whether amounts or roots of a node's calls that have pairs are kept as histograms only."""
    op = trace.ops[event.op].name
    return any(_matters(op, name) for name in summarised_names(trace, event))


NAMES = frozenset({
    "sendcount", "sendtype", "recvcount", "recvtype", "sendcounts", "sendtypes", "root", "comm",
})  # fmt: skip
"""Parameters on which receivers and amounts depend."""


def _matters(op: str, name: str) -> bool:
    return name in NAMES and has_pairs(op)


def _equal(groups: MessageGroups, call: Call, ranks: Ints, n: Number) -> Iterator[Exchange]:
    """Yield what ranks with equal calls send: the same amount to each of their partners."""
    own_ranks, size, start, members = groups.arrays(call.family, ranks)
    nbytes, collective = _amount(call), operation(call.op).collective
    if collective in TO_ALL:
        yield from _to_all(call, ranks, (size, start, members), n, nbytes)
        return
    roots = groups.peers(call, "root", ranks)
    if collective == "gather":
        has_root = roots >= 0
        yield Exchange(call.node, ranks[has_root], members[(start + roots)[has_root]], n, nbytes)
        return
    is_root = own_ranks == roots
    yield from _to_all(call, ranks[is_root], (size[is_root], start[is_root], members), n, nbytes)


def _to_all(
    call: Call, ranks: Ints, comm: tuple[Ints, Ints, Ints], n: Number, nbytes: int
) -> Iterator[Exchange]:
    """Yield what each rank sends to all ranks of its communicator."""
    size, start, members = comm
    total = int(size.sum())
    if total <= MAX_EXPANDED:
        offsets = np.arange(total) - np.repeat(np.cumsum(size) - size, size)
        receivers = members[np.repeat(start, size) + offsets]
        yield Exchange(call.node, np.repeat(ranks, size), receivers, n, nbytes)
        return
    for first in np.unique(start).tolist():
        starts_at_first = start == first
        receivers = members[first : first + int(size[starts_at_first][0])]
        yield Exchange(call.node, ranks[starts_at_first], receivers, n, nbytes, product=True)


def _amount(call: Call) -> int:
    """Return the bytes to each partner; with MPI_IN_PLACE those that are received from it."""
    for side in ("send", "recv"):
        count, datatype = call.get(f"{side}count", -1), call.get(f"{side}type")
        if isinstance(count, int) and count >= 0 and hasattr(datatype, "size"):
            return count * int(datatype.size)
    return 0


def _by_rank(trace: Trace, budget: Budget) -> Iterator[Exchange]:
    """Yield what calls with an amount for each rank, in neighbourhoods, and of started requests send."""
    names = [op.name for op in trace.ops]
    listed = any(_is_listed(name) for name in names)
    is_started = any(name in STARTING for name in names) and any(
        operation(name).flow_later and has_pairs(name) for name in names
    )
    if not listed and not is_started:
        return
    sample, weight = walked_ranks(trace, budget)
    for rank in sample.tolist():
        neighbours = Neighbours()
        for call, n in _calls(trace, rank):
            if call.get("newcomm") is not None:
                neighbours.follow(call)
            elif _is_listed(call.op) and not is_unknown(trace, call.node):
                yield from _list_partners(call, n * weight, neighbours)
        for _, call, n in started(trace, rank) if is_started else ():
            if has_pairs(call.op) and not is_unknown(trace, call.node):
                yield from _list_partners(call, n * weight, neighbours)


def _is_listed(op: str) -> bool:
    row = operation(op)
    return row.is_pairwise and not _sends_equal_blocks(op) and not row.flow_later


def _calls(trace: Trace, rank: int) -> Iterator[tuple[Call, int]]:
    """Yield the calls of a rank that make communicators, or list amounts, with their numbers."""
    for event, times in executions_of(trace, rank):
        op = trace.ops[event.op].name
        if operation(op).category is Category.COMMUNICATOR:
            yield from counted_calls(trace, event, rank, times, lambda op, name: True)
        elif _is_listed(op):
            yield from counted_calls(trace, event, rank, times, _matters)


def _list_partners(call: Call, n: Number, neighbours: Neighbours | None = None) -> Iterator[Exchange]:
    """Yield what one rank sends to each of its partners."""
    peers, nbytes = _partners(call, neighbours)
    receivers = np.array([call.comm.world(peer) if peer >= 0 else -1 for peer in peers], dtype=np.int64)
    fits = max(nbytes, default=0) < 1 << 63
    amounts = np.array(nbytes, dtype=np.int64 if fits else object)
    has_receiver = receivers >= 0
    if has_receiver.any():
        yield Exchange(
            call.node, np.array([call.rank]), receivers[has_receiver], n, amounts[has_receiver], product=True
        )


def _partners(call: Call, neighbours: Neighbours | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ranks of the communicator that a call sends to, and bytes to each."""
    collective = operation(call.op).collective
    if operation(call.op).category is Category.NEIGHBOUR:
        lists = None if neighbours is None else neighbours.of(call.family)
        if lists is None:
            return (), ()
        return lists[1], neighbour_bytes(call, "send", len(lists[1]))
    everyone = tuple(range(len(call.comm.peers)))
    root = call.raw("root") if "root" in call else 0
    is_root = root == (ROOT if call.comm.remote is not None else call.comm.rank)
    if collective == "gather":
        return ((root,), (_amount(call),)) if root >= 0 else ((), ())
    if collective == "scatter" and not is_root:
        return (), ()
    if _sends_equal_blocks(call.op):
        return everyone, (_amount(call),) * len(everyone)
    counts = call.get("sendcounts")
    side = "send" if isinstance(counts, tuple) else "recv"  # MPI_IN_PLACE
    counts = call.get(f"{side}counts")
    if not isinstance(counts, tuple) or len(counts) != len(everyone):
        return (), ()
    return everyone, neighbour_bytes(call, side, len(everyone))
