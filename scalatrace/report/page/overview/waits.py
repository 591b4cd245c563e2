"""Who waits for whom: the calls with most time beyond the shortest one, and the partners they wait for.

A histogram is of all ranks together, so the time is that of a call site, not of a pair of ranks. The partners
are exact: those of the calls, and of the requests that a completion ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from scalatrace.operations import operation
from scalatrace.report.costs.rows import site_of
from scalatrace.report.page.messages import ANY, NONE, world_rank
from scalatrace.report.page.overview.advice import TOGETHER, waiting
from scalatrace.report.page.rank_sets import sampled
from scalatrace.report.page.tree import Tree, TreeNode, leaves
from scalatrace.report.style import number
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import ENDING, LiveRequests, ages
from scalatrace.trace.values.from_arrays import ranks_in

__all__ = ["Wait", "waits_of"]

MAX_WAITS = 8
MIN_SHARE = 0.002
"""Share of all time from which on a call is listed."""

MAX_WALKED_RANKS, MAX_WALKED_CALLS = 16, 4096
"""Ranks that are followed to find partners, and calls of each; with more they are a sample."""

MAX_DISTANCES, SHOWN_FRAMES = 6, 2

FROM_ROOT = frozenset({"Bcast", "Scatter", "Scatterv"})
"""Collective calls in which ranks wait for the root alone."""


@dataclass(frozen=True)
class Wait:
    """A call at which ranks wait.

    Attributes:
        node: number in the tree.
        site: call site and its caller.
        ranks, nranks: those that make the call.
        partners: whom they wait for.
        beyond_ns: time beyond the shortest call of all ranks.
        share: of all time.
    """

    node: int
    op: str
    site: str
    ranks: str
    nranks: int
    partners: str
    calls: int
    beyond_ns: float
    share: float


def waits_of(trace: Trace, tree: Tree, numbers: dict[int, int]) -> tuple[Wait, ...]:
    """Return the calls at which ranks wait most.

    Args:
        numbers: id of a node -> number in the tree.
    """
    whole = tree.root.comm_ns + tree.root.compute_ns
    here = [leaf for leaf in waiting(leaves(tree.root)) if leaf.beyond_ns > MIN_SHARE * whole]
    here = sorted(here, key=lambda leaf: -leaf.beyond_ns)[:MAX_WAITS]
    some = sampled(ranks_in(trace.ranks), MAX_WALKED_RANKS).tolist()
    pairs = _pairs(trace, some, {leaf.number for leaf in here}, numbers)
    return tuple(
        Wait(
            leaf.number,
            leaf.op,
            site_of(tree.sites[leaf.site].frames, SHOWN_FRAMES),
            leaf.ranks,
            leaf.nranks,
            _partners(leaf, pairs.get(leaf.number, set())),
            leaf.calls,
            leaf.beyond_ns,
            leaf.beyond_ns / whole,
        )
        for leaf in here
    )


Pairs = set[tuple[int, int]]
"""Ranks that wait, and world ranks that they wait for."""


def _pairs(trace: Trace, ranks: Iterable[int], wanted: set[int], numbers: dict[int, int]) -> dict[int, Pairs]:
    result: dict[int, Pairs] = {}
    for rank in ranks if wanted else ():
        for node, peer in _followed(trace, rank, numbers):
            if node in wanted:
                result.setdefault(node, set()).add((rank, peer))
    return result


def _followed(trace: Trace, rank: int, numbers: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yield number of the node and partner of the first calls of a rank."""
    requests: LiveRequests[tuple[int, bool]] = LiveRequests(lambda request: request[1])
    for call in islice(trace.walk(rank), MAX_WALKED_CALLS):
        row, peer = operation(call.op), _peer(call)
        partners = [peer]
        if row.makes_request:
            requests.add((peer, row.flow_later))
        elif call.op in ENDING or call.op == "Request_free":
            partners = [one for one, _ in requests.end(ages(call), freed=call.op == "Request_free")]
        for one in partners:
            if one != NONE:
                yield numbers[id(call.node)], one


def _peer(call: Call) -> int:
    """World rank whose message a call waits for, or that takes its own; ANY or NONE."""
    row = operation(call.op)
    flow = row.recvs or row.sends
    if flow is None or flow.peer not in call:
        return NONE
    return world_rank(call, call.raw(flow.peer))


def _partners(leaf: TreeNode, pairs: Pairs) -> str:
    if not pairs and leaf.op.removesuffix("_c") in FROM_ROOT:
        return "the root"
    if not pairs:
        return "the last rank that makes the call" if operation(leaf.op).category in TOGETHER else "not known"
    known = {(rank, peer) for rank, peer in pairs if peer != ANY}
    parts = [_known_partners(known)] if known else []
    return " or ".join([*parts, "any rank (wildcard)"] if len(known) < len(pairs) else parts)


def _known_partners(pairs: Pairs) -> str:
    peers = {peer for _, peer in pairs}
    if len(peers) == 1:
        return f"rank {number(peers.pop())}"
    distances = sorted({peer - rank for rank, peer in pairs})
    if len(distances) <= MAX_DISTANCES:
        return f"own rank {', '.join(f'{distance:+,}' for distance in distances)}"
    return f"{len(distances)} distances between ranks, from {distances[0]:+,} to {distances[-1]:+,}"
