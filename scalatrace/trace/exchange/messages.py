"""Point-to-point messages of all ranks as arrays of senders and receivers, from the compressed form.

Ranks of one set store the same peer in its encoding, so one decoding gives the receivers of all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormatError
from scalatrace.operations import SENDING, Category, operation, sent_bytes
from scalatrace.trace.exchange.rank_sets import Budget, Number, RankSet, rank_sets, some_calls, walked_ranks
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.requests import STARTING, started
from scalatrace.trace.query.summaries import byte_parameters, summarised
from scalatrace.trace.values.vec import ANY_SOURCE, SPECIAL_MAX, Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["ANY", "NONE", "MessageGroups", "Messages", "messages_of", "world_rank"]

NONE, ANY = -1, -2
"""In place of the world rank of a peer: there is none, and it is any."""


@dataclass(frozen=True)
class Messages:
    """Equal calls of some ranks that each send to one other rank.

    Attributes:
        event: the event node of the call that starts the transfer.
        senders, receivers: world ranks, pair by pair.
        count: messages of each pair; a fraction where it is an estimate.
        nbytes: size of one message.
        call: operation and signature of the call that sends, or that made the request.
    """

    event: Event
    senders: Ints
    receivers: Ints
    count: Number
    nbytes: int
    call: tuple[str, int] = ("", 0)

    @property
    def npairs(self) -> int:
        """Number of pairs."""
        return len(self.senders)

    def expanded(self) -> Messages:
        """Return it as pairs, which it is."""
        return self


def messages_of(trace: Trace, budget: Budget, categories: Collection[Category] = SENDING) -> list[Messages]:
    """Return all messages; `budget.exact` becomes False where they are estimates.

    A persistent or partitioned send counts each time it is started. PROC_NULL counts nowhere.

    Args:
        categories: of the calls that send.

    Raises:
        FormatError: a message goes to a rank that its communicator does not have.
        LimitError, UsageError: too many ranks differ.
    """
    if summarised(trace, lambda op, name: sends_to(op, name, categories)):
        return []

    def matters(op: str, name: str) -> bool:
        row = operation(op)
        is_sent = row.category in categories and row.category is not Category.PERSISTENT
        return is_sent and (byte_parameters(op, name) or name in row.peers[:1])

    groups = MessageGroups(trace)
    found_messages = []
    for event, rank_set in rank_sets(trace, matters, budget):
        category = operation(trace.ops[event.op].name).category
        if category not in categories or category is Category.PERSISTENT:
            continue
        for part in groups.of_one_size(event, rank_set):
            for call, n in some_calls(trace, event, part, matters, budget):
                if (receivers := groups.receivers(call, part)) is not None:
                    found_messages.append(_messages(event, part.ranks, receivers, n * part.weight, call))
    return found_messages + (
        list(_started_messages(trace, budget)) if Category.PERSISTENT in categories else []
    )


def world_rank(call: Call, peer: int) -> int:
    """Return the world rank of a peer of a call; ANY: any, NONE: none, or in another world."""
    if peer == ANY_SOURCE:
        return ANY
    return max(call.comm.world(peer), NONE) if 0 <= peer < len(call.comm.peers) else NONE


def sends_to(op: str, name: str, categories: Collection[Category] = SENDING) -> bool:
    """Return whether a parameter of an operation is the destination."""
    row = operation(op)
    sends = row.category is not Category.PERSISTENT or row.sends is not None
    return sends and row.category in categories and name in row.peers[:1]


def _messages(event: Event, senders: Ints, receivers: Ints, n: Number, call: Call) -> Messages:
    has_receiver = receivers >= 0
    later = operation(call.op).flow_later
    nbytes = sent_bytes(call.op, call, started=later)
    origin = call.op, call.node.signature
    return Messages(event, senders[has_receiver], receivers[has_receiver], n, nbytes, origin)


def _started_messages(trace: Trace, budget: Budget) -> Iterator[Messages]:
    """Yield the messages of started persistent requests."""
    if not any(op.name in STARTING for op in trace.ops):
        return
    sample, weight = walked_ranks(trace, budget)
    for rank in sample.tolist():
        for event, call, n in started(trace, rank):
            row = operation(call.op)
            if row.category is Category.PERSISTENT and row.sends and (peer := call.raw(row.peers[0])) >= 0:
                receiver = np.array([_member(call, peer)])
                yield _messages(event, np.array([rank]), receiver, n * weight, call)


def _member(call: Call, peer: int) -> int:
    try:
        return call.comm.world(peer)
    except FormatError:
        raise FormatError(_outside(call.rank, peer)) from None


def _outside(rank: int, peer: int) -> str:
    return f"rank {rank} sends to {peer}, which is not in the communicator"


class MessageGroups:
    """Members of communicators as arrays, for all ranks at once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[int, tuple[Ints, Ints, Ints, Ints]] = {}

    def of_one_size(self, event: Event, rank_set: RankSet) -> Iterator[RankSet]:
        """Divide a set of ranks so that a peer modulo the size of a communicator means the same to all."""
        peers = [param for param in event.params if isinstance(param, Peer)]
        kinds = zip(self._trace.ops[event.op].params, event.params, strict=True)
        comm = next((param for (_, kind), param in kinds if kind is Kind.COMM), None)
        family = comm.constant if isinstance(comm, Vec) else None
        if comm is None or family == 0 or all(peer.encoding is not Encoding.MODULO for peer in peers):
            yield rank_set
        elif family is None:
            yield from (
                replace(rank_set, ranks=rank_set.ranks[i : i + 1]) for i in range(len(rank_set.ranks))
            )
        else:
            sizes = self.arrays(family, rank_set.ranks)[1]
            for size in np.unique(sizes).tolist():
                yield replace(rank_set, ranks=rank_set.ranks[sizes == size])

    def receivers(self, call: Call, rank_set: RankSet) -> Ints | None:
        """Return destinations of the ranks of a set as world ranks, -1 for another world; None without any.

        Raises:
            FormatError: the communicator does not have such a rank.
        """
        name = operation(call.op).peers[0]
        if name not in call or call.raw(name) < SPECIAL_MAX:
            return None  # not recorded; nobody
        if call.comm.remote is not None:
            return np.array([self._in_remote(call, rank) for rank in rank_set.ranks.tolist()])
        _, _, start, members = self.arrays(call.family, rank_set.ranks)
        peers = self.peers(call, name, rank_set.ranks)
        world: Ints = np.where(peers < 0, -1, np.maximum(members[start + np.maximum(peers, 0)], -1))
        return world

    def peers(self, call: Call, name: str, ranks: Ints) -> Ints:
        """Return the peer that a parameter names as communicator rank, per rank of a set; -1: none.

        Raises:
            FormatError: the communicator does not have such a rank.
        """
        param, comm = call.node.params[call.place.names[name]], call.comm
        encoding = param.encoding if isinstance(param, Peer) else Encoding.ABSOLUTE
        stored = encoding.encode(call.raw(name), comm.rank, comm.size)
        own_ranks, size, _, _ = self.arrays(call.family, ranks)
        peers = np.broadcast_to(np.asarray(encoding.decode(stored, own_ranks, size)), own_ranks.shape)  # type: ignore[arg-type]
        if len(outside := np.flatnonzero(peers >= size)):
            raise FormatError(_outside(int(ranks[outside[0]]), int(peers[outside[0]])))
        world_peers: Ints = np.maximum(peers, -1)
        return world_peers

    def _in_remote(self, call: Call, rank: int) -> int:
        """Return the receiver of one rank in an intercommunicator."""
        param = call.node.params[call.place.names[operation(call.op).peers[0]]]
        comm = self._trace.communicator(call.family, rank)
        encoding = param.encoding if isinstance(param, Peer) else Encoding.ABSOLUTE
        peer = call.raw(operation(call.op).peers[0])
        stored = encoding.encode(peer, call.comm.rank, max(len(call.comm.peers), 1))
        return max(comm.world(encoding.decode(stored, comm.rank, max(len(comm.peers), 1))), -1)

    def arrays(self, number: int, ranks: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return own rank, size, and offset of the first member per rank of a set; and all members."""
        nprocs, family = self._trace.nprocs, self._trace.comms[number]
        if number == 0:
            zeros = np.zeros_like(ranks)
            return ranks, np.full_like(ranks, nprocs), zeros, np.arange(nprocs)
        if family.kind == "self" and family.members.terms == ():
            return np.zeros_like(ranks), np.ones_like(ranks), ranks, np.arange(nprocs)
        if number not in self._known:
            groups = self._trace.layout(number).groups
            sizes = np.array([len(group) for group in groups])
            members = np.array([rank for group in groups for rank in group], dtype=np.int64)
            starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
            own_ranks, size, start = (np.zeros(nprocs, dtype=np.int64) for _ in range(3))
            present = members >= 0
            own_ranks[members[present]] = (np.arange(len(members)) - starts)[present]
            size[members[present]] = np.repeat(sizes, sizes)[present]
            start[members[present]] = starts[present]
            self._known[number] = own_ranks, size, start, members
        own_ranks, size, start, members = self._known[number]
        return own_ranks[ranks], size[ranks], start[ranks], members
