"""Partners of calls: for whom ranks wait in them, to whom they send, and from whom they receive.

Partners are those of the calls, and of the requests that a completion ends. Of many ranks some are examined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from itertools import islice

import numpy as np

from scalatrace.operations import MESSAGES, Category, Meeting, Mode, blocking_name, operation
from scalatrace.report.style import number
from scalatrace.report.trees.grid_notation import GridNotation
from scalatrace.trace.exchange.messages import ANY, NONE, world_rank
from scalatrace.trace.exchange.rank_sets import sampled
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Event, Node, Param, Peer
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import Classes, executions, participants
from scalatrace.trace.query.requests import ENDING, POLLING, ended
from scalatrace.trace.query.walk import distinct_calls
from scalatrace.trace.values.from_arrays import ranks_in
from scalatrace.trace.values.ranklist import RankList

__all__ = [
    "COMPLETING", "AwaitedPartner", "Partners", "awaited_partners", "collective_partner", "kind_of",
    "message_partners",
]  # fmt: skip


COMPLETING = frozenset({"Wait", "Waitall", "Waitany", "Waitsome"})
"""Completions that wait; others return at once."""

MAX_EXAMINED_RANKS, MAX_EXAMINED_CALLS = 16, 1 << 10
"""Ranks of a call site of which the partners are found, and different calls of each."""

MAX_MESSAGE_CALLS = 1 << 7
"""Different calls of a rank of which the partners are found for a list of all calls."""

MAX_FOLLOWED = 1 << 17
"""Calls and iterations that are followed in all to find the requests that completions end."""

MAX_DISTANCES = 6
"""Distances between ranks that are listed."""

FROM_ROOT = frozenset({"Bcast", "Scatter", "Scatterv"})
AT_ROOT = frozenset({"Reduce", "Gather", "Gatherv"})
"""Collective calls in which ranks wait for the root alone, and in which the root alone waits."""


class AwaitedPartner(Enum):
    """The partner that a call waits for."""

    SENDER = auto()
    RECEIVER = auto()
    ALL = auto()


@cache
def kind_of(op: str) -> AwaitedPartner | None:
    """Return the kind of an operation; None: it does not wait. Polls, and what returns at once, do not."""
    row = operation(op)
    if row.nonblocking or row.base in POLLING or row.mode is Mode.BUFFERED:
        return None
    if row.base in COMPLETING or row.category in (Category.RECV, Category.SENDRECV, Category.PROBE):
        return AwaitedPartner.SENDER
    if row.meeting in (Meeting.ALL, Meeting.SOME, Meeting.SETUP):
        return AwaitedPartner.ALL
    return AwaitedPartner.RECEIVER if row.category is Category.SEND else None


@dataclass
class Partners:
    """Partners of the examined ranks.

    Attributes:
        pairs: rank, and world rank of a partner.
        wildcard: whether a call takes messages of any rank.
        together: collective operations that a completion ends.
        receives: whether a message is received.
        complete: whether all calls of all ranks were examined.
        cut: whether some calls of an examined rank were not.
    """

    pairs: set[tuple[int, int]] = field(default_factory=set)
    wildcard: bool = False
    together: set[str] = field(default_factory=set)
    receives: bool = False
    complete: bool = True
    cut: bool = False

    def add_peer(self, rank: int, peer: int) -> None:
        """Add a partner of a rank."""
        if peer == ANY:
            self.wildcard = True
        elif peer != NONE:
            self.pairs.add((rank, peer))

    def leave_out(self) -> None:
        """Note that calls of an examined rank were left out."""
        self.complete, self.cut = False, True

    def add(self, rank: int, call: Call) -> None:
        """Add the partner of a call."""
        peer = _peer(call)
        op = "Comm_dup" if call.op.startswith("Comm_idup") else blocking_name(call.op)
        if kind_of(op) is AwaitedPartner.ALL:
            self.together.add(op)
        else:
            self.add_peer(rank, peer)
            self.receives |= operation(call.op).recvs is not None

    @property
    def only_receive(self) -> bool:
        """Whether all partners are receivers."""
        return self.complete and bool(self.pairs) and not (self.receives or self.wildcard or self.together)

    def text(self, nranks: int) -> str:
        """Return the partners of a call that so many ranks make."""
        parts = [collective_partner(op) for op in sorted(self.together)]
        if self.pairs:
            parts.append(self._ranks(nranks))
        if self.wildcard:
            parts.append("any rank (wildcard)")
        return " or ".join(dict.fromkeys(parts)) or "not known"

    def _ranks(self, nranks: int) -> str:
        peers = sorted({peer for _, peer in self.pairs})
        examined = {rank for rank, _ in self.pairs}
        at_least = "" if self.complete else "at least "
        if len(peers) == 1 and (len(examined) > 1 or self.complete):
            return f"{at_least if self.cut else ''}rank {number(peers[0])}"
        if nranks == 1:
            if len(peers) <= MAX_DISTANCES:
                rank = "rank" if len(peers) == 1 else "ranks"
                return f"{at_least}{rank} {', '.join(map(number, peers))}"
            ends = f"{number(peers[0])} to {number(peers[-1])}"
            if peers[-1] - peers[0] < len(peers):
                return f"{at_least}ranks {ends}"
            return f"{at_least}{number(len(peers))} ranks from {ends}"
        distances, around = self._distances(nranks)
        some = (
            " plus some of" if self.complete and not around and self._most_partners() < len(distances) else ""
        )
        shown = ", ".join(f"{distance:+,}" for distance in distances[:MAX_DISTANCES]) + around
        if len(distances) > MAX_DISTANCES:
            ends = f"from {distances[0]:+,} to {distances[-1]:+,}"
            return f"{at_least}{len(distances)} distances between ranks, {ends}{around}"
        if self.complete or (self._is_regular() and not self.cut):
            return f"own rank{some} {shown}"
        return f"own rank {shown}, for example"

    def _distances(self, nranks: int) -> tuple[list[int], str]:
        """Return the distances to the partners, ascending; modulo the ranks where they go around these."""
        distances = sorted({peer - rank for rank, peer in self.pairs})
        around = {(d + nranks // 2) % nranks - nranks // 2 for d in distances}
        largest = max(max(pair) for pair in self.pairs)
        is_everywhere = not self.complete or self._most_partners() >= len(around)
        if largest < nranks and len(around) < len(distances) and is_everywhere:
            return sorted(around), f" modulo {number(nranks)}"
        return distances, ""

    def _most_partners(self) -> int:
        """Return the largest number of partners of a rank."""
        return max(Counter(rank for rank, _ in self.pairs).values())

    def _is_regular(self) -> bool:
        """Whether most partners are at a distance at which another rank has one, too."""
        distances = Counter(peer - rank for rank, peer in self.pairs)
        return 2 * sum(n for n in distances.values() if n > 1) >= len(self.pairs)


def collective_partner(op: str) -> str:
    """Return for whom ranks wait in a collective call, as text."""
    if op in FROM_ROOT:
        return "the root"
    if op in ("Scan", "Exscan"):
        return "lower ranks of the communicator"
    if operation(op).category is Category.NEIGHBOUR:
        return "the neighbours in the topology"
    last = "the rank of the communicator that comes last"
    return f"{last}, at the root" if op in AT_ROOT else last


def awaited_partners(trace: Trace, wanted: set[int], numbers: dict[int, int]) -> dict[int, Partners]:
    """Return number of a node -> its partners."""
    result = {n: Partners() for n in wanted}
    completions: dict[int, set[int]] = {}
    examine = _rank_sampler()
    for event, classes in executions(trace) if wanted else ():
        if (n := numbers[id(event)]) not in wanted or not classes:
            continue
        examined, nranks = examine(classes)
        result[n].complete = len(examined) == nranks
        if operation(trace.ops[event.op].name).base in ENDING:
            for rank in examined:
                completions.setdefault(rank, set()).add(n)
        elif _knows_peer(trace, event):
            times = {rank: times for these, times in classes for rank in examined if rank in these}
            for rank in examined:
                _add_calls(trace, event, rank, times[rank], result[n])
        else:
            result[n].leave_out()
    limit = MAX_FOLLOWED // max(1, len(completions))
    for rank, nodes in sorted(completions.items()):
        calls, complete = ended(trace, rank, limit)
        for n in nodes if not complete else ():
            result[n].leave_out()
        for node, call in calls:
            if (n := numbers[node]) not in nodes:
                continue
            if _knows_peer(trace, call.node):
                result[n].add(rank, call)
            else:
                result[n].leave_out()
    return result


def _rank_sampler() -> Callable[[Classes], tuple[list[int], int]]:
    """Return a function that gives the examined ranks of classes, and the number of all; it keeps results.

    Most calls of a large trace are made by the same ranks.
    """
    known: dict[frozenset[RankList], tuple[list[int], int]] = {}

    def examine(classes: Classes) -> tuple[list[int], int]:
        key = frozenset(these for these, _ in classes)
        if key not in known:
            everyone = np.sort(np.concatenate([ranks_in(these) for these in key]))
            known[key] = sampled(everyone, MAX_EXAMINED_RANKS).tolist(), len(everyone)
        return known[key]

    return examine


def _add_calls(trace: Trace, event: Event, rank: int, times: int, partners: Partners) -> None:
    calls = distinct_calls(trace, event, rank, times)
    counted = 0
    for call, n in islice(calls, MAX_EXAMINED_CALLS):
        partners.add(rank, call)
        counted += n
    if counted != times:
        partners.leave_out()


def _knows_peer(trace: Trace, node: Node) -> bool:
    """Whether the partners of an event were recorded, not only how often there was which."""
    assert isinstance(node, Event)
    op = trace.ops[node.op]
    for (name, _), param in zip(op.params, node.params, strict=True):
        if name in operation(op.name).peers and isinstance(param, Peer) and isinstance(param.value, Summary):
            return False
    return True


def _parameter(trace: Trace, event: Event, name: str) -> Param | None:
    where = trace.ops[event.op].index(name)
    return None if where is None else event.params[where]


def _peer(call: Call) -> int:
    """World rank of the sender that a call waits for; without one of the receiver. ANY or NONE."""
    row = operation(call.op)
    flow = row.recvs or row.sends
    if flow is None or flow.peer not in call:
        return NONE
    return world_rank(call, call.raw(flow.peer))


def message_partners(
    trace: Trace, wanted: Collection[int], numbers: Mapping[int, int], notation: GridNotation | None = None
) -> dict[int, str]:
    """Return number of a node -> to whom its ranks send, and from whom they receive, as text.

    Args:
        wanted: numbers of nodes; those that are no messages between two ranks are left out.
        notation: for names of neighbours on the grid of the ranks; None: partners are distances.
    """
    result: dict[int, str] = {}
    taking_part = participants(trace) if wanted and notation is not None else {}
    examine = _rank_sampler()
    for event, classes in executions(trace) if wanted else ():
        number_of_node, row = numbers[id(event)], operation(trace.ops[event.op].name)
        if (
            number_of_node not in wanted
            or not classes
            or row.category not in MESSAGES | {Category.PERSISTENT}
        ):
            continue
        examined, nranks = examine(classes)
        times = {rank: times for these, times in classes for rank in examined if rank in these}
        texts = []
        for word, flow in (("to", row.sends), ("from", row.recvs)):
            if flow is None:
                continue
            peer = _parameter(trace, event, flow.peer)
            named = ""
            if notation is not None and isinstance(peer, Peer):
                named = notation.partners(event, peer, taking_part[id(event)])
            if named:
                texts.append(f"{word} {named}")
                continue
            partners = Partners(complete=len(examined) == nranks)
            if not _knows_peer(trace, event):
                partners.leave_out()
                examined = []
            for rank in examined:
                counted = 0
                for call, n in islice(distinct_calls(trace, event, rank, times[rank]), MAX_MESSAGE_CALLS):
                    counted += n
                    if flow.peer in call:
                        partners.add_peer(rank, world_rank(call, call.raw(flow.peer)))
                if counted != times[rank]:
                    partners.leave_out()
            texts.append(f"{word} {partners.text(nranks)}")
        result[number_of_node] = "; ".join(texts)
    return result
