"""Dependencies between calls: the two ends of a message, a request and its Wait, a collective's ranks.

The input traces are complete, so each end has its partner there; a dropped call drops its partners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scalatrace.extrap.lossy.calls import Calls
from scalatrace.operations import COLLECTIVES, MESSAGES, Category, Flow, operation
from scalatrace.trace.query.requests import ENDING, STARTING, ages
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, UNDEFINED

__all__ = ["Links", "links_of", "requests_of"]


@dataclass
class Links:
    """Dependences between calls, by their numbers.

    Attributes:
        messages: sender -> receivers and receiver -> senders, with the parameter that names the partner.
        groups: calls of which none is made without the others.
        group_of: call -> its group in `groups`.
        uses: a completion or start -> the calls that made its requests.
        users: the opposite.
        alone: calls whose partner is not in the trace.
    """

    messages: dict[int, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    groups: list[list[int]] = field(default_factory=list)
    group_of: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[int, tuple[int, ...]] = field(default_factory=dict)
    users: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    alone: list[int] = field(default_factory=list)

    def together(self, calls: list[int]) -> None:
        """Link calls that are only kept together."""
        for number in calls:
            self.group_of[number].append(len(self.groups))
        self.groups.append(calls)


def links_of(calls: Calls) -> Links:
    """Return the dependences between the calls of a trace."""
    result = Links()
    for rank in range(calls.trace.nprocs):
        for number, _, makers in requests_of(calls, rank):
            if makers:
                result.uses[number] = makers
            for maker in makers:
                result.users[maker].append(number)
    _messages(calls, result)
    _collectives(calls, result)
    return result


def requests_of(calls: Calls, rank: int) -> Iterator[tuple[int, Sequence[int], tuple[int, ...]]]:
    """Yield each call of a rank that takes requests, the creators of the live ones, and those it takes."""
    live: list[int] = []
    for number in calls.of_rank(rank):
        call = calls.calls[number]
        if operation(call.op).makes_request:
            live.append(number)
        elif "request" in call or "requests" in call:
            n = len(live)
            makers = tuple(live[n - 1 - age] for age in ages(call) if 0 <= age < n)
            yield number, tuple(live), makers
            over = {maker for maker in makers if _over(call.op, calls.calls[maker].op)}
            live = [maker for maker in live if maker not in over] if over else live


def _over(op: str, maker: str) -> bool:
    """Return whether a request that an operation is given, and another one made, is no more afterwards."""
    return op == "Request_free" or (op in ENDING and not operation(maker).flow_later)


# -- messages ----------------------------------------------------------------------------------------------

Key = tuple[int, int, int]
"""Communicator family, world ranks from and to."""


@dataclass(frozen=True)
class _End:
    """An end of a message: its call, its tag, and the parameter that names the partner."""

    key: Key
    tag: int
    peer: str
    probe: bool
    sends: bool


Waiting = dict[Key, list[tuple[int, _End]]]
"""Calls with their ends, in order."""


def _messages(calls: Calls, links: Links) -> None:
    sent: Waiting = defaultdict(list)
    awaited: Waiting = defaultdict(list)
    known: dict[tuple[int, tuple[int, ...]], tuple[_End, ...]] = {}
    for rank in range(calls.trace.nprocs):
        asked: list[int] = []
        for number in calls.of_rank(rank):
            call = calls.calls[number]
            row = operation(call.op)
            if row.is_matched_probe:
                asked.append(number)
            elif row.matched and asked:
                links.together([asked.pop(0), number])
            key = id(call.place), call.values
            if key not in known:
                known[key] = tuple(_ends(call))
            for end in known[key] * (_starts(calls, links, number) if known[key] else 0):
                (sent if end.sends else awaited)[end.key].append((number, end))
    _pair(links, sent, awaited)


def _starts(calls: Calls, links: Links, number: int) -> int:
    """Return the number of messages a call stands for: one per start, when it makes a persistent request."""
    if not operation(calls.calls[number].op).flow_later:
        return 1
    return sum(calls.calls[user].op in STARTING for user in links.users.get(number, ()))


def _ends(call: Call) -> Iterator[_End]:
    row = operation(call.op)
    if row.sends and row.category in (*MESSAGES, Category.PERSISTENT):
        yield from _end(call, row.sends, "sendtag")
    if row.recvs and row.category in (*MESSAGES, Category.PERSISTENT, Category.PROBE):
        yield from _end(call, row.recvs, "recvtag")


def _end(call: Call, flow: Flow, tag: str) -> Iterator[_End]:
    peer = call.get(flow.peer)
    if peer is None:
        return
    comm = call.comm
    if peer != ANY_SOURCE:
        if not 0 <= peer < len(comm.peers) or comm.world(peer) == UNDEFINED:
            return
        peer = comm.world(peer)
    value = call.raw(tag) if tag in call else call.raw("tag") if "tag" in call else ANY_TAG
    sends = tag == "sendtag"
    key = (call.family, call.rank, peer) if sends else (call.family, peer, call.rank)
    row = operation(call.op)
    probe = row.category is Category.PROBE and not row.matched
    yield _End(key, value, flow.peer, probe, sends)


def _pair(links: Links, sent: Waiting, awaited: Waiting) -> None:
    """Receives that name everything choose first, each the earliest message; then those with wildcards."""
    order = sorted(awaited, key=lambda key: key[1] == ANY_SOURCE)
    for wild in (False, True):
        for key in order:
            for number, end in awaited[key]:
                if (key[1] == ANY_SOURCE or end.tag == ANY_TAG) == wild:
                    _take(links, sent, number, end)
    links.alone += [number for ends in sent.values() for number, _ in ends]


def _take(links: Links, left: Waiting, number: int, end: _End) -> None:
    """Pair a receive with the first message that fits."""
    key = end.key
    sources = [key] if key[1] != ANY_SOURCE else sorted(k for k in left if (k[0], k[2]) == (key[0], key[2]))
    for source in sources:
        for at, (sender, sent_end) in enumerate(left.get(source, ())):
            if end.tag in (ANY_TAG, sent_end.tag):
                if end.probe:  # it goes with the message that the receive after it takes
                    links.messages[sender].append((number, ""))
                else:
                    del left[source][at]
                    links.messages[sender].append((number, end.peer))
                    links.messages[number].append((sender, sent_end.peer))
                return
    if not end.probe:
        links.alone.append(number)


# -- collective calls --------------------------------------------------------------------------------------


def _collectives(calls: Calls, links: Links) -> None:
    """The k-th collective call of every member of a communicator is one."""
    calls_by_group: dict[tuple[int, tuple[int, ...]], dict[int, list[int]]] = {}
    for number, call in enumerate(calls.calls):
        if operation(call.op).category in COLLECTIVES:
            comm = call.comm
            everyone = (*comm.members, *(comm.remote or ()))
            by_rank = calls_by_group.setdefault(
                (call.family, tuple(sorted(everyone))), {rank: [] for rank in everyone}
            )
            by_rank[call.rank].append(number)
    for (_, everyone), by_rank in calls_by_group.items():
        if UNDEFINED in everyone:
            continue
        shortest = min(map(len, by_rank.values()))
        for row in zip(*by_rank.values(), strict=False):
            ops = {calls.calls[number].op for number in row}
            if len(ops) == 1:
                links.together(list(row))
            else:
                links.alone += row
        links.alone += [number for row in by_rank.values() for number in row[shortest:]]
