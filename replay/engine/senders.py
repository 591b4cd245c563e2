"""Choose the sender for each receive from any source that messages of several senders and lengths can match.

The trace does not say which message such a receive took. In a replay it may take another one, for which
the buffer is too small, or which is recorded with another count: mpi4py receives a pickled object by Mprobe
of any source, then Mrecv with the count of the message. The trace does say what is sent to this rank, in
which order, and the length that each receive takes. The plan is an order in which all messages fit their
receives, and no receive waits for a message that its sender sends later.

The executor also chooses senders, but never by length: for it, loops in which only sizes change have equal
iterations. It takes no choice back either, as a search for lengths that fit must.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from scalatrace.operations import SENDING, Category, operation
from scalatrace.replay.engine.interleaving import IncomingMessage, RankReceive, interleaving
from scalatrace.trace.consistency.messages import peer_of, tag_of
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.walk import Call, distinct_calls
from scalatrace.trace.threads import thread_count
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["Senders", "senders_of"]

MAX_CALLS = 1 << 19
"""Calls that are walked for the plans of one rank: about two seconds."""

MAX_WAITS_S = 10.0
"""Seconds that all receives of a rank wait for planned senders while other messages are there."""

DIRECTED = frozenset({"Mprobe", "Improbe", "Recv"})
"""Operations that a replay can wait in, and give a source to, before it makes the call."""

PROBES = frozenset({"Probe", "Iprobe"})

FROM_ROOT = frozenset({"Bcast", "Scatter", "Scatterv"})

Lengths: TypeAlias = dict[int, dict[int, set[int]]]
"""Sender -> tag -> bytes of messages."""


@dataclass
class _ReceiveBuffers:
    """The receives of one rank in a communicator whose tags are equal, or all if one has ANY_TAG.

    Attributes:
        any_source: in which a replay can wait, from any source: bytes of buffers, None for a matched probe.
        every: of all receives.
    """

    any_source: set[int | None] = field(default_factory=set)
    every: set[int | None] = field(default_factory=set)

    def add(self, call: Call, source: int | None) -> None:
        """Add a receive or a probe."""
        nbytes = None if operation(call.op).is_matched_probe else _nbytes(call)
        if call.op not in PROBES:
            self.every.add(nbytes)
        if source == ANY_SOURCE and call.op in DIRECTED:
            self.any_source.add(nbytes)

    def may_misfit(self, tag: int, lengths: Lengths, keeps_order: bool) -> bool:
        """Return whether one of them may take a message that does not fit.

        Args:
            keeps_order: messages of one sender with one tag are received in the order in which they are sent.
        """
        matching = [
            set().union(*(nbytes_of_tag for sent, nbytes_of_tag in by_tag.items() if tag in (sent, ANY_TAG)))
            for by_tag in lengths.values()
        ]
        nbytes = set().union(*matching)
        if not nbytes:
            return False
        if keeps_order and sum(map(bool, matching)) == 1:
            return None not in self.every and max(nbytes) > max(filter(None, self.every), default=0)
        smallest = min(
            (buffer_bytes for buffer_bytes in self.any_source if buffer_bytes is not None), default=1 << 62
        )
        return (None in self.any_source and len(nbytes) > 1) or max(nbytes) > smallest


class Senders:
    """The plans of one rank, by family of communicators.

    A family in which messages may not fit is in this collection, with a plan or without.

    Attributes:
        left_s: how long receives may still wait for a planned sender while other messages are there.
    """

    def __init__(self, plans: dict[int, list[int] | None] | None = None) -> None:
        """Take for each family the senders of its receives from any source, in order; None: not known."""
        self.left_s = MAX_WAITS_S
        self._plans = {family: deque(plan or ()) for family, plan in (plans or {}).items()}

    def __bool__(self) -> bool:
        return bool(self._plans)

    def __contains__(self, family: int) -> bool:
        return family in self._plans

    def has_plan(self, family: int) -> bool:
        """Return whether the senders of receives from any source are known from here on."""
        return bool(self._plans[family])

    def next(self, family: int) -> int | None:
        """Return the sender for the next receive, a rank of the communicator; None when it is not known."""
        plan = self._plans[family]
        return plan.popleft() if plan else None

    def drop(self, family: int) -> None:
        """Forget a plan: a message was taken that was not the planned one."""
        self._plans[family].clear()


def senders_of(trace: Trace, rank: int) -> Senders:
    """Plan the senders of a rank's receives from any source, for communicators whose messages may not fit."""
    families, lengths = _misfits(trace, rank)
    if not families:
        return Senders()
    senders = {sender for family in families for sender in lengths[family]}
    if sum(times for walked in senders | {rank} for _, times in executions_of(trace, walked)) > MAX_CALLS:
        return Senders(dict.fromkeys(families))
    receiver = _ReceivingRank(trace, rank, families)
    sent = {sender: _SentMessages(trace, sender, receiver) for sender in sorted(senders)}
    return Senders({family: _plan(trace, receiver, sent, family) for family in families})


def _misfits(trace: Trace, rank: int) -> tuple[set[int], dict[int, Lengths]]:
    """Return the families whose messages may not fit, and by family the lengths of messages to the rank."""
    receives = _open_families(trace, rank)
    lengths: dict[int, Lengths] = {family: {} for family in receives}
    for sender in sorted({world for family in receives for world in _peers(trace, family, rank)}):
        _note_lengths(trace, sender, rank, lengths)
    families = set()
    for family, by_tag in receives.items():
        # Calls of several threads are recorded when they return; other worlds' messages are not known.
        own_world = len(_peers(trace, family, rank)) == len(trace.communicator(family, rank).peers)
        keeps_order = own_world and thread_count(trace.meta) == 1
        if any(buffers.may_misfit(tag, lengths[family], keeps_order) for tag, buffers in by_tag.items()):
            families.add(family)
    return families, lengths


def _peers(trace: Trace, family: int, rank: int) -> list[int]:
    return [world for world in trace.communicator(family, rank).peers if world in trace.ranks]


def _open_families(trace: Trace, rank: int) -> dict[int, dict[int, _ReceiveBuffers]]:
    """Return the families with receives from any source: family -> tag -> receives.

    Where a receive takes any tag, all of the family are under ANY_TAG: it couples the orders of the tags.
    """
    calls: dict[int, list[tuple[Call, int, int | None]]] = {}
    for leaf, times in executions_of(trace, rank):
        row = operation(trace.ops[leaf.op].name)
        if row.recvs is None or not row.recvs.peer:
            continue
        for call, _ in distinct_calls(trace, leaf, rank, times):
            source = peer_of(call, row.recvs)
            calls.setdefault(call.family, []).append((call, tag_of(call, "recvtag"), source))
    result: dict[int, dict[int, _ReceiveBuffers]] = {}
    for family, receives in calls.items():
        is_mixed = any(tag == ANY_TAG for _, tag, _ in receives)
        by_tag: dict[int, _ReceiveBuffers] = {}
        for call, tag, source in receives:
            by_tag.setdefault(ANY_TAG if is_mixed else tag, _ReceiveBuffers()).add(call, source)
        if wildcards := {tag: buffers for tag, buffers in by_tag.items() if buffers.any_source}:
            result[family] = wildcards
    return result


def _note_lengths(trace: Trace, sender: int, rank: int, lengths: dict[int, Lengths]) -> None:
    """Add the lengths of the messages from a sender to a rank."""
    for leaf, times in executions_of(trace, sender):
        if operation(trace.ops[leaf.op].name).category not in SENDING:
            continue
        for call, _ in distinct_calls(trace, leaf, sender, times):
            if call.family in lengths and _destination(call) == rank:
                by_tag = lengths[call.family].setdefault(sender, {})
                by_tag.setdefault(tag_of(call, "sendtag"), set()).add(_sent_nbytes(call))


def _destination(call: Call) -> int | None:
    """Return the world rank that a call sends a message to, or makes a request that does."""
    row = operation(call.op)
    return peer_of(call, row.sends) if row.category in SENDING and row.sends else None


def _sent_nbytes(call: Call) -> int:
    sends = operation(call.op).sends
    return sends.nbytes(call) if sends else 0


def _nbytes(call: Call) -> int:
    recvs = operation(call.op).recvs
    return recvs.nbytes(call) if recvs else 0


@dataclass
class _ReceivingRank:
    """The receives of the rank that is planned for, and when it sends and synchronises.

    Attributes:
        receives: by family.
        unplanned: by family, tags that the plan cannot deal with: of persistent requests, or of nonblocking
            receives from any source.
        sent: world rank -> numbers of receives made before each message to it.
        started: world ranks to which persistent requests send too.
        synchronised: family -> numbers of receives made before each collective call.
    """

    trace: Trace
    rank: int
    families: set[int]
    receives: dict[int, list[RankReceive]] = field(default_factory=dict)
    unplanned: dict[int, set[int]] = field(default_factory=dict)
    sent: dict[int, list[int]] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    synchronised: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.receives = {family: [] for family in self.families}
        self.unplanned = {family: set() for family in self.families}
        number, last = 0, None
        matched: list[RankReceive] = []
        for call in self.trace.walk(self.rank):
            row, op = operation(call.op), call.op
            if row.needs_all or op in FROM_ROOT:
                self.synchronised.setdefault(call.family, []).append(number)
            if (peer := _destination(call)) is not None:
                if row.category is Category.PERSISTENT:
                    self.started.add(peer)
                self.sent.setdefault(peer, []).append(number)
                _answer(last, peer)
                last = None
            if row.matched and not row.is_matched_probe:
                if 0 <= (age := call.raw("message")) < len(matched):
                    matched.pop(len(matched) - 1 - age).nbytes = _nbytes(call)
                continue
            if not row.recvs or not row.recvs.peer or op in PROBES:
                continue
            source = peer_of(call, row.recvs)
            if source is None and call.raw(row.recvs.peer) == PROC_NULL:
                continue
            wanted = UNDEFINED if source is None else source
            receive = RankReceive(number, wanted, tag_of(call, "recvtag"), _nbytes(call), row.matched)
            number += 1
            if row.matched:
                matched.append(receive)
            if source is None:
                continue  # a process of another world
            if call.family in self.families:
                self._add(call, receive)
            _answer(last, source)
            last = receive if source == ANY_SOURCE else None

    def _add(self, call: Call, receive: RankReceive) -> None:
        waits = call.op in DIRECTED or receive.source != ANY_SOURCE
        if operation(call.op).category is Category.PERSISTENT or not waits:
            self.unplanned[call.family].add(receive.tag)
        else:
            self.receives[call.family].append(receive)


def _answer(last: RankReceive | None, peer: int) -> None:
    """Record with which rank it communicates next after a receive from any source: often its sender."""
    if last is not None and peer != ANY_SOURCE:
        last.likely = peer


class _SentMessages:
    """The messages of one sender to the rank that is planned for, by family."""

    def __init__(self, trace: Trace, sender: int, receiver: _ReceivingRank) -> None:
        self.messages: dict[int, list[IncomingMessage]] = {family: [] for family in receiver.families}
        self.unplanned: dict[int, set[int]] = {family: set() for family in receiver.families}
        nsent = 0
        for call, earliest in _with_earliest(trace, sender, receiver):
            if _destination(call) != receiver.rank:
                continue
            if sender == receiver.rank:
                earliest = receiver.sent[sender][nsent]
                nsent += 1
            if call.family not in receiver.families:
                continue
            tag = tag_of(call, "sendtag")
            if operation(call.op).category is Category.PERSISTENT:
                self.unplanned[call.family].add(tag)
            else:
                self.messages[call.family].append(IncomingMessage(tag, _sent_nbytes(call), earliest))


def _with_earliest(trace: Trace, sender: int, receiver: _ReceivingRank) -> Iterator[tuple[Call, int]]:
    """Yield the calls of a sender, and the number of the receiver's first receive that may follow each."""
    earliest, heard, entered = 0, 0, Counter[int]()
    for call in trace.walk(sender):
        yield call, earliest
        op, row = call.op, operation(call.op)
        if row.needs_all or op in FROM_ROOT:
            receives_before = receiver.synchronised.get(call.family, [])
            entered[call.family] += 1
            if entered[call.family] <= len(receives_before) and _waits(call, receiver.rank):
                earliest = max(earliest, receives_before[entered[call.family] - 1])
        elif op in DIRECTED or row.category is Category.SENDRECV:
            if row.nonblocking or row.recvs is None or peer_of(call, row.recvs) != receiver.rank:
                continue
            heard += 1
            receives_before = receiver.sent.get(sender, [])
            if heard <= len(receives_before) and sender not in receiver.started:
                earliest = max(earliest, receives_before[heard - 1])


def _waits(call: Call, rank: int) -> bool:
    """Return whether a collective call cannot end before a rank makes it too."""
    comm = call.comm
    if operation(call.op).needs_all:
        return rank in comm.peers
    root = call.raw("root")
    return comm.remote is None and 0 <= root < comm.size and comm.members[root] == rank


def _plan(
    trace: Trace, receiver: _ReceivingRank, sent: dict[int, _SentMessages], family: int
) -> list[int] | None:
    """Return the senders of a family's receives from any source, as ranks of its communicator."""
    unplanned = receiver.unplanned[family].union(
        *(sent_messages.unplanned[family] for sent_messages in sent.values())
    )
    receives = receiver.receives[family]
    if unplanned:
        if any(receive.tag == ANY_TAG for receive in receives) or ANY_TAG in unplanned:
            return None
        if any(receive.tag in unplanned for receive in receives if receive.source == ANY_SOURCE):
            return None
        receives = [receive for receive in receives if receive.tag not in unplanned]
    messages = {
        sender: [message for message in sent_messages.messages[family] if message.tag not in unplanned]
        for sender, sent_messages in sent.items()
    }
    order = interleaving(receives, messages)
    if order is None:
        return None
    place = {world: peer for peer, world in enumerate(trace.communicator(family, receiver.rank).peers)}
    return [
        place[sender] for sender, receive in zip(order, receives, strict=True) if receive.source == ANY_SOURCE
    ]
