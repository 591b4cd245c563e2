"""Enlarge receives for messages of other threads: a trace has no order of threads on a channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scalatrace.operations import operation
from scalatrace.trace.consistency.messages import tag_of
from scalatrace.trace.model.nodes import Event, Node, events
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.query.walk import distinct_calls
from scalatrace.trace.values.vec import ANY_TAG, Vec

__all__ = ["with_large_receives"]

Channel = tuple[int, int]
"""Communicator and tag."""


@dataclass
class _ThreadedChannel:
    """What threads receive on a channel."""

    nbytes: int = 0
    threads: set[int] = field(default_factory=set)


def with_large_receives(trace: Trace) -> Trace:
    """Return the trace with larger counts of receives, where several threads receive on one channel.

    Raises:
        FormatError: the trace contradicts itself.
    """
    channels = dict[Channel, _ThreadedChannel]()
    own_bytes, of_event = dict[int, int](), dict[int, set[Channel]]()
    runs = {id(event): classes for event, classes in executions(trace)}
    for thread in trace.threads:
        for event in events(trace.stream(thread)):
            recvs = operation(trace.ops[event.op].name).recvs
            names = [name for name, _ in trace.ops[event.op].params]
            if recvs is None or not recvs.peer or "comm" not in names:
                continue
            for ranks, n in runs[id(event)]:
                for rank in ranks:
                    for call, _ in distinct_calls(trace, event, rank, n):
                        channel, nbytes = (call.family, tag_of(call, "recvtag")), recvs.nbytes(call)
                        receives = channels.setdefault(channel, _ThreadedChannel())
                        receives.nbytes = max(receives.nbytes, nbytes)
                        receives.threads.add(thread)
                        of_event.setdefault(id(event), set()).add(channel)
                        own_bytes[id(event)] = min(own_bytes.get(id(event), nbytes), nbytes)
    _unite_any_tag(channels)
    needed = dict[int, int]()
    for event_id, own_channels in of_event.items():
        shared = (channels[channel] for channel in own_channels if len(channels[channel].threads) > 1)
        nbytes = max((receives.nbytes for receives in shared), default=0)
        if nbytes > own_bytes[event_id]:
            needed[event_id] = nbytes
    return replace(trace, nodes=[_node(trace, node, needed) for node in trace.nodes]) if needed else trace


def _unite_any_tag(channels: dict[Channel, _ThreadedChannel]) -> None:
    """Receives of any tag may get the messages of all channels of their communicator."""
    for family in [family for family, tag in channels if tag == ANY_TAG]:
        united = _ThreadedChannel()
        for channel in channels:
            if channel[0] == family:
                united.nbytes = max(united.nbytes, channels[channel].nbytes)
                united.threads |= channels[channel].threads
                channels[channel] = united


def _node(trace: Trace, node: Node, needed: Mapping[int, int]) -> Node:
    if not isinstance(node, Event):
        return replace(node, nodes=tuple(_node(trace, child, needed) for child in node.nodes))
    if id(node) not in needed:
        return node
    recvs = operation(trace.ops[node.op].name).recvs
    names = [name for name, _ in trace.ops[node.op].params]
    assert recvs is not None
    datatype = node.params[names.index(recvs.datatype)]
    if not isinstance(datatype, Vec) or datatype.constant is None:
        return node  # of several datatypes none has a count of all
    size = max(trace.types[datatype.constant].size, 1)
    params = list(node.params)
    params[names.index(recvs.count)] = Vec(-(-needed[id(node)] // size))
    return replace(node, params=tuple(params))
