"""The tree of one rank: the loops and events that this rank executes.

The order of merging decides which node of a merged trace holds a rank's event; the program alone decides what
the rank executes. So ranks are compared by their own trees: nodes that a rank never executes are left out,
and sequences that always run once are replaced by their content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Event, Node
from scalatrace.trace.query.counting import runs as runs_of
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["Key", "RankNode", "all_nodes", "key_of", "normalize_vec", "rank_tree"]


class Key(NamedTuple):
    """Identity of the calls of one event, as texts: tables differ from trace to trace.

    Attributes:
        mark: the text of a `Mark` where unlike calls of one call site are calls of their own; else "".
    """

    op: str
    stack: tuple[str, ...]
    mark: str = ""


MAX_NORMALIZED_VALUES = 1 << 14
"""Values of one vec that are written anew, so that equal values have equal forms in all traces."""


_KINDS: dict[Any, int] = {}
"""The number of each key, and of each sequence of numbers in a loop: trees are compared often."""


@dataclass(frozen=True, eq=False)
class RankNode:
    """A node as executed by one rank.

    Attributes:
        key: of an event, None for a loop.
        repeat: how often the content runs each time, `entry_count` times in all.
        runs: how often the content runs in all.
        event: the trace's node.
        children: of a loop.
    """

    key: Key | None
    repeat: Vec
    entry_count: int
    runs: int
    event: Event | None
    children: tuple[RankNode, ...]

    @cached_property
    def kind(self) -> int:
        """A number that nodes with equal operations, call sites and nesting have in common."""
        parts = self.key if self.key is not None else tuple(child.kind for child in self.children)
        return _KINDS.setdefault(parts, len(_KINDS))

    @property
    def width(self) -> int:
        """Number of executions of the content per iteration if it is constant, else 0."""
        return self.repeat.constant or 0

    @cached_property
    def size(self) -> int:
        """Number of nodes."""
        return 1 + sum(child.size for child in self.children)

    @cached_property
    def keys(self) -> frozenset[Key]:
        """The events in it."""
        if self.key is not None:
            return frozenset((self.key,))
        return frozenset().union(*(child.keys for child in self.children))


def key_of(trace: Trace, event: Event) -> Key:
    """Return operation and stack of an event."""
    return Key(trace.ops[event.op].name, trace.stack(event.signature))


def rank_tree(trace: Trace, rank: int) -> tuple[RankNode, ...]:
    """Return the tree of one rank."""
    return tuple(_rank_nodes(trace, trace.nodes, rank, 1))


def all_nodes(tree: Iterable[RankNode]) -> Iterator[RankNode]:
    """Yield the nodes of a tree, each before its children."""
    for node in tree:
        yield node
        yield from all_nodes(node.children)


def _rank_nodes(trace: Trace, nodes: AnySequence[Node], rank: int, entry_count: int) -> Iterator[RankNode]:
    for node in nodes:
        runs = runs_of(node.repeat, rank, entry_count)
        if not runs:
            continue
        vec = elastic.at(node.repeat, rank)
        assert vec is not None  # or it would run 0 times
        repeat = normalize_vec(vec, entry_count)
        if isinstance(node, Event):
            yield RankNode(key_of(trace, node), repeat, entry_count, runs, node, ())
            continue
        children = tuple(_rank_nodes(trace, node.nodes, rank, runs))
        if repeat.constant == 1:
            yield from children
        elif children:
            yield RankNode(None, repeat, entry_count, runs, None, children)


@lru_cache(maxsize=1 << 16)
def normalize_vec(vec: Vec, n: int) -> Vec:
    """Return the first n values in a canonical form, equal for equal values."""
    if vec.constant is not None or n > MAX_NORMALIZED_VALUES:
        return vec
    return vec_of(vec.first(n))
