"""Count the messages and receives of a lowered trace, and find the senders that a receive can have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.executor.fields import EngineQuantity
from scalatrace.executor.match_program import MatchLowering
from scalatrace.executor.operations import EngineOp, Flags
from scalatrace.executor.parameters import decode_world
from scalatrace.executor.program import LoweredTrace
from scalatrace.operations import operation
from scalatrace.trace.consistency.messages import tag_of
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import started
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.from_arrays import ranks_in
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, UNDEFINED

__all__ = ["MessageCounts", "channel_of", "kinds_by_rank"]

Kind: TypeAlias = tuple[int, int, int, int]
"""Channel (see choices.hpp), receiver, sender and tag, these two open for some receives."""


class MessageCounts:
    """What is sent and received by channel, receiver, sender and tag.

    Attributes:
        certain: [n, 6] kinds of receives with an open source or tag that can match one kind of message only,
            and its sender and tag.
        sent, wanted: [n, 5] messages, and receives, with their numbers, of ranks and channels where some
            receives or probes are open.
    """

    def __init__(self, lowering: MatchLowering) -> None:
        sent, received, probed = _count(lowering)
        self._only: dict[Kind, tuple[int, int] | None] = {}
        for channel, dest, source, tag in _columns(sent, 4):
            for kind in ((ANY_SOURCE, ANY_TAG), (ANY_SOURCE, tag), (source, ANY_TAG)):
                key = (channel, dest, *kind)
                self._only[key] = None if key in self._only else (source, tag)
        wanted = np.array(
            [(*self.certain_kind(kind), n) for *kind, n in _columns(received, 5)], dtype=np.int64
        ).reshape(-1, 5)
        watched = np.array([self.certain_kind(kind) for kind in _columns(probed, 4)], dtype=np.int64).reshape(
            -1, 4
        )
        boxes = {
            box
            for kinds in (wanted, watched)
            for box in map(tuple, kinds[(kinds[:, 2] == ANY_SOURCE) | (kinds[:, 3] == ANY_TAG), :2].tolist())
        }
        self.sent, self.wanted = _of_boxes(sent, boxes), _of_boxes(wanted, boxes)
        kinds = {(*kind,) for rows in (received, probed) for kind in _columns(rows, 4)}
        certain = ((kind, self.certain_kind(kind)) for kind in kinds)
        self.certain = np.array(
            [(*kind, *only[2:]) for kind, only in certain if only != kind], dtype=np.int64
        ).reshape(-1, 6)

    def certain_kind(self, kind: Sequence[int]) -> Kind:
        """Return the kind of message that a receive gets, if only one is possible, else its own."""
        channel, dest, source, tag = kind
        only = (
            self._only.get((channel, dest, source, tag)) if source == ANY_SOURCE or tag == ANY_TAG else None
        )
        return (channel, dest, *(only or (source, tag)))


def _columns(rows: Ints, width: int) -> list[list[int]]:
    columns: list[list[int]] = rows[:, :width].tolist()
    return columns


def _of_boxes(rows: Ints, boxes: set[tuple[int, ...]]) -> Ints:
    keep = [tuple(box) in boxes for box in rows[:, :2].tolist()]
    return np.ascontiguousarray(rows[np.array(keep, dtype=bool)])


def _count(lowering: MatchLowering) -> tuple[Ints, Ints, Ints]:
    """Return [n, 5] messages, receives and probes with their numbers; persistent calls count when started."""
    trace = lowering.trace
    present = np.zeros(trace.nprocs, dtype=bool)
    present[ranks_in(trace.ranks)] = True
    sent, received, probed = list[Ints](), list[Ints](), list[Ints]()
    for node in lowering.nodes:
        if node.event is None or node.flags & Flags.PERSISTENT:
            continue
        if node.op in (EngineOp.SEND, EngineOp.SENDRECV):
            sent += kinds_by_rank(lowering, node, "peer", "tag")
        if node.op in (EngineOp.RECV, EngineOp.PROBE):
            (received if node.op is EngineOp.RECV else probed).extend(
                kinds_by_rank(lowering, node, "peer", "tag")
            )
        elif node.op is EngineOp.SENDRECV:
            received += kinds_by_rank(lowering, node, "peer2", "tag2")
    starts = [row for rank in trace.ranks for row in _count_started(lowering, trace, rank)]
    sent += [row for is_send, row in starts if is_send]
    received += [row for is_send, row in starts if not is_send]
    messages = _sum_by_kind(sent)
    messages = messages[(messages[:, 2] >= 0) & (messages[:, 2] < trace.nprocs)]
    messages = messages[present[messages[:, 2]]]
    messages[:, [1, 2]] = messages[:, [2, 1]]  # by receiver
    return (
        messages,
        _keep_receivable(_sum_by_kind(received), present),
        _keep_receivable(_sum_by_kind(probed), present),
    )


def _keep_receivable(receives: Ints, present: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """Return the receives from any source, or from ranks that the trace has."""
    source = receives[:, 2]
    inside = (source >= 0) & (source < len(present))
    result: Ints = receives[(source == ANY_SOURCE) | (inside & present[np.where(inside, source, 0)])]
    return result


def _sum_by_kind(parts: list[Ints]) -> Ints:
    """Return the sums of rows with equal kinds."""
    if not parts:
        return np.zeros((0, 5), dtype=np.int64)
    rows = np.concatenate(parts)
    rows = rows[np.lexsort(rows[:, 3::-1].T)]
    first = np.concatenate(([True], (rows[1:, :4] != rows[:-1, :4]).any(axis=1)))
    starts = np.flatnonzero(first)
    result: Ints = np.column_stack((rows[starts, :4], np.add.reduceat(rows[:, 4], starts)))
    return result


def channel_of(node: LoweredTrace, family: Ints) -> Ints:
    """Return the channels of a node's messages in families of communicators."""
    return 2 * family + bool(node.flags & Flags.PARTITIONED)


def kinds_by_rank(lowering: MatchLowering, node: LoweredTrace, peer: str, tag: str) -> Iterator[Ints]:
    """Yield [n, 5] channel, rank, peer, tag and count of a node's messages or receives."""
    assert node.event is not None
    quantities = [node.fields["family"], node.fields[peer], node.fields[tag]]
    encoding = quantities[1].encoding
    nranks = lowering.trace.nprocs
    for ranks_of_count, count in lowering.counts[id(node.event)]:
        ranks = ranks_in(ranks_of_count)
        varying = [quantity.class_of[ranks] for quantity in quantities if quantity.class_of is not None]
        joint = np.unique(np.column_stack(varying), axis=0, return_inverse=True)[1] if varying else ranks * 0
        for number in range(int(joint.max(initial=-1)) + 1):
            members = ranks[joint.ravel() == number]
            columns = [_values_of_rank(quantity, int(members[0]), count) for quantity in quantities]
            width = max(map(len, columns))
            rows, counts = np.unique(
                np.column_stack([np.resize(column, width) for column in columns]), axis=0, return_counts=True
            )
            ranks_of_rows = np.repeat(members, len(rows))
            family, world, tags = np.tile(rows, (len(members), 1)).T
            fixed = [q.values is not None for q in quantities]
            family = _values_of_ranks(quantities[0], ranks_of_rows) if fixed[0] else family
            world = _values_of_ranks(quantities[1], ranks_of_rows) if fixed[1] else world
            tags = _values_of_ranks(quantities[2], ranks_of_rows) if fixed[2] else tags
            times = np.tile(counts if varying else np.array([count]), len(members))
            yield np.column_stack(
                (
                    channel_of(node, family),
                    ranks_of_rows,
                    decode_world(world, ranks_of_rows, encoding, nranks),
                    tags,
                    times,
                )
            )


def _values_of_ranks(quantity: EngineQuantity, ranks: Ints) -> Ints:
    assert quantity.values is not None
    of_ranks: Ints = quantity.values[ranks]
    return of_ranks


def _values_of_rank(quantity: EngineQuantity, rank: int, count: int) -> Ints:
    """Return the values of a rank's executions, one where all are equal; 0 in place of those by rank."""
    if quantity.class_of is None:
        return np.array([0 if quantity.values is not None else quantity.value], dtype=np.int64)
    assert quantity.offsets is not None
    assert quantity.pool is not None
    number = quantity.class_of[rank]
    return np.resize(quantity.pool[quantity.offsets[number] : quantity.offsets[number + 1]], count)


def _count_started(lowering: MatchLowering, trace: Trace, rank: int) -> Iterator[tuple[bool, Ints]]:
    """Yield whether it is a send, and the row, of the persistent requests that a rank starts."""
    for _, call, n in started(trace, rank):
        row = operation(call.op)
        for is_send, flow, tag in ((True, row.sends, "sendtag"), (False, row.recvs, "recvtag")):
            if flow is None or flow.peer not in call:
                continue
            channel = 2 * call.family + row.is_partitioned
            peer = _world(lowering, call, call.raw(flow.peer))
            yield is_send, np.array([[channel, rank, peer, tag_of(call, tag), n]], dtype=np.int64)


def _world(lowering: MatchLowering, call: Call, peer: int) -> int:
    tables = lowering.families.tables
    if not 0 <= call.family < len(tables):
        return UNDEFINED
    ranks, stored = np.array([call.rank]), np.array([peer])
    return int(tables[call.family].world_peers(ranks, stored, Encoding.ABSOLUTE)[0])
