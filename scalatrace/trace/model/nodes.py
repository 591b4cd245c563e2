"""The tree of a trace: node = (repeat, content), content an event (RSD) or a sequence of nodes (PRSD).

`repeat` has a trip count for each entry of the node. So a loop is a sequence with a repeat; an event that
only every other iteration executes has the repeat 1 0 1 0 ...
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass, replace
from enum import IntEnum

from scalatrace.trace.model.elastic import Elastic, Value
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, Vec

__all__ = [
    "Encoding",
    "Event",
    "Node",
    "Param",
    "Peer",
    "PredStats",
    "Sequence",
    "events",
    "named_ranks",
    "untimed",
]


class Encoding(IntEnum):
    """How a peer is stored; self and size are those of the event's communicator."""

    ABSOLUTE = 0
    RELATIVE = 1  # peer - self
    MODULO = 2  # (peer - self) mod size
    XOR = 3  # peer ^ self

    def decode(self, value: int, own: int, size: int) -> int:
        """The peer's rank; special values stand for themselves."""
        if value < SPECIAL_MAX or self is Encoding.ABSOLUTE:
            return value
        if self is Encoding.RELATIVE:
            return value + own
        return (value + own) % size if self is Encoding.MODULO else value ^ own

    def encode(self, peer: int, own: int, size: int) -> int:
        """The stored value of a peer."""
        if peer < SPECIAL_MAX or self is Encoding.ABSOLUTE:
            return peer
        if self is Encoding.RELATIVE:
            return peer - own
        return (peer - own) % size if self is Encoding.MODULO else peer ^ own


@dataclass(frozen=True, slots=True)
class Peer:
    """A parameter of kind PEER: its encoding and the encoded values."""

    encoding: Encoding
    value: Value


Param = Value | Peer


@dataclass(frozen=True, slots=True)
class PredStats:
    """Samples of the executions that came right after one predecessor event; one histogram per statistic."""

    pred: int
    histograms: tuple[Histogram | None, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """The calls of one site. `op` and `signature` index the trace's tables; parameters in the op's order."""

    repeat: Elastic
    op: int
    signature: int
    params: tuple[Param, ...] = ()
    stats: tuple[PredStats, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """Nodes that run one after the other, the whole `repeat` times."""

    repeat: Elastic
    nodes: tuple[Node, ...]


Node = Event | Sequence


def events(nodes: AnySequence[Node]) -> Iterator[Event]:
    """The event nodes below, in order."""
    for node in nodes:
        if isinstance(node, Event):
            yield node
        else:
            yield from events(node.nodes)


def named_ranks(value: Elastic) -> RankList | None:
    """The ranks a value names; None when it holds for every participant."""
    return None if isinstance(value, Vec) else value.ranks


def untimed(node: Node) -> Node:
    """The node without its statistics, to compare what happened and not how long it took."""
    if isinstance(node, Event):
        return replace(node, stats=()) if node.stats else node
    return Sequence(node.repeat, tuple(untimed(child) for child in node.nodes))


ONCE = Vec(1)
"""The repeat of a node that runs once on each entry."""
