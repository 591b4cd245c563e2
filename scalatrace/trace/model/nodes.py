"""The tree of a trace: node = (repeat, content), content an event (RSD) or a sequence of nodes (PRSD).

`repeat` has a trip count for each entry of the node. So a loop is a sequence with a repeat; an event that
only every other iteration executes has the repeat 1 0 1 0 ...
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass, replace

from scalatrace.trace.model.elastic import Elastic, Value
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = [
    "Event",
    "Node",
    "Param",
    "Peer",
    "PredStats",
    "Sequence",
    "events",
    "named_ranks",
    "node_numbers",
    "thread_of",
    "untimed",
]


@dataclass(frozen=True, slots=True)
class Peer:
    """A parameter of kind PEER: its encoding and the encoded values."""

    encoding: Encoding
    value: Value


Param = Value | Peer


@dataclass(frozen=True, slots=True)
class PredStats:
    """Samples of the executions after one predecessor event; one histogram per statistic."""

    pred: int
    histograms: tuple[Histogram | None, ...]

    def histogram(self, stat: int | None) -> Histogram | None:
        """Return the histogram of a statistic. None: there is no such statistic, or none was kept."""
        return self.histograms[stat] if stat is not None and stat < len(self.histograms) else None


@dataclass(frozen=True, slots=True)
class Event:
    """The calls of one site. `op` and `signature` index the trace's tables; parameters in the op's order."""

    repeat: Elastic
    op: int
    signature: int
    params: tuple[Param, ...] = ()
    stats: tuple[PredStats, ...] = ()

    def histograms_by_pred(self, stat: int | None) -> list[tuple[int, Histogram]]:
        """Return predecessor and histogram of each predecessor after which a statistic was kept."""
        rows = ((row.pred, row.histogram(stat)) for row in self.stats)
        return [(pred, histogram) for pred, histogram in rows if histogram is not None]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Nodes that run one after the other, as a whole `repeat` times.

    Attributes:
        thread: of a root node: the number of the thread whose calls these are, from 1 on; 0: that of what is
            around.
    """

    repeat: Elastic
    nodes: tuple[Node, ...]
    thread: int = 0


Node = Event | Sequence


def events(nodes: AnySequence[Node]) -> Iterator[Event]:
    """Yield the event nodes below, in order."""
    for node in nodes:
        if isinstance(node, Event):
            yield node
        else:
            yield from events(node.nodes)


def node_numbers(nodes: AnySequence[Node]) -> dict[int, int]:
    """Return id(node) -> number in preorder, from 1, of all nodes of a trace."""
    numbers: dict[int, int] = {}

    def visit(nodes: AnySequence[Node]) -> None:
        for node in nodes:
            numbers[id(node)] = len(numbers) + 1
            if isinstance(node, Sequence):
                visit(node.nodes)

    visit(nodes)
    return numbers


def thread_of(node: Node) -> int:
    """Return the number of the thread whose calls a root node has."""
    return node.thread if isinstance(node, Sequence) else 0


def named_ranks(value: Elastic) -> RankList | None:
    """Return the ranks that a value names; None if it holds for every participant."""
    return None if isinstance(value, Vec) else value.ranks


def untimed(node: Node) -> Node:
    """Return the node without statistics, to compare calls but not times."""
    if isinstance(node, Event):
        return replace(node, stats=()) if node.stats else node
    return replace(node, nodes=tuple(untimed(child) for child in node.nodes))
