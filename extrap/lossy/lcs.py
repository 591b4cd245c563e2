"""Weighted, loop-aware longest common subsequence of trees of events (§3.2.4).

A loop is compared as one element, weighted by the number of events in it; iterations are paired by a
subsequence of their own, recursively. Equal trees have equal numbers, so that no pair is compared twice. The
first pass, `weight`, measures; the second, `flags`, marks the common part.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from scalatrace.extrap.alignment.rank_tree import RankNode

__all__ = ["Content", "Forest", "content_of"]

Seq = tuple[int, ...]
"""Nodes, by their numbers, one after the other."""

MAX_PAIRS = 1 << 22
"""Of two longer sequences only the equal ends are paired by search; the rest goes by position."""


@dataclass
class Forest:
    """Trees of events, with a number per node."""

    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _nodes: list[tuple[str, Hashable, int]] = field(default_factory=list)
    _weights: dict[tuple[int, int], int] = field(default_factory=dict)
    _pairs: dict[tuple[Seq, Seq], tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def event(self, symbol: Hashable, weight: int = 1) -> int:
        """Return the number of an event; events with equal symbols are equal."""
        return self._number(("event", symbol, weight), weight)

    def loop(self, iterations: Sequence[Seq]) -> int:
        """Return the number of a loop of these iterations."""
        content = tuple(
            self._number(("pass", iteration, 0), self._heavy(iteration)) for iteration in iterations
        )
        return self._number(("loop", content, 0), self._heavy(content))

    def _number(self, node: tuple[str, Hashable, int], weight: int) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self._nodes)
            self._nodes.append((node[0], node[1], weight))
        return self._numbers[node]

    def _heavy(self, nodes: Seq) -> int:
        return sum(self._nodes[node][2] for node in nodes)

    def total(self, nodes: Seq) -> int:
        """Return the weight of all events."""
        return self._heavy(nodes)

    def weight(self, left: Seq, right: Seq) -> int:
        """Return the weight of the common subsequence of two sequences."""
        return sum(self._similarity(left[i], right[j]) for i, j in self.pairs(left, right))

    def _similarity(self, a: int, b: int) -> int:
        """Return the weight of what two nodes have in common; 0 when they do not go together."""
        if a == b:
            return self._nodes[a][2]
        (kind, x, heavy), (other_kind, y, _) = self._nodes[a], self._nodes[b]
        if kind != other_kind:
            return 0
        if kind == "event":
            return min(heavy, self._nodes[b][2]) if x == y else 0
        key = (a, b)
        if key not in self._weights:
            self._weights[key] = self.weight(x, y)  # type: ignore[arg-type]
        return self._weights[key]

    def pairs(self, left: Seq, right: Seq) -> tuple[tuple[int, int], ...]:
        """Return positions of a heaviest common subsequence, the earliest of several."""
        key = (left, right)
        if key not in self._pairs:
            self._pairs[key] = tuple(self._found(left, right))
        return self._pairs[key]

    def _found(self, left: Seq, right: Seq) -> Iterator[tuple[int, int]]:
        """Equal beginnings and ends go together: nothing is heavier; what lies between is searched."""
        start, stop = 0, 0
        shorter = min(len(left), len(right))
        while start < shorter and left[start] == right[start]:
            start += 1
        while stop < shorter - start and left[-1 - stop] == right[-1 - stop]:
            stop += 1
        yield from ((i, i) for i in range(start))
        a, b = left[start : len(left) - stop], right[start : len(right) - stop]
        if len(a) * len(b) > MAX_PAIRS:
            inner_pairs: Iterator[tuple[int, int]] = (
                (i, i) for i in range(min(len(a), len(b))) if self._similarity(a[i], b[i])
            )
        else:
            inner_pairs = self._searched(a, b)
        yield from ((start + i, start + j) for i, j in inner_pairs)
        yield from ((len(left) - stop + i, len(right) - stop + i) for i in range(stop))

    def _searched(self, a: Seq, b: Seq) -> Iterator[tuple[int, int]]:
        """By dynamic programming, from the end; where the choice is free the earlier pair is taken."""
        best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i in range(len(a) - 1, -1, -1):
            row, below = best[i], best[i + 1]
            for j in range(len(b) - 1, -1, -1):
                similarity = self._similarity(a[i], b[j])
                row[j] = max(below[j], row[j + 1], below[j + 1] + similarity if similarity else 0)
        i = j = 0
        while i < len(a) and j < len(b):
            similarity = self._similarity(a[i], b[j])
            if similarity and best[i][j] == best[i + 1][j + 1] + similarity:
                yield i, j
                i, j = i + 1, j + 1
            elif best[i][j] == best[i][j + 1]:
                j += 1
            else:
                i += 1

    def common(self, left: Seq, right: Seq) -> Seq:
        """Return the common subsequence of two sequences."""
        return tuple(self._both(left[i], right[j]) for i, j in self.pairs(left, right))

    def _both(self, a: int, b: int) -> int:
        kind, content, _ = self._nodes[a]
        if a == b or kind == "event":
            return a
        inner = self.common(content, self._nodes[b][1])  # type: ignore[arg-type]
        return self._number((kind, inner, 0), self._heavy(inner))

    def flags(self, nodes: Seq, part: Seq) -> Iterator[bool]:
        """Yield for each event of a sequence whether it is in `part`, a common subsequence."""
        partner = dict(self.pairs(nodes, part))
        for i, node in enumerate(nodes):
            kind, content, _ = self._nodes[node]
            if i not in partner:
                yield from (False for _ in range(self._size(node)))
            elif kind == "event":
                yield True
            else:
                yield from self.flags(content, self._nodes[part[partner[i]]][1])  # type: ignore[arg-type]

    def _size(self, node: int) -> int:
        """Number of events."""
        kind, content, _ = self._nodes[node]
        return 1 if kind == "event" else sum(map(self._size, content))  # type: ignore[call-overload]


@dataclass(frozen=True)
class Content:
    """A node as the sequence of its executions.

    Attributes:
        nodes: the tree, of a loop over all its entries.
        calls: the number of each call in it, in order.
    """

    nodes: Seq
    calls: tuple[int, ...]


def content_of(
    local: RankNode,
    calls_of: Callable[[RankNode], Iterator[int]],
    forest: Forest,
    event: Callable[[int], int],
) -> Content:
    """Return all executions of a node.

    Args:
        calls_of: an event node's calls, in order.
        event: a call's node in the forest.
    """
    numbers: list[int] = []
    run = _runner(local, calls_of, forest, event, numbers)
    executions = [run() for _ in range(local.entry_count)]
    return Content((forest.loop(executions),), tuple(numbers))


def _runner(
    local: RankNode,
    calls_of: Callable[[RankNode], Iterator[int]],
    forest: Forest,
    event: Callable[[int], int],
    numbers: list[int],
) -> Callable[[], Seq]:
    """Return a function that returns the content of a node at each entry."""
    repeats = iter(local.repeat)
    if local.event is not None:
        remaining = calls_of(local)

        def execute() -> Seq:
            calls = [next(remaining) for _ in range(next(repeats))]
            numbers.extend(calls)
            return tuple(map(event, calls))

        return execute
    inner = [_runner(child, calls_of, forest, event, numbers) for child in local.children]

    def turn() -> Seq:
        turns = next(repeats)
        passes = [tuple(node for run in inner for node in run()) for _ in range(turns)]
        return (forest.loop(passes),) if passes else ()

    return turn
