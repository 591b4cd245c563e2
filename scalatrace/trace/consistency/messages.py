"""Messages and receives of ranks as rows of arrays, without a call object for each.

Programs number their messages: mpi4py's lowercase collectives have another tag in each iteration. Calls that
differ in their tags only are examined once.

    count [100*(8)], dest [100*(3)], tag [0 .. 99]      one call, 100 rows
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.operations import Flow, operation
from scalatrace.trace.consistency.message_counts import CountedMessage, Counts
from scalatrace.trace.model.call import Call, CompiledEvent
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.values.from_arrays import MAX_INT64, distinct
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, UNDEFINED

__all__ = ["MessageEnds", "MessageRows", "messages_of_call", "messages_of_event", "peer_of", "tag_of"]

MAX_LISTED = 1 << 16
"""Calls of a node and rank whose values are listed; beyond, their vectors are read side by side."""

SOURCE, TAG, NBYTES = 1, 3, 4
"""Columns of rows: family, source, destination, tag, bytes, count."""

KEY = 4
"""Number of the columns that a message and its receive have in common."""


@dataclass(frozen=True, slots=True)
class MessageEnds:
    """What calls of one node by a rank send and receive.

    Attributes:
        calls: one of each kind; calls that differ in their tags only are of one kind.
        sent, received: [n, 6] family, source and destination (world ranks; a source may be ANY_SOURCE), tag,
            bytes, and how often.
    """

    calls: Sequence[Call]
    sent: Ints
    received: Ints

    def wild_receivers(self) -> set[tuple[int, int]]:
        """Return family and rank of the receives from any source or with any tag."""
        rows = self.received[(self.received[:, SOURCE] == ANY_SOURCE) | (self.received[:, TAG] == ANY_TAG)]
        return {(family, dest) for family, _, dest, *_ in rows[:, :KEY].tolist()}


def messages_of_call(call: Call, n: int) -> MessageEnds:
    """Return what a call that occurs n times sends and receives."""
    tags = np.array([[tag_of(call, "sendtag")], [tag_of(call, "recvtag")]])
    return _messages([call], np.zeros(1, dtype=np.int64), tags, np.array([n]))


def messages_of_event(trace: Trace, event: Event, rank: int, times: int) -> MessageEnds:
    """Return what the calls of a node by a rank that runs it `times` times send and receive.

    Raises:
        FormatError, LimitError: as `counted_calls`.
    """
    place = CompiledEvent(trace, event, rank)
    tags = [place.names[name] for name in ("sendtag", "recvtag", "tag") if name in place.names]
    if place.constant or not tags or not 0 < times <= MAX_LISTED:
        counted = counted_calls(trace, event, rank, times, lambda op, name: True)
        return _joined([messages_of_call(call, n) for call, n in counted])
    table = place.table(times)
    first, number_of = distinct(table)
    table = table[:, first]
    kinds, kind_of = distinct(np.delete(table, tags, axis=0))
    calls = [Call(place, tuple(column), -1) for column in table[:, kinds].T.tolist()]
    return _messages(calls, kind_of, table[[tags[0], tags[-1]]], np.bincount(number_of))


def _messages(calls: Sequence[Call], kind_of: Ints, tags: Ints, counts: Ints) -> MessageEnds:
    """Return the rows of calls of several kinds.

    Args:
        kind_of: of each row, the index of its call.
        tags: [2, n] of what it sends and receives.
    """
    sent = np.array([_sent_by(call) for call in calls], dtype=np.int64)[kind_of]
    received = np.array([_received_by(call) for call in calls], dtype=np.int64)[kind_of]
    for rows, tag in ((sent, tags[0]), (received, tags[1])):
        rows[:, TAG], rows[:, -1] = tag, counts
    return MessageEnds(calls, sent[sent[:, 0] >= 0], received[received[:, 0] >= 0])


def _joined(parts: Sequence[MessageEnds]) -> MessageEnds:
    calls = [call for part in parts for call in part.calls]
    sent, received = ([part.sent for part in parts], [part.received for part in parts])
    return MessageEnds(calls, _concatenate(sent), _concatenate(received))


_NO_ROW = (-1, 0, 0, 0, 0, 0)


def _sent_by(call: Call) -> tuple[int, ...]:
    """Return the row of what a call sends, without tag and count; `_NO_ROW` where it sends nothing."""
    flow = operation(call.op).sends
    peer = peer_of(call, flow) if flow else None
    if flow is None or peer is None:
        return _NO_ROW
    return call.family, call.rank, peer, 0, flow.nbytes(call), 0


def _received_by(call: Call) -> tuple[int, ...]:
    flow = operation(call.op).recvs
    peer = peer_of(call, flow) if flow else None
    if flow is None or peer is None:
        return _NO_ROW
    return call.family, peer, call.rank, 0, flow.nbytes(call), 0


def peer_of(call: Call, flow: Flow) -> int | None:
    """Return the world rank of the peer in a call's flow, or ANY_SOURCE; None for no rank of this trace."""
    if flow.peer not in call:
        return None
    peer = call.raw(flow.peer)
    if peer == ANY_SOURCE:
        return peer
    comm = call.comm
    if not 0 <= peer < len(comm.peers):
        return None
    world = comm.world(peer)
    return None if world == UNDEFINED else world


def tag_of(call: Call, name: str) -> int:
    """Return the tag of a call, for calls with two that of one direction (`name`); ANY_TAG without tag."""
    return call.raw(name) if name in call else call.raw("tag") if "tag" in call else ANY_TAG


class MessageRows:
    """Messages and receives of all ranks."""

    def __init__(self) -> None:
        self._sent: list[Ints] = []
        self._received: list[Ints] = []

    def add(self, messages: MessageEnds) -> None:
        """Add what calls of a rank send and receive."""
        self._sent.append(messages.sent)
        self._received.append(messages.received)

    def _signed(self) -> Ints:
        """Return the rows of all messages, then of all receives, these with negative counts."""
        sent, received = (_concatenate(parts) for parts in (self._sent, self._received))
        received[:, -1] *= -1
        return np.concatenate((sent, received))

    def by_destination(self) -> dict[int, list[CountedMessage]]:
        """Return the different messages sent to each rank."""
        result: dict[int, list[CountedMessage]] = {}
        for key in map(CountedMessage._make, np.unique(_concatenate(self._sent)[:, :KEY], axis=0).tolist()):
            result.setdefault(key.dest, []).append(key)
        return result

    def unbalanced(self) -> tuple[Counts, Counts]:
        """Return messages and receives with their numbers, except where as many are sent as receives name."""
        rows = self._signed()
        is_wild = (rows[:, SOURCE] == ANY_SOURCE) | (rows[:, TAG] == ANY_TAG)
        counts: tuple[Counts, Counts] = Counter(), Counter()
        for *key, _, n in rows[is_wild | (_totals(rows, KEY) != 0)].tolist():
            counts[n < 0][CountedMessage(*key)] += abs(n)
        return counts

    def unequal_sizes(self) -> dict[CountedMessage, tuple[Counter[int], Counter[int]]]:
        """Return numbers of messages and of receives by their bytes, except where each message fits."""
        rows = self._signed()
        key_of = _numbers(rows, KEY)
        is_sent, nkeys = rows[:, -1] > 0, int(key_of.max(initial=-1)) + 1
        longest, shortest = np.zeros(nkeys, dtype=np.int64), np.full(nkeys, MAX_INT64)
        np.maximum.at(longest, key_of[is_sent], rows[is_sent, NBYTES])
        np.minimum.at(shortest, key_of[~is_sent], rows[~is_sent, NBYTES])
        differs = np.zeros(nkeys, dtype=bool)
        differs[key_of[_totals(rows, KEY + 1) != 0]] = True
        result: dict[CountedMessage, tuple[Counter[int], Counter[int]]] = {}
        for *key, nbytes, n in rows[(differs & (longest > shortest))[key_of]].tolist():
            result.setdefault(CountedMessage(*key), (Counter(), Counter()))[n < 0][nbytes] += abs(n)
        return result


def _concatenate(parts: Sequence[Ints]) -> Ints:
    rows: Ints = np.concatenate([np.zeros((0, KEY + 2), dtype=np.int64), *parts])
    return rows


def _numbers(rows: Ints, width: int) -> Ints:
    """Return the number of each row's first columns: equal columns have one number."""
    return distinct(np.ascontiguousarray(rows[:, :width].T))[1] if len(rows) else np.zeros(0, dtype=np.int64)


def _totals(rows: Ints, width: int) -> Ints:
    """Return for each row the sum of the counts of all rows whose first columns are equal to its own."""
    number_of = _numbers(rows, width)
    totals = np.zeros(int(number_of.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(totals, number_of, rows[:, -1])
    result: Ints = totals[number_of]
    return result
