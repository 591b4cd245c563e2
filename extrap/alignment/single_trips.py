"""Find loops that run once in some trees, where their calls are straight code.

A loop over the other columns of the grid runs once on a grid of two columns. The trace of that size has no
loop, but the calls of its body. They are made a loop of one trip, so that the trees can be aligned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scalatrace.extrap.alignment.rank_tree import RankNode
from scalatrace.trace.values.vec import Vec

__all__ = ["single_trip", "straight_body", "with_repeated_events"]


def single_trip(nodes: Sequence[RankNode]) -> RankNode:
    """Return a loop of one trip around these nodes."""
    entries = nodes[0].entry_count
    return RankNode(None, Vec(1), entries, entries, None, tuple(nodes))


def with_repeated_events(trees: Mapping[int, Sequence[RankNode]]) -> dict[int, tuple[RankNode, ...]] | None:
    """Return the trees with loops around repeated events that are parts of longer loop bodies elsewhere.

    A rank without partners may make a single call per time step. Its tree has an event that runs as often as
    the loop of the other ranks. None: there are no such events.
    """
    loops = (node for tree in trees.values() for node in tree)
    keys = {
        child.key for loop in loops for child in loop.children if child.key is not None and child.width == 1
    }

    def is_repeated(node: RankNode) -> bool:
        return node.key in keys and node.width > 1

    if not any(is_repeated(node) for tree in trees.values() for node in tree):
        return None
    return {
        point: tuple(_loop(node) if is_repeated(node) else node for node in tree)
        for point, tree in trees.items()
    }


def _loop(node: RankNode) -> RankNode:
    """Return a loop around one execution of an event."""
    once = RankNode(node.key, Vec(1), node.runs, node.runs, node.event, ())
    return RankNode(None, node.repeat, node.entry_count, node.runs, None, (once,))


def straight_body(body: Sequence[RankNode], nodes: Sequence[RankNode], start: int) -> int | None:
    """Return the index after the nodes from `start` on that are one execution of a loop's body, or None.

    A loop within the body may be a loop with events in common, run once (straight code), or not at all.
    """
    at = start
    for one in body:
        end = _one(one, nodes, at)
        if end is None:
            return None
        at = end
    return at if at > start else None


def _one(one: RankNode, nodes: Sequence[RankNode], at: int) -> int | None:
    """Return the end of the nodes that are this node; None: they are another."""
    given = nodes[at] if at < len(nodes) else None
    if one.key is not None:
        return at + 1 if given is not None and given.key == one.key else None
    if given is not None and given.key is None and given.keys & one.keys:
        return at + 1
    end = straight_body(one.children, nodes, at)
    return at if end is None else end
