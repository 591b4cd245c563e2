"""Chakra execution traces, for ASTRA-sim: a file `trace.N.et` for each rank, and groups of ranks as JSON.

A file is a sequence of protobuf messages, each after its length: metadata, then a node for each operation.
Durations are whole microseconds; what is cut off is added to the next. Messages without content, such as
those of barriers and of calls that make communicators, have `MIN_BYTES`.

ASTRA-sim stops at messages of a rank to itself, and at files without a node. So these messages have no node:
they take no network, and what waits for them comes after both ends in the order of the rank. A rank without
nodes gets a computation of 0 µs.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from scalatrace.errors import UsageError
from scalatrace.files import write_file
from scalatrace.predict.export.order import Dependencies, ProgramOrder
from scalatrace.predict.lowering import (
    CollectiveAction,
    Computation,
    LoweredAction,
    LoweringTarget,
    RecvMessage,
    SendMessage,
    TraceLowering,
    WaitAction,
)
from scalatrace.trace.values import naturals

__all__ = ["CHAKRA", "GROUPS", "messages", "write_chakra"]

_COMP, _SEND, _RECV, _COLL = 4, 5, 6, 7
"""Node types."""

_COLLECTIVES = {"allreduce": 0, "allgather": 2, "alltoall": 6, "reduce_scatter": 7}
"""Collective types that ASTRA-sim runs."""

_FIELDS = {
    "AttributeProto": [
        ("name", 1, "string"), ("int32_val", 7, "int32"), ("int64_val", 9, "int64"), ("bool_val", 27, "bool"),
        ("string_val", 29, "string"),
    ],
    "GlobalMetadata": [("version", 1, "string")],
    "Node": [
        ("id", 1, "uint64"), ("name", 2, "string"), ("type", 3, "int32"), ("data_deps", 5, "repeated uint64"),
        ("duration_micros", 7, "uint64"), ("attr", 10, "repeated AttributeProto"),
    ],
}  # fmt: skip
"""Fields by message: name, number, type. An enumeration has the same wire format as an int32."""

_PACKAGE = "scalatrace.chakra"


class Types:
    """Classes of the messages."""

    def __init__(self, classes: dict[str, Any]) -> None:
        self.attribute, self.metadata, self.node = (classes[name] for name in _FIELDS)


@cache
def types() -> Types:
    """Make the classes. Raises UsageError if protobuf is not installed."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise UsageError(
            "Chakra needs the package protobuf; install it: pip install 'scalatrace[chakra]'"
        ) from None
    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="scalatrace_chakra.proto", package=_PACKAGE, syntax="proto3"
    )
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        # Members of a oneof are written even if they are 0.
        values = described.oneof_decl.add(name="value") if message == "AttributeProto" else None
        for name, number, kind in fields:
            word = kind.removeprefix("repeated ")
            repeated = word != kind
            field = described.field.add(
                name=name, number=number,
                label=field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL,
            )  # fmt: skip
            if word in _FIELDS:
                field.type, field.type_name = field_type.TYPE_MESSAGE, f".{_PACKAGE}.{word}"
            else:
                field.type = getattr(field_type, f"TYPE_{word.upper()}")
            if values is not None and name != "name":
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return Types(
        {
            name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
            for name in _FIELDS
        }
    )


CHAKRA = LoweringTarget(frozenset(_COLLECTIVES), groups=True)

GROUPS = "groups.json"
"""File with the ranks of each group: for ASTRA-sim's option --comm-group-configuration."""

MIN_BYTES = 1
"""Size of a message or collective without content: ASTRA-sim stops at sizes of 0."""

MIN_GATHER_BYTES = 64
"""The same of an allgather, which ASTRA-sim divides by `preferred-dataset-splits` without a lower bound."""

_TOTAL = frozenset({"alltoall", "reduce_scatter"})
"""Collectives whose size is that of all blocks of a rank together."""


class ProcessGroups:
    """Numbers of the groups of ranks with collectives, from 1."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}

    def name(self, members: tuple[int, ...]) -> str:
        """Return the name of a group."""
        return str(self._numbers.setdefault(members, len(self._numbers) + 1))

    def json(self) -> str:
        """Return the members of all groups."""
        return json.dumps({str(number): list(members) for members, number in self._numbers.items()})


class LoweredRanks:
    """Facts of all ranks that the nodes of one rank depend on.

    Sizes of the messages on each channel (sender, receiver, tag), in their order: ASTRA-sim gives a message
    only to a receive of its size, and buffers may be larger than what they receive.

    Whether collectives have groups: ASTRA-sim pairs collectives without a group by the number of all
    collectives of a rank. So with groups, those of all ranks get one, too.

    Attributes:
        all_ranks: members of a collective on all ranks; None: such a collective needs no group.
    """

    def __init__(self, lowering: TraceLowering) -> None:
        self.all_ranks: tuple[int, ...] | None = None
        self._sizes: dict[tuple[int, int, int], array[int]] = {}
        self._received: Counter[tuple[int, int, int]] = Counter()
        again = lowering.beside()
        for number, rank in enumerate(again.ranks):
            for action in again.actions(rank):
                if isinstance(action, SendMessage):
                    channel = number, action.peer, action.tag
                    self._sizes.setdefault(channel, array("q")).append(action.nbytes)
                elif isinstance(action, CollectiveAction) and action.members is not None:
                    self.all_ranks = tuple(range(len(again.ranks)))

    def next_bytes(self, number: int, receive: RecvMessage) -> int:
        """Return the bytes of the message for the next receive of a rank; of its buffer if there is none."""
        channel = receive.peer, number, receive.tag
        at, sizes = self._received[channel], self._sizes.get(channel, ())
        self._received[channel] += 1
        return sizes[at] if at < len(sizes) else receive.nbytes


def write_chakra(lowering: TraceLowering, folder: Path) -> None:
    """Write the files of all ranks into an existing folder. Raises UsageError without protobuf."""
    groups, lowered = ProcessGroups(), LoweredRanks(lowering)
    for number, rank in enumerate(lowering.ranks):
        with open(folder / f"trace.{number}.et", "wb") as file:
            file.writelines(
                _delimit(message) for message in messages(lowering, rank, number, groups, lowered)
            )
    write_file(folder / GROUPS, groups.json().encode())


def messages(
    lowering: TraceLowering, rank: int, number: int, groups: ProcessGroups, lowered: LoweredRanks
) -> Iterator[bytes]:
    """Yield the protobuf messages of a rank, the metadata first."""
    node_types = types()
    yield node_types.metadata(version="1.0.0").SerializeToString()
    nodes = _Nodes(node_types, number, groups, lowered)
    for action in lowering.actions(rank):
        node = nodes.of(action)
        if node is not None:
            yield node.SerializeToString()
    if nodes.is_empty:
        yield nodes.pause().SerializeToString()


def _delimit(message: bytes) -> bytes:
    """Return a message after its length, a varint."""
    length = bytearray()
    naturals.put(length, len(message))
    return bytes(length) + message


class _Nodes:
    """Makes the nodes of one rank."""

    def __init__(self, node_types: Types, number: int, groups: ProcessGroups, lowered: LoweredRanks) -> None:
        self._types, self._number, self._groups, self._lowered = node_types, number, groups, lowered
        self._order, self._rest_us = ProgramOrder(beginnings=False), 0.0
        self._to_itself: set[int] = set()

    @property
    def is_empty(self) -> bool:
        """Whether no action so far has a node."""
        return not self._order.last

    def pause(self) -> Any:
        """Return a computation that takes no time."""
        return self._node(self._order.blocking(), "compute", _COMP)

    def of(self, action: LoweredAction) -> Any:
        """Return the node of an action; None if it has none."""
        match action:
            case WaitAction(requests):
                self._order.wait(tuple(request for request in requests if request not in self._to_itself))
                self._to_itself.difference_update(requests)
                return None
            case Computation(ns):
                return self._computation(ns)
            case CollectiveAction():
                return self._collective(action)
        if action.peer == self._number:
            self._to_itself.update(() if action.request is None else (action.request,))
            return None
        return self._message(action)

    def _computation(self, ns: float) -> Any:
        self._rest_us += ns / 1000
        whole_us = int(self._rest_us)
        self._rest_us -= whole_us
        if not whole_us:
            return None
        return self._node(self._order.blocking(), "compute", _COMP, duration_micros=whole_us)

    def _message(self, message: SendMessage | RecvMessage) -> Any:
        sends, order = isinstance(message, SendMessage), self._order
        needs = order.blocking() if message.request is None else order.nonblocking(message.request)
        node = self._node(needs, "send" if sends else "recv", _SEND if sends else _RECV)
        ends = (self._number, message.peer) if sends else (message.peer, self._number)
        for name, value in zip(("comm_src", "comm_dst", "comm_tag"), (*ends, message.tag), strict=True):
            node.attr.add(name=name, int32_val=value)
        nbytes = message.nbytes
        if isinstance(message, RecvMessage):
            nbytes = self._lowered.next_bytes(self._number, message)
        node.attr.add(name="comm_size", int64_val=max(nbytes, MIN_BYTES))
        return node

    def _collective(self, action: CollectiveAction) -> Any:
        shape = action.shape
        node = self._node(self._order.blocking(), shape.operation, _COLL)
        size = shape.nbytes * shape.nranks if shape.operation in _TOTAL else shape.nbytes
        node.attr.add(name="comm_type", int64_val=_COLLECTIVES[shape.operation])
        smallest = MIN_GATHER_BYTES if shape.operation == "allgather" else MIN_BYTES
        node.attr.add(name="comm_size", int64_val=max(size, smallest))
        members = self._lowered.all_ranks if action.members is None else action.members
        if members is not None:
            node.attr.add(name="pg_name", string_val=self._groups.name(members))
        return node

    def _node(self, needs: Dependencies, name: str, kind: int, **fields: Any) -> Any:
        node = self._types.node(id=self._order.last, name=name, type=kind, data_deps=needs.ended, **fields)
        node.attr.add(name="is_cpu_op", bool_val=False)
        return node
