"""Calls and bytes of event nodes, from the compressed form: once for all ranks with equal parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from scalatrace.errors import FormatError
from scalatrace.operations import operation, received_bytes, sent_bytes
from scalatrace.trace.model.call import Call, CompiledEvent, ended, vec_at
from scalatrace.trace.model.elastic import Groups, Summary
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.counting import (
    MAX_VISITS,
    check_countable,
    check_visits,
    executions,
    executions_of,
)
from scalatrace.trace.query.grouped import counted_calls
from scalatrace.trace.query.requests import STARTING, started
from scalatrace.trace.query.summaries import byte_parameters, bytes_estimated
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["RankTraffic", "traffic", "traffic_by_class", "traffic_of"]

WORLD = 0


class RankTraffic(NamedTuple):
    """Calls of an event node by ranks with equal numbers of calls and bytes.

    Attributes:
        calls, sent, received: of each of these ranks; bytes in all its calls.
        op: operation that moves the bytes: that of the node, or of the calls that created the persistent
            requests which the node starts.
        times: how often each of these ranks executes this operation: 0 where the calls only create requests.
    """

    event: Event
    ranks: RankList
    calls: int
    sent: int
    received: int
    op: str
    times: int


def traffic(trace: Trace) -> Iterator[tuple[Event, int, int, int]]:
    """Yield event node, calls, bytes sent and received, over all ranks; an event node may come several times.

    Raises:
        LimitError: very many ranks have different parameters or trip counts.
    """
    for part in traffic_by_class(trace):
        n = len(part.ranks)
        yield part.event, part.calls * n, part.sent * n, part.received * n


def traffic_by_class(trace: Trace, max_visits: int = MAX_VISITS) -> Iterator[RankTraffic]:
    """Yield the calls of each event node by sets of ranks; a node and a rank may come several times.

    Args:
        max_visits: event nodes times ranks that are examined one by one.

    Raises:
        LimitError: very many ranks have different parameters or trip counts.
    """
    check_countable(trace)
    remaining = max_visits
    for event, classes in executions(trace):
        op = operation(trace.ops[event.op].name)
        for ranks, n in classes:
            equal_bytes = _same_bytes(trace, event, ranks)
            if equal_bytes is None:
                remaining -= len(ranks)
                if remaining < 0:
                    check_visits(trace, max_visits)  # raises with the number of visits
                equal_bytes = [RankList([rank]) for rank in ranks]
            for members in equal_bytes:
                sent, received = _count_bytes(trace, event, members.first, n)
                yield RankTraffic(event, members, n, sent, received, op.name, 0 if op.flow_later else n)
    if any(op.name in STARTING for op in trace.ops):
        check_visits(trace, max_visits)
        for rank in trace.ranks:
            for event, call, n in started(trace, rank):
                sent, received = (f(call.op, call, started=True) for f in (sent_bytes, received_bytes))
                yield RankTraffic(event, RankList([rank]), 0, n * sent, n * received, call.op, n)


def traffic_of(trace: Trace, rank: int) -> Iterator[tuple[int, int, int, bool]]:
    """Yield calls, bytes sent and received of a rank's nodes, and whether the bytes are means."""
    for event, times in executions_of(trace, rank):
        yield times, *_count_bytes(trace, event, rank, times), bytes_estimated(trace, event)
    for _, call, n in started(trace, rank):
        sent, received = (f(call.op, call, started=True) for f in (sent_bytes, received_bytes))
        yield 0, n * sent, n * received, bytes_estimated(trace, call.node)


def _count_bytes(trace: Trace, event: Event, rank: int, times: int) -> tuple[int, int]:
    """Return the bytes that a rank sends and receives in all calls of a node."""
    op = operation(trace.ops[event.op].name)
    sent = received = 0
    if (op.sends or op.recvs) and not op.flow_later:
        if (proportional := _proportional(trace, event, rank, times)) is not None:
            return proportional
        for call, n in counted_calls(trace, event, rank, times, byte_parameters):
            sent += n * sent_bytes(call.op, call)
            received += n * received_bytes(call.op, call)
    return sent, received


def _proportional(trace: Trace, event: Event, rank: int, times: int) -> tuple[int, int] | None:
    """Return bytes sent and received where they are in proportion to a count that alone varies, else None."""
    op, schema = operation(trace.ops[event.op].name), trace.ops[event.op].params
    counts = {flow.count for flow in (op.sends, op.recvs) if flow}
    place = CompiledEvent(trace, event, rank)
    if place.constant:
        return None
    params, varying = [], None
    for (name, kind), param in zip(schema, event.params, strict=True):
        vec = vec_at(place, param)
        params.append(1 if vec.constant is None else vec.constant)
        if vec.constant is None and byte_parameters(op.name, name):
            if kind is not Kind.INT or counts != {name}:
                return None
            varying = vec
    if varying is None or (low := varying.smallest()) is None or low < 0:
        return None
    call = Call(place, place.decoded(tuple(params)), -1)
    try:
        total = varying.total(times)
    except ValueError:
        raise FormatError(ended(place)) from None
    return sent_bytes(call.op, call) * total, received_bytes(call.op, call) * total


def _roots(trace: Trace, family: int, root: int) -> RankList:
    """Return the ranks that are the root in their communicator of a family."""
    groups = [range(trace.nprocs)] if family == WORLD else trace.layout(family).groups
    return RankList(group[root] for group in groups if 0 <= root < len(group) and group[root] >= 0)


def _same_bytes(trace: Trace, event: Event, ranks: RankList) -> list[RankList] | None:
    """Divide ranks into sets that move equally many bytes in a call; None: each may have its own number."""
    op = operation(trace.ops[event.op].name)
    flows = [flow for flow in (op.sends, op.recvs) if flow and not op.flow_later]
    if not flows:
        return [ranks]
    parameters = [
        (name, kind, param)
        for (name, kind), param in zip(trace.ops[event.op].params, event.params, strict=True)
        if byte_parameters(op.name, name)
    ]
    comm = next((param for _, kind, param in parameters if kind is Kind.COMM), Vec(WORLD))
    family = comm.constant if isinstance(comm, Vec) else None
    if family is None:
        return None
    if family != WORLD:
        layout = trace.layout(family)
        if not layout.sizes or layout.remote is not None:  # MPI_COMM_SELF, MPI_COMM_NULL; two groups
            return None
        if any(flow.times == "each" for flow in flows) and len(set(layout.sizes)) > 1:
            return None
    sets = [ranks]
    for name, kind, param in parameters:
        value = param.value if isinstance(param, Peer) else param
        if name == "root" and isinstance(param, Peer) and param.encoding is not Encoding.ABSOLUTE:
            return None
        if name == "root" and (not isinstance(value, Vec) or value.constant is None):
            return None
        if kind is Kind.COMM:
            continue
        if isinstance(value, Groups):
            sets = [members for group, _ in value.groups for s in sets if len(members := s & group)]
        elif not isinstance(value, Vec | Summary):
            return None
        if name == "root" and isinstance(value, Vec):
            root = _roots(trace, family, value.constant or 0)
            sets = [members for s in sets for members in (s & root, s - root) if len(members)]
    return None if any(flow.times == "self" for flow in flows) else sets
