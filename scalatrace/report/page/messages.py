"""Point-to-point messages of all ranks as arrays of senders and receivers, from the compressed form.

Ranks of one set store the same peer in its encoding, so one decoding gives the receivers of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from scalatrace.errors import FormatError
from scalatrace.operations import Category, operation, sent_bytes
from scalatrace.report.page.rank_sets import Budget, Number, RankSet, rank_sets, sampled, some_calls
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Family
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import STARTING, started
from scalatrace.trace.query.summaries import byte_parameters, summarised
from scalatrace.trace.values.from_arrays import Ints, ranks_in
from scalatrace.trace.values.vec import ANY_SOURCE

__all__ = ["ANY", "NONE", "Messages", "messages_of", "world_rank"]

SENDING = (Category.SEND, Category.SENDRECV)
NONE, ANY = -1, -2
"""In place of the world rank of a peer: there is none, and it is any."""

MAX_WALKED_RANKS = 256
"""Ranks that are followed to find the persistent requests that they start; of more, these are a sample."""


@dataclass(frozen=True)
class Messages:
    """Equal calls of some ranks that each send to one other rank.

    Attributes:
        event: the event node of the call that starts the transfer.
        senders, receivers: world ranks, pair by pair.
        count: messages of each pair; a fraction where it is an estimate.
        nbytes: size of one message.
    """

    event: Event
    senders: Ints
    receivers: Ints
    count: Number
    nbytes: int


def messages_of(trace: Trace, budget: Budget) -> list[Messages]:
    """Return all messages; `budget.exact` becomes False where they are estimates.

    Raises:
        FormatError: a message goes to a rank that its communicator does not have.
        LimitError, UsageError: too many ranks differ.
    """
    if summarised(trace, lambda op, name: _is_dest(op, name)):
        return []
    groups = _Groups(trace)
    result = []
    for event, one in rank_sets(trace, _matters):
        if operation(trace.ops[event.op].name).category not in SENDING:
            continue
        for call, n in some_calls(trace, event, one, _matters, budget):
            if (receivers := groups.receivers(call, one)) is not None:
                result.append(_messages(event, one.ranks, receivers, n * one.weight, call))
    return result + list(_started(trace, budget))


def world_rank(call: Call, peer: int) -> int:
    """Return the world rank of a peer of a call; ANY: any, NONE: none, or in another world."""
    if peer == ANY_SOURCE:
        return ANY
    return max(call.comm.world(peer), NONE) if 0 <= peer < len(call.comm.peers) else NONE


def _is_dest(op: str, name: str) -> bool:
    row = operation(op)
    return (
        row.sends is not None and row.sends.peer == name and row.category in (*SENDING, Category.PERSISTENT)
    )


def _matters(op: str, name: str) -> bool:
    return operation(op).category in SENDING and (byte_parameters(op, name) or _is_dest(op, name))


def _messages(event: Event, senders: Ints, receivers: Ints, n: Number, call: Call) -> Messages:
    known = receivers >= 0
    later = operation(call.op).flow_later
    return Messages(event, senders[known], receivers[known], n, sent_bytes(call.op, call, started=later))


def _started(trace: Trace, budget: Budget) -> Iterator[Messages]:
    """Yield the messages of started persistent requests."""
    if not any(op.name in STARTING for op in trace.ops):
        return
    some = sampled(ranks_in(trace.ranks), MAX_WALKED_RANKS)
    weight = Fraction(len(trace.ranks), len(some))
    budget.exact = budget.exact and weight == 1
    for rank in some.tolist():
        for event, call, n in started(trace, rank):
            row = operation(call.op)
            if row.category is Category.PERSISTENT and row.sends and (peer := call.raw(row.peers[0])) >= 0:
                receiver = np.array([call.comm.world(peer)])
                yield _messages(event, np.array([rank]), receiver, n * weight, call)


class _Groups:
    """Members of communicators as arrays, for all ranks at once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[int, tuple[Ints, Ints, Ints, Ints]] = {}

    def receivers(self, call: Call, one: RankSet) -> Ints | None:
        """World ranks that the ranks of a set send to, -1 for another world; None: to no rank.

        Raises:
            FormatError: the communicator does not have such a rank.
        """
        name = operation(call.op).peers[0]
        peer = call.raw(name) if name in call else -1
        if peer < 0:
            return None
        param = call.node.params[call.place.names[name]]
        encoding = param.encoding if isinstance(param, Peer) else Encoding.ABSOLUTE
        family, comm = self._trace.comms[call.family], call.comm
        if comm.remote is not None:
            return np.array([self._in_remote(call, rank) for rank in one.ranks.tolist()])
        stored = encoding.encode(peer, comm.rank, comm.size)
        own, size, start, members = self._arrays(call.family, family, one.ranks)
        peers = np.broadcast_to(np.asarray(encoding.decode(stored, own, size)), own.shape)  # type: ignore[arg-type]
        if ((peers < 0) | (peers >= size)).any():
            raise FormatError(f"a rank sends to a rank that communicator {call.family} does not have")
        world: Ints = np.maximum(members[start + peers], -1)
        return world

    def _in_remote(self, call: Call, rank: int) -> int:
        """The receiver of one rank in an intercommunicator."""
        param = call.node.params[call.place.names[operation(call.op).peers[0]]]
        comm = self._trace.communicator(call.family, rank)
        encoding = param.encoding if isinstance(param, Peer) else Encoding.ABSOLUTE
        peer = call.raw(operation(call.op).peers[0])
        stored = encoding.encode(peer, call.comm.rank, max(len(call.comm.peers), 1))
        return max(comm.world(encoding.decode(stored, comm.rank, max(len(comm.peers), 1))), -1)

    def _arrays(self, number: int, family: Family, ranks: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Own rank, size, and place of the first member of the ranks' communicators; all members."""
        nprocs = self._trace.nprocs
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
            own, size, start = (np.zeros(nprocs, dtype=np.int64) for _ in range(3))
            here = members >= 0
            own[members[here]] = (np.arange(len(members)) - starts)[here]
            size[members[here]] = np.repeat(sizes, sizes)[here]
            start[members[here]] = starts[here]
            self._known[number] = own, size, start, members
        own, size, start, members = self._known[number]
        return own[ranks], size[ranks], start[ranks], members
