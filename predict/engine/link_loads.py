"""Loads of links: the least time per byte of messages that are under way together.

An event node stands for one call of all ranks that run it, mostly at about the same time. Messages of
nonblocking sends up to the next call that waits are a group: each gets, on its busiest link, the part of its
bytes. Calls of a node at different times (wavefronts) count as together, different nodes do not: the time may
be too long or too short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Floats, Ints
from scalatrace.executor.fields import EngineQuantity
from scalatrace.executor.links import link_loads
from scalatrace.executor.operations import EngineOp, Flags
from scalatrace.executor.parameters import decode_world
from scalatrace.executor.program import LoweredProgram, LoweredTrace

__all__ = ["GroupMessages", "LinkLoads", "SharedLinks"]

LinkLoads = list[NDArray[np.float32] | None]
"""Of each node [executions, nranks]: the least time per byte of its messages, ps; None: 0."""

MAX_MESSAGES = 1 << 25
"""Messages of all executions of a group, with different destinations or sizes."""

SENDS = (EngineOp.SEND, EngineOp.SENDRECV, EngineOp.PUT, EngineOp.GET)
WAITS = (
    EngineOp.WAIT, EngineOp.WAITALL, EngineOp.WAITANY, EngineOp.WAITSOME, EngineOp.COLLECTIVE, EngineOp.FLUSH,
    EngineOp.PROBE, EngineOp.RECV, EngineOp.SENDRECV, EngineOp.SEND,
)  # fmt: skip
"""Calls that end a group, unless they are nonblocking."""


@dataclass
class SendNode:
    """A node that sends, in its group.

    Attributes:
        number: of the node.
        times: [nranks] its executions in the group.
        length: of its executions that differ; 1: all are equal.
    """

    number: int
    node: LoweredTrace
    times: Ints
    length: int = 1


@dataclass
class GroupMessages:
    """Messages of one execution of a group.

    Attributes:
        nodes, rows, ranks: of each message: its node, and its place in the node's table.
        sources, dests: ranks.
        nbytes: of all equal messages of the pair.
        own: of one of them.
    """

    nodes: Ints
    rows: Ints
    ranks: Ints
    sources: Ints
    dests: Ints
    nbytes: Floats
    own: Floats


@dataclass
class SharedLinks:
    """Sends of a program, grouped by the wait that ends them; gives the loads of links on a platform."""

    program: LoweredProgram
    left_out: set[int] = field(default_factory=set)
    """Nodes with too many different messages, which count alone."""
    cycles: dict[int, int] = field(default_factory=dict)
    """Node -> executions of all ranks among the messages."""

    def loads(self, platform: Any, count: Callable[[GroupMessages], None] | None = None) -> LinkLoads:
        """Return the loads on a platform.

        Args:
            platform: `binding.PlatformParameters`.
            count: called with the messages of each execution of each group.

        Raises:
            LimitError: out of memory.
        """
        tables: LinkLoads = [None] * len(self.program.nodes)
        for messages in self._messages(tables):
            if count is not None:
                count(messages)
            per_byte = link_loads(platform, messages.sources, messages.dests, messages.nbytes, messages.own)
            for number in np.unique(messages.nodes).tolist():
                chosen = messages.nodes == number
                table = tables[number]
                assert table is not None
                at = messages.rows[chosen], messages.ranks[chosen]
                table[at] = np.maximum(table[at], per_byte[chosen])
        return [table if table is not None and table.any() else None for table in tables]

    def _messages(self, tables: LinkLoads) -> Iterator[GroupMessages]:
        """Yield the messages of each execution of each group; make the tables of its nodes."""
        nranks = self.program.trace.nprocs
        for group in self._groups():
            kept = [send for send in group if send.times.any()]
            ninstances = self._instances(kept)
            for send in kept:
                rows = ninstances * int(send.times.max()) if send.length > 1 or ninstances > 1 else 1
                tables[send.number] = np.zeros((rows, nranks), dtype=np.float32)
                self.cycles[send.number] = ninstances * int(send.times.sum())
            for instance in range(ninstances):
                parts = [part for send in kept for part in _parts(send, instance, nranks, tables)]
                if parts:
                    yield GroupMessages(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _instances(self, group: list[SendNode]) -> int:
        """Return how many executions of a group differ; drop nodes that differ too much."""
        while True:
            counts = [_instances_of(send) for send in group]
            number = lcm(*counts) if counts else 1
            number = number if number <= MAX_MESSAGES else max(counts)
            total = number * sum(
                int(send.times.sum()) if send.length > 1 or number > 1 else len(send.times) for send in group
            )
            if total <= MAX_MESSAGES or not group:
                return number
            worst = max(range(len(group)), key=lambda i: (counts[i], int(group[i].times.sum())))
            self.left_out.add(group.pop(worst).number)

    def _groups(self) -> Iterator[list[SendNode]]:
        nranks = self.program.trace.nprocs
        nodes = self.program.nodes
        pending: list[SendNode] = []

        def walk(first: int, end: int, times: Ints, may_wait: bool) -> Iterator[list[SendNode]]:
            at = first
            while at < end:
                node = nodes[at]
                if node.op is EngineOp.SEQUENCE:
                    waits = may_wait and any(_waits(inner) for inner in nodes[at + 1 : node.end])
                    if waits:
                        yield from flush()
                        yield from walk(at + 1, node.end, np.ones(nranks, dtype=np.int64), True)
                        yield from flush()
                    else:
                        yield from walk(at + 1, node.end, times * _repeats(node, nranks), False)
                else:
                    if node.op in SENDS and "peer" in node.fields:
                        pending.append(_send_node(at, node, times * _repeats(node, nranks)))
                    if _waits(node):
                        yield from flush()
                at = node.end

        def flush() -> Iterator[list[SendNode]]:
            if pending:
                yield list(pending)
                pending.clear()

        yield from walk(0, len(nodes), np.ones(nranks, dtype=np.int64), True)
        yield from flush()


def _waits(node: LoweredTrace) -> bool:
    return node.op in WAITS and not node.flags & (Flags.NONBLOCKING | Flags.PERSISTENT)


def _repeats(node: LoweredTrace, nranks: int) -> Ints:
    """Return [nranks] executions in each entry; 1 where they vary."""
    repeat = node.fields["repeat"]
    if repeat.class_of is not None:
        return (repeat.class_of >= 0).astype(np.int64)
    return np.full(nranks, repeat.value) if repeat.values is None else np.maximum(repeat.values, 0)


def _send_node(number: int, node: LoweredTrace, times: Ints) -> SendNode:
    lengths = [_length(node.fields[name]) for name in ("peer", "nbytes") if name in node.fields]
    return SendNode(number, node, times, lcm(*lengths))


def _length(quantity: EngineQuantity) -> int:
    if quantity.class_of is None or quantity.offsets is None:
        return 1
    return quantity.period or int(np.diff(quantity.offsets).max(initial=1))


def _instances_of(send: SendNode) -> int:
    most = int(send.times.max())
    return lcm(send.length, most) // most


def _values(quantity: EngineQuantity, ranks: Ints, execution: Ints, nranks: int) -> tuple[Ints, Any]:
    """Return the values of ranks in executions of their own, and which of them have one."""
    if quantity.class_of is None or quantity.offsets is None or quantity.pool is None:
        stored = np.full(len(ranks), quantity.value) if quantity.values is None else quantity.values[ranks]
        has = np.ones(len(ranks), dtype=bool)
    else:
        number = quantity.class_of[ranks]
        start = quantity.offsets[number]
        lengths = quantity.offsets[number + 1] - start
        at = execution % np.maximum(lengths, 1) if quantity.period else np.where(lengths == 1, 0, execution)
        has = (number >= 0) & (at < lengths)
        stored = quantity.pool[np.where(has, start + at, 0)]
    return decode_world(stored, ranks, quantity.encoding, nranks), has


def _parts(send: SendNode, instance: int, nranks: int, tables: LinkLoads) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of `GroupMessages` of a node's messages in one execution of its group."""
    table = tables[send.number]
    assert table is not None
    differ = len(table) > 1
    most = int(send.times.max()) if differ else 1
    for number in range(most):
        ranks = np.flatnonzero(send.times > number)
        execution = instance * send.times[ranks] + number
        peers, has = _values(send.node.fields["peer"], ranks, execution, nranks)
        nbytes, sized = _values(send.node.fields["nbytes"], ranks, execution, nranks)
        chosen = has & sized & (peers >= 0) & (peers < nranks) & (nbytes > 0)
        ranks, peers, nbytes, execution = ranks[chosen], peers[chosen], nbytes[chosen], execution[chosen]
        ends = (peers, ranks) if send.node.op is EngineOp.GET else (ranks, peers)
        own = nbytes.astype(np.float64)
        count = 1 if differ else send.times[ranks]
        yield (np.full(len(ranks), send.number), execution % len(table), ranks, *ends, own * count, own)
