"""Find the event nodes that run only before, or only after, the communicating calls of their ranks.

    forward, by sets of ranks:   Cart_create   File_open    loop { Send  Recv }   Comm_free
                                 all: inside   0: inside    ranks of Send, Recv    not inside
                                                            are closed from here

A scan visits each node at most once, from the first to the last or the other way round, and keeps the ranks
that have communicated (`closed`), until these are all. Of a loop with communicating calls, it sees the first
(the last) iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from scalatrace.errors import UsageError
from scalatrace.operations import communicates
from scalatrace.trace.model.elastic import Formulas, Summary
from scalatrace.trace.model.nodes import Event, Node, Peer, events
from scalatrace.trace.model.rank_classes import rank_classes
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.counting import Classes, runs_after, union_of
from scalatrace.trace.values.ranklist import RankList

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["PhasePartners", "Scan"]

MAX_CLASSES = 1 << 12
"""Sets of ranks with different trip counts of a node; with more, a scan raises UsageError."""

MAX_VALUES = 64
"""Communicators of one call site that are looked at."""

NO_RANKS = RankList()


class PhasePartners:
    """Ranks that communicate with others in a call: its communicator has several ranks, or all of the run."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._joined: dict[int, RankList] = {}
        self.communicating = {i for i, op in enumerate(trace.ops) if communicates(op.name)}

    def of(self, event: Event, runs: Classes) -> RankList:
        """Return the ranks that communicate in the calls of an event node.

        Args:
            runs: the sets of ranks that run it equally often, and how often.
        """
        if event.op not in self.communicating:
            return NO_RANKS
        at = self._trace.ops[event.op].position(Kind.COMM)
        value = None if at is None else event.params[at]
        if value is None or isinstance(value, Formulas | Summary | Peer):
            return union_of([ranks for ranks, _ in runs])
        result = NO_RANKS
        for ranks, n in runs:
            for members, vec in rank_classes(value, ranks, MAX_CLASSES):
                for family in set(islice(vec, min(n, MAX_VALUES))):
                    result |= members & self._in_family(family)
        return result

    def _in_family(self, family: int) -> RankList:
        """Return the ranks whose communicator of a family has partners."""
        if family not in self._joined:
            self._joined[family] = self._with_partners(family)
        return self._joined[family]

    def _with_partners(self, family: int) -> RankList:
        trace = self._trace
        if not 0 <= family < len(trace.comms):
            return NO_RANKS  # a special value
        layout = trace.layout(family)
        if trace.is_world(family) or (layout.remote is None and min(layout.sizes, default=0) > 1):
            return RankList.all(trace.nprocs)
        if layout.remote is None and max(layout.sizes, default=0) < 2:
            return NO_RANKS
        far = layout.remote or [()] * len(layout.groups)
        pairs = zip(layout.groups, far, strict=True)
        return RankList(r for near, far in pairs if len(near) + len(far) > 1 for r in near if r >= 0)


class Scan:
    """Scanner of the nodes of a trace from one end.

    Args:
        backward: from the last node to the first.

    Attributes:
        inside: id of an event node -> the node and its ranks; none of them has communicated before
            (backward: communicates after) any of its executions.
    """

    def __init__(self, trace: Trace, partners: PhasePartners, backward: bool) -> None:
        self.inside: dict[int, tuple[Event, RankList]] = {}
        self._partners, self._backward = partners, backward
        self._closed, self._nranks = NO_RANKS, len(trace.ranks)
        self._scan(
            trace.stream(0) if backward else trace.nodes, [(trace.ranks, 1)], at_end=True, communicating=True
        )

    def _scan(self, nodes: Sequence[Node], entries: Classes, at_end: bool, communicating: bool) -> None:
        """Scan nodes.

        Args:
            entries: the sets of ranks that enter them equally often, and how often.
            at_end: whether no rank has communicated before the last of these entries.
            communicating: whether any of the nodes communicates, so that only the first entry is at the end.
        """
        for node in reversed(nodes) if self._backward else nodes:
            if len(self._closed) == self._nranks:
                return
            runs = runs_after(node.repeat, entries)
            if len(runs) > MAX_CLASSES:
                raise UsageError(f"more than {MAX_CLASSES} sets of ranks differ in how often they run a node")
            if not runs:
                continue
            node_at_end = at_end and (not communicating or self._run_once(node, entries, runs))
            if isinstance(node, Event):
                self._take(node, runs, node_at_end)
            else:
                below = any(leaf.op in self._partners.communicating for leaf in events(node.nodes))
                self._scan(node.nodes, runs, node_at_end, below)

    def _take(self, event: Event, runs: Classes, at_end: bool) -> None:
        ranks = union_of([ranks for ranks, _ in runs])
        if joined := self._partners.of(event, runs):
            self._closed |= joined
        elif at_end and ranks.isdisjoint(self._closed):
            self.inside[id(event)] = event, ranks

    def _run_once(self, node: Node, entries: Classes, runs: Classes) -> bool:
        """Return whether all executions of a node are in the first (backward: last) entry of each rank."""
        if self._backward:
            return not runs_after(node.repeat, [(ranks, n - 1) for ranks, n in entries if n > 1])
        if all(n == 1 for _, n in entries):
            return True
        first = runs_after(node.repeat, [(union_of([ranks for ranks, _ in entries]), 1)])
        return {n: ranks for ranks, n in first} == {n: ranks for ranks, n in runs}
