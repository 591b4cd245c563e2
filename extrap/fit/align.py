"""Align the trees of all ranks of all traces, node by node (§3.2.2, Algorithm 1).

Two nodes match when they are events of one operation and call site, or loops with events in common. Where
one tree has a node that another lacks, the longest common subsequence decides. A node without a match does
not run on the ranks of the other tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scalatrace.extrap.fit.rank_tree import Key, RankNode

__all__ = ["Aligned", "align"]

Nodes = Mapping[int, RankNode]
"""Point (a rank of a trace) -> its node."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A node of all trees that have it.

    Attributes:
        key: operation and stack of an event; None for a loop.
        nodes: the node of every point that has it.
        children: of a loop.
    """

    key: Key | None
    nodes: Nodes
    children: tuple[Aligned, ...] = ()


def align(trees: Mapping[int, Sequence[RankNode]]) -> tuple[Aligned, ...]:
    """All nodes of all trees (point -> tree), in an order that fits each of them."""
    similarity: dict[Any, list[int]] = {}
    for point, tree in trees.items():
        similarity.setdefault(tuple(node.skeleton for node in tree), []).append(point)
    columns: list[list[RankNode | None]] = []
    groups = sorted(similarity.values(), key=lambda points: -sum(node.size for node in trees[points[0]]))
    models = [
        trees[points[0]] for points in groups
    ]  # those with the most nodes first: the others fit into them
    for k, model in enumerate(models):
        columns = _joined(columns, model, k)
    result = []
    for column in columns:
        nodes: dict[int, RankNode] = {}
        for node, points, model in zip(column, groups, models, strict=True):
            if node is not None:
                at = next(i for i, other in enumerate(model) if other is node)
                nodes.update((point, trees[point][at]) for point in points)
        result.append(_aligned(nodes))
    return tuple(result)


def _aligned(nodes: Nodes) -> Aligned:
    key = next(iter(nodes.values())).key
    if key is not None:
        return Aligned(key, nodes)
    return Aligned(None, nodes, align({point: node.children for point, node in nodes.items()}))


def _joined(
    columns: list[list[RankNode | None]], tree: Sequence[RankNode], k: int
) -> list[list[RankNode | None]]:
    """The columns of k trees with the nodes of one more."""
    left = [_first(column) for column in columns]
    result: list[list[RankNode | None]] = []
    i = j = 0
    for a, b in [*_common(left, tree), (len(left), len(tree))]:
        result += [[*column, None] for column in columns[i:a]]
        result += [[*[None] * k, node] for node in tree[j:b]]
        if a < len(left):
            result.append([*columns[a], tree[b]])
        i, j = a + 1, b + 1
    return result


def _first(column: Sequence[RankNode | None]) -> RankNode:
    return max((node for node in column if node is not None), key=lambda node: len(node.keys))


def _similarity(a: RankNode, b: RankNode) -> float:
    """How well two nodes go together, 0 for not at all."""
    if a.key is not None or b.key is not None:
        return float(a.key == b.key)
    if a.skeleton == b.skeleton:
        return 1.0 + len(a.keys)
    return len(a.keys & b.keys) * len(a.keys & b.keys) / len(a.keys | b.keys)


def _common(left: Sequence[RankNode], right: Sequence[RankNode]) -> list[tuple[int, int]]:
    """Pairs of a best common subsequence."""
    if len(left) == len(right) and all(_similarity(a, b) >= 1 for a, b in zip(left, right, strict=True)):
        return [(i, i) for i in range(len(left))]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            similarity = _similarity(left[i], right[j])
            best[i][j] = max(
                best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + similarity if similarity else 0.0
            )
    pairs, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        similarity = _similarity(left[i], right[j])
        if similarity and best[i][j] == best[i + 1][j + 1] + similarity:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
