"""Unroll short loops of aligned trees: each iteration becomes nodes of its own.

A program that exchanges borders along x, y and z in one loop has other counts and partners in each iteration.
Where no formula of the loop counter has their values, each iteration has a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from scalatrace.arrays import Mask
from scalatrace.extrap.alignment.align import Aligned
from scalatrace.extrap.alignment.rank_tree import RankNode
from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Param, Peer
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.from_arrays import first_values

__all__ = ["short_loops", "unroll_loops"]

MAX_TRIPS = 8
"""Iterations of a loop that is unrolled."""

MAX_RUNS = 1 << 18
"""Executions of the calls in it, on all ranks."""

RankOf = Callable[[int], int]
"""The rank of a point."""


def unroll_loops(
    nodes: Sequence[Aligned], events: Collection[int], rank_of: RankOf
) -> tuple[Aligned, ...] | None:
    """Return the nodes with the innermost loops around some events unrolled; None if there is none to unroll.

    Only loops that run equally often on all ranks of all traces are unrolled.

    Args:
        events: identities of these events.
    """
    result: list[Aligned] = []
    changed = False
    for node in nodes:
        inner = unroll_loops(node.children, events, rank_of) if node.key is None else None
        if inner is not None:
            changed = True
            result.append(replace(node, children=inner))
        elif any(id(child) in events for child in node.children) and (trips := _trips(node)):
            changed = True
            for k in range(trips):
                copies = (_copy_iteration(child, k, trips, rank_of) for child in node.children)
                result += [copy for copy in copies if copy.nodes]
        else:
            result.append(node)
    return tuple(result) if changed else None


def short_loops(nodes: Sequence[Aligned]) -> Iterator[list[Aligned]]:
    """Yield the events in each loop that `unroll_loops` unrolls if it gets one of them."""
    for node in nodes:
        if node.key is None and _trips(node):
            yield [child for child in node.children if child.key is not None]
        yield from short_loops(node.children)


def _trips(loop: Aligned) -> int:
    """Return how often a short loop always runs; 0 if not always equally often, or with too many calls."""
    trips = {local.repeat.constant for local in loop.nodes.values()}
    constant = trips.pop() if len(trips) == 1 else None
    runs = sum(local.runs for local in loop.nodes.values())
    return constant if constant is not None and 1 < constant <= MAX_TRIPS and runs <= MAX_RUNS else 0


def _copy_iteration(node: Aligned, k: int, trips: int, rank_of: RankOf) -> Aligned:
    """Return what a node of a loop's body does in one of the iterations."""
    kept = {point: np.arange(local.entry_count) % trips == k for point, local in node.nodes.items()}
    return _select(node, kept, rank_of)


def _select(node: Aligned, kept: dict[int, Mask], rank_of: RankOf) -> Aligned:
    """Return a node with some of its entries, on the ranks where it runs in these."""
    nodes: dict[int, RankNode] = {}
    inside: dict[int, Mask] = {}
    for point, chosen in kept.items():
        local = node.nodes.get(point)
        if local is None:
            continue
        repeats = first_values(local.repeat, local.entry_count)
        runs = int(repeats[chosen].sum())
        if not runs:
            continue
        inside[point] = np.repeat(chosen, repeats)
        repeat = vec_of(repeats[chosen].tolist())
        nodes[point] = replace(local, repeat=repeat, entry_count=int(chosen.sum()), runs=runs)
        if local.event is not None:
            params = tuple(
                _select_values(param, inside[point], rank_of(point)) for param in local.event.params
            )
            nodes[point] = replace(nodes[point], event=replace(local.event, params=params))
    children = (_select(child, inside, rank_of) for child in node.children)
    return Aligned(node.key, nodes, tuple(child for child in children if child.nodes))


def _select_values(param: Param, kept: Mask, rank: int) -> Param:
    """Return the values of one rank in some executions."""
    vec = elastic.at(param.value if isinstance(param, Peer) else param, rank)
    assert vec is not None
    if vec.constant is None:
        values = first_values(vec, len(kept))
        vec = vec_of(values[kept].tolist())
    return Peer(param.encoding, vec) if isinstance(param, Peer) else vec
