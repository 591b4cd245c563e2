"""Align the trees of all ranks of all traces, node by node (§3.2.2, Algorithm 1).

Two nodes match when they are events of one operation and call site, or loops with events in common. Where
one tree has a node that another lacks, the longest common subsequence decides. A node without a match does
not run on the ranks of the other tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.extrap.alignment.rank_tree import Key, RankNode, all_nodes
from scalatrace.trace.values.vec import Vec

__all__ = ["Aligned", "align", "aligned_nodes", "single_trip", "straight_body", "with_repeated_events"]


Nodes = Mapping[int, RankNode]
"""Point (a rank of a trace) -> its node."""


WRAPPING_COST = 0.1
"""How much less a run of calls goes together with a loop around such calls than with the calls alone."""

MAX_KNOWN_PAIRS = 1 << 13


@dataclass(frozen=True, slots=True)
class Aligned:
    """An aligned node, with its counterparts in all trees that have it.

    Attributes:
        key: operation and stack of an event; None for a loop.
        nodes: the node of every point that has it.
        children: of a loop.
    """

    key: Key | None
    nodes: Nodes
    children: tuple[Aligned, ...] = ()


def align(trees: Mapping[int, Sequence[RankNode]], single_trips: bool = True) -> tuple[Aligned, ...]:
    """Return the aligned nodes of all trees, in an order that fits each tree.

    Args:
        trees: point -> tree.
        single_trips: whether calls are a loop of one trip where another tree has a loop around such calls.
    """
    if single_trips:
        trees = _with_single_trips(trees)
    columns: list[list[RankNode | None]] = []
    groups = _by_kind(trees)
    models = [trees[points[0]] for points in groups]
    for k, model in enumerate(models):
        columns = _join_columns(columns, model, k)
    result = []
    for column in columns:
        nodes: dict[int, RankNode] = {}
        for node, points, model in zip(column, groups, models, strict=True):
            if node is not None:
                at = next(i for i, candidate in enumerate(model) if candidate is node)
                nodes.update((point, trees[point][at]) for point in points)
        result.append(_align_nodes(nodes, single_trips))
    return tuple(result)


def aligned_nodes(nodes: Sequence[Aligned]) -> int:
    """Return the number of aligned nodes: the fewer, the more similar the trees."""
    return sum(1 + aligned_nodes(node.children) for node in nodes)


def _by_kind(trees: Mapping[int, Sequence[RankNode]]) -> list[list[int]]:
    """Points of equal trees; those with the most nodes first, since the others fit into them."""
    groups: dict[Any, list[int]] = {}
    for point, tree in trees.items():
        groups.setdefault(tuple(node.kind for node in tree), []).append(point)
    return sorted(groups.values(), key=lambda points: -sum(node.size for node in trees[points[0]]))


def _with_single_trips(trees: Mapping[int, Sequence[RankNode]]) -> Mapping[int, Sequence[RankNode]]:
    """Return the trees with loops of one trip where another tree has a loop around the same calls."""
    result = dict(trees)
    changed = any(node.key is None for tree in trees.values() for node in tree)
    while changed:
        changed = False
        groups = _by_kind(result)
        for points, other_points in permutations(groups, 2):
            model, tree = result[points[0]], result[other_points[0]]
            if not _has_straight_body(model, tree):
                continue  # mostly, and much faster than to pair all nodes
            runs = [pair for pair in _common(model, tree) if pair.wraps]
            for point in other_points if runs else ():
                result[point] = _wrap(result[point], runs)
            changed = changed or bool(runs)
    return result


def _has_straight_body(model: Sequence[RankNode], tree: Sequence[RankNode]) -> bool:
    """Return whether a tree has the calls of one trip of a loop of another one."""
    starts: dict[Key | None, list[int]] = {}
    for at, node in enumerate(tree):
        starts.setdefault(node.key, []).append(at)
    return any(
        straight_body(loop.children, tree, at) is not None
        for loop in model
        if loop.key is None
        for key in loop.keys & starts.keys()
        for at in starts[key]
    )


def _wrap(tree: Sequence[RankNode], runs: Sequence[_Pair]) -> tuple[RankNode, ...]:
    """Return a tree with loops around some of its nodes."""
    nodes, at = [], 0
    for run in runs:
        nodes += [*tree[at : run.right], single_trip(tree[run.right : run.stop])]
        at = run.stop
    return (*nodes, *tree[at:])


def _align_nodes(nodes: Nodes, single_trips: bool) -> Aligned:
    key = next(iter(nodes.values())).key
    if key is not None:
        return Aligned(key, nodes)
    children = {point: node.children for point, node in nodes.items()}
    return Aligned(None, nodes, align(children, single_trips))


def _join_columns(
    columns: list[list[RankNode | None]], tree: Sequence[RankNode], k: int
) -> list[list[RankNode | None]]:
    """Return the columns of k trees with the nodes of one more."""
    keys = frozenset[Key]().union(*(node.keys for node in tree))
    left = [_first(column, keys) for column in columns]
    result: list[list[RankNode | None]] = []
    i = j = 0
    pairs = [(pair.left, pair.right) for pair in _common(left, tree, wrap=False)]
    for a, b in [*pairs, (len(left), len(tree))]:
        result += [[*column, None] for column in columns[i:a]]
        result += [[*[None] * k, node] for node in tree[j:b]]
        if a < len(left):
            result.append([*columns[a], tree[b]])
        i, j = a + 1, b + 1
    return result


def _first(column: Sequence[RankNode | None], keys: frozenset[Key]) -> RankNode:
    """The node of a column with the most events, of those with one of these events if there are any."""
    nodes = (node for node in column if node is not None)
    return max(nodes, key=lambda node: (not node.keys.isdisjoint(keys), len(node.keys)))


def _similarity(a: RankNode, b: RankNode) -> float:
    """Return how well two nodes go together, 0 for not at all."""
    if a.key is not None or b.key is not None:
        return float(a.key == b.key)
    if a.kind == b.kind:
        return 1.0 + len(a.keys)
    return len(a.keys & b.keys) * len(a.keys & b.keys) / len(a.keys | b.keys)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Aligned nodes of two trees: one of the left tree, and one or a run of the right tree.

    Attributes:
        left: number of the node.
        right, stop: numbers of the first node and of the one after the last.
        wraps: whether these nodes are the body of the left tree's loop.
    """

    left: int
    right: int
    stop: int
    wraps: bool = False


def _common(left: Sequence[RankNode], right: Sequence[RankNode], wrap: bool = True) -> Sequence[_Pair]:
    """Pairs of a best common subsequence; with `wrap`, a loop also goes with its body."""
    if len(left) == len(right) and all(_similarity(a, b) >= 1 for a, b in zip(left, right, strict=True)):
        return [_Pair(i, i, i + 1) for i in range(len(left))]
    key = tuple(node.kind for node in left), tuple(node.kind for node in right), wrap
    if key not in _PAIRS:
        if len(_PAIRS) >= MAX_KNOWN_PAIRS:
            _PAIRS.clear()
        _PAIRS[key] = tuple(_best_pairs(left, right, wrap))
    return _PAIRS[key]


_PAIRS: dict[tuple[tuple[int, ...], tuple[int, ...], bool], tuple[_Pair, ...]] = {}
"""Pairs by the kinds of the nodes: the trees of many ranks are equal."""


def _best_pairs(left: Sequence[RankNode], right: Sequence[RankNode], wrap: bool) -> Iterator[_Pair]:
    """Yield the pairs, by dynamic programming from the last nodes on; of equal choices the first pair."""
    similarities = _similarities(left, right)
    best = np.zeros((len(left) + 1, len(right) + 1))
    paired = np.zeros((len(left), len(right)), dtype=bool)
    wrapped: dict[tuple[int, int], int] = {}
    for i in range(len(left) - 1, -1, -1):
        below, similar = best[i + 1], similarities[i]
        with_pair = below[1:] + similar
        body = left[i].keys if wrap and left[i].key is None else frozenset[Key]()
        stops = {
            j: stop
            for j, node in enumerate(right if body else ())
            if node.key in body and (stop := straight_body(left[i].children, right, j)) is not None
        }
        values = np.maximum(below[:-1], with_pair)
        totals = {
            j: below[stop] + sum(node.size for node in right[j:stop]) - WRAPPING_COST
            for j, stop in stops.items()
        }
        for j, total in totals.items():
            values[j] = max(values[j], total)
        best[i, :-1] = np.maximum.accumulate(values[::-1])[::-1]
        without = np.maximum(below[:-1], best[i, 1:])
        paired[i] = (similar > 0) & (with_pair >= without)
        for j, total in totals.items():
            unwrapped = max(without[j], with_pair[j] if paired[i, j] else 0.0)
            if total > unwrapped or (total == unwrapped and not paired[i, j]):
                wrapped[i, j] = stops[j]
    i = j = 0
    while i < len(left) and j < len(right):
        if (i, j) in wrapped:
            yield _Pair(i, j, wrapped[i, j], wraps=True)
            i, j = i + 1, wrapped[i, j]
        elif paired[i, j]:
            yield _Pair(i, j, j + 1)
            i, j = i + 1, j + 1
        elif best[i, j] == best[i + 1, j]:
            i += 1
        else:
            j += 1


def _similarities(left: Sequence[RankNode], right: Sequence[RankNode]) -> list[Floats]:
    """Return how well each node of the left tree goes with each of the right one; equal nodes share a row."""
    places: dict[int, list[int]] = {}
    for at, node in enumerate(right):
        places.setdefault(node.kind, []).append(at)
    loops = {node.kind: node for node in right if node.key is None}
    rows: dict[int, Floats] = {}
    for node in left:
        if node.kind in rows:
            continue
        row = rows[node.kind] = np.zeros(len(right))
        for kind in {node.kind, *loops} if node.key is None else (node.kind,):
            if kind in places:
                row[places[kind]] = _similarity(node, right[places[kind][0]])
    return [rows[node.kind] for node in left]


def single_trip(nodes: Sequence[RankNode]) -> RankNode:
    """Return a loop of one trip around these nodes."""
    entries = nodes[0].entry_count
    return RankNode(None, Vec(1), entries, entries, None, tuple(nodes))


def with_repeated_events(trees: Mapping[int, Sequence[RankNode]]) -> dict[int, tuple[RankNode, ...]] | None:
    """Return the trees with loops around repeated events that are parts of longer loop bodies elsewhere.

    A rank without partners may make a single call per time step. Its tree has an event that runs as often as
    the loop of the other ranks. None: there are no such events.
    """
    nodes = [node for tree in trees.values() for node in all_nodes(tree)]
    keys = {
        child.key for loop in nodes for child in loop.children if child.key is not None and child.width == 1
    }

    def is_repeated(node: RankNode) -> bool:
        return node.key in keys and node.width > 1

    def looped(node: RankNode) -> RankNode:
        if node.key is None:
            return replace(node, children=tuple(map(looped, node.children)))
        return _loop(node) if is_repeated(node) else node

    if not any(map(is_repeated, nodes)):
        return None
    return {point: tuple(map(looped, tree)) for point, tree in trees.items()}


def _loop(node: RankNode) -> RankNode:
    """Return a loop around one execution of an event."""
    once = RankNode(node.key, Vec(1), node.runs, node.runs, node.event, ())
    return RankNode(None, node.repeat, node.entry_count, node.runs, None, (once,))


def straight_body(body: Sequence[RankNode], nodes: Sequence[RankNode], start: int) -> int | None:
    """Return the index after the nodes from `start` on that are one execution of a loop's body, or None.

    A loop within the body may be a loop with events in common, run once (straight code), or not at all.
    """
    at = start
    for child in body:
        end = _one(child, nodes, at)
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
