"""Remove nodes that no rank executes: earlier versions recorded such nodes of unfinished iterations.

Their parameters have no values, so nothing else has to expect them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scalatrace.trace.model.elastic import Elastic, vecs
from scalatrace.trace.model.nodes import Node, Sequence
from scalatrace.trace.values.vec import Vec

__all__ = ["without_unused"]


def without_unused(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes that some rank may run, in order; those without unused ones are the same objects."""
    used: list[Node] = []
    for node in nodes:
        if _never_runs(node.repeat):
            continue
        if isinstance(node, Sequence) and node.nodes:
            used_nodes = without_unused(node.nodes)
            if not used_nodes:
                continue
            if len(used_nodes) < len(node.nodes) or any(
                a is not b for a, b in zip(used_nodes, node.nodes, strict=True)
            ):
                node = replace(node, nodes=tuple(used_nodes))
        used.append(node)
    return used


def _never_runs(repeat: Elastic) -> bool:
    """Return whether all trip counts are written down and 0."""
    if isinstance(repeat, Vec):  # nearly all are
        return repeat.largest() == 0
    trip_counts = vecs(repeat)
    return bool(trip_counts) and all(vec.largest() == 0 for vec in trip_counts)
