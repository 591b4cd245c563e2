"""The stack depth at which a trace of many call paths would have far fewer nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.model.trace import Trace

__all__ = ["DepthAdvice", "advised_depth", "nodes_at_depth"]

MIN_NODES = 1000
"""Event nodes of a trace for which there is advice."""
MAX_NODES = 50_000
"""Event nodes of a trace that is examined; it takes seconds for more."""
MIN_NODES_PER_SITE = 50
"""Event nodes per operation and innermost frame of a trace for which there is advice."""
MAX_SHARE = 0.5
"""Share of the nodes that is left at the recommended depth, at most."""
MAX_CANDIDATES = 12
"""Earlier places of a symbol at which a repeated block may have begun."""


@dataclass(frozen=True)
class DepthAdvice:
    """Advice to record with fewer frames.

    Attributes:
        depth: frames of a stack, for `--stack-depth`.
        nodes: estimate of the event nodes at this depth. The compressor makes fewer, since it also aligns
            unlike iterations.
        nodes_now: event nodes of the trace.
        sites: pairs of an operation and its innermost frame.
    """

    depth: int
    nodes: int
    nodes_now: int
    sites: int


def advised_depth(trace: Trace) -> DepthAdvice | None:
    """Return the largest depth that leaves at most half of the event nodes.

    None: the trace has not very many nodes for each operation and innermost frame. The compressor has the
    same estimate in C++ (depths.cpp).
    """
    events = list(trace.leaves())
    if not MIN_NODES <= len(events) <= MAX_NODES:
        return None
    sites = len({(event.op, trace.signatures[event.signature][:1]) for event in events})
    if len(events) < MIN_NODES_PER_SITE * sites:
        return None
    limit = int(nodes_at_depth(trace, max(map(len, trace.signatures))) * MAX_SHARE)
    low, high = 0, max(map(len, trace.signatures))  # the number of nodes grows with the depth
    best = 0
    while high - low > 1:
        middle = (low + high) // 2
        n = nodes_at_depth(trace, middle)
        if n <= limit:
            low, best = middle, n
        else:
            high = middle
    return DepthAdvice(low, best, len(events), sites) if low else None


def nodes_at_depth(trace: Trace, depth: int) -> int:
    """Estimate the event nodes that a trace has when only the innermost `depth` frames tell call sites apart.

    The lists of nodes are folded anew, from the leaves up: a block that repeats the one before it is dropped.
    """
    folding = _Folding(trace.signatures, depth)
    return sum(folding.sizes[symbol] for symbol in folding.symbols(trace.nodes))


class _Folding:
    """Numbers of subtrees: two have the same number if they are equal at the depth.

    Attributes:
        sizes: event nodes of a subtree, by number.
    """

    def __init__(self, signatures: Sequence[tuple[int, ...]], depth: int) -> None:
        self._signatures, self._depth = signatures, depth
        self._numbers: dict[object, int] = {}
        self.sizes: list[int] = []

    def symbols(self, nodes: Iterable[Node]) -> tuple[int, ...]:
        """The numbers of a folded list of nodes."""
        return _without_repeats(self._symbol(node) for node in nodes)

    def _symbol(self, node: Node) -> int:
        if isinstance(node, Event):
            return self._number((node.op, self._signatures[node.signature][: self._depth]), 1)
        inner = self.symbols(node.nodes)
        if len(inner) == 1:  # a loop around a loop is one loop
            return inner[0]
        return self._number(inner, sum(self.sizes[symbol] for symbol in inner))

    def _number(self, key: object, size: int) -> int:
        number = self._numbers.setdefault(key, len(self.sizes))
        if number == len(self.sizes):
            self.sizes.append(size)
        return number


def _without_repeats(symbols: Iterable[int]) -> tuple[int, ...]:
    """Drop each block that equals the block before it, as the symbols come."""
    kept: list[int] = []
    places: dict[int, list[int]] = {}
    for symbol in symbols:
        places_of_symbol = places.setdefault(symbol, [])
        kept.append(symbol)
        places_of_symbol.append(len(kept) - 1)
        length = _repeated_length(kept, places_of_symbol)
        for _ in range(length):
            places[kept.pop()].pop()
    return tuple(kept)


def _repeated_length(kept: list[int], places: list[int]) -> int:
    """Length of the shortest block at the end that equals the block before it; 0 where there is none."""
    n = len(kept)
    for place in reversed(places[-MAX_CANDIDATES - 1 : -1]):
        length = n - 1 - place
        if 2 * length > n:
            return 0
        likely = kept[n - length] == kept[n - 2 * length]
        if likely and kept[n - length :] == kept[n - 2 * length : n - length]:
            return length
    return 0
